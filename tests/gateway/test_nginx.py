"""etc/gateway/nginx.conf under a real nginx (Debian's package) in front of a whole Procession."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import prestodb
import pytest

from tests.debian import need
from tests.e2e.service import ROOT, Service
from tests.ports import free_port

pytestmark = pytest.mark.slow

MODULE = Path("/usr/lib/nginx/modules/ngx_http_js_module.so")
HEADERS = {"X-Presto-User": "ann"}


def nginx_binary() -> str:
    """nginx with its JavaScript module."""

    def there() -> bool:
        return shutil.which("nginx") is not None and MODULE.exists()

    need("nginx with its JavaScript module", there, "nginx-light", "libnginx-mod-http-js")
    return str(shutil.which("nginx"))


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


class Fallback(ThreadingHTTPServer):
    """The other cluster: remembers what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FallbackHandler)
        self.statements: list[tuple[str, str]] = []


class FallbackHandler(BaseHTTPRequestHandler):
    server: Fallback

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.statements.append((self.headers["X-Presto-User"], text))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def fallback() -> Iterator[Fallback]:
    with Fallback() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def edge(service: Service, fallback: Fallback, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of nginx with the sample configuration; only addresses and paths are changed."""
    binary, home = nginx_binary(), tmp_path_factory.mktemp("nginx")
    port = free_port()
    temporary = "".join(
        f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    changes = {
        "modules/ngx_http_js_module.so": str(MODULE),
        "http {": f"http {{ access_log off; {temporary}",
        "/etc/nginx/precheck.js": str(ROOT / "etc" / "gateway" / "precheck.js"),
        "127.0.0.1:8080": service.url.removeprefix("http://"),
        "127.0.0.1:8081": f"127.0.0.1:{fallback.server_port}",
        "listen 8000": f"listen 127.0.0.1:{port}",
    }
    text = (ROOT / "etc" / "gateway" / "nginx.conf").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    user = "user root;" if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(f"daemon off; pid {home}/pid; error_log {home}/error.log; {user}\n{text}")
    command = [binary, "-p", str(home), "-e", f"{home}/start.log", "-c", str(home / "nginx.conf")]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process, home)
        yield url
    finally:
        process.terminate()
        assert process.wait(60) == 0


def _wait_for(url: str, process: subprocess.Popen[bytes], home: Path) -> None:
    limit = time.monotonic() + 60
    while True:
        logs = "".join(log.read_text() for log in home.glob("*.log"))
        assert process.poll() is None, logs
        assert time.monotonic() < limit, logs
        try:
            assert httpx.get(url + "/healthz", timeout=60).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return


def test_a_client_sees_only_the_proxy(edge: str) -> None:
    host, port = edge.removeprefix("http://").split(":")
    cursor = prestodb.dbapi.connect(host=host, port=int(port), user="ann").cursor()
    cursor.execute("SELECT 1 + 1 AS two")
    assert cursor.fetchall() == [[2]]
    first = httpx.post(edge + "/v1/statement", content="SELECT 1", headers=HEADERS, timeout=60).json()
    assert first["nextUri"].startswith(edge)


def test_a_refused_statement_goes_to_the_other_cluster(edge: str, fallback: Fallback) -> None:
    statement = "SELECT nope -- ä\nFROM nowhere"
    response = httpx.post(edge + "/v1/statement", content=statement, headers=HEADERS, timeout=60)
    assert response.status_code == 307
    assert response.headers["location"] == f"http://127.0.0.1:{fallback.server_port}/v1/statement"
    httpx.post(edge + "/v1/statement", content=statement, headers=HEADERS, follow_redirects=True, timeout=60)
    assert fallback.statements == [("ann", statement)]


def test_a_query_id_of_the_clients_own(edge: str) -> None:
    path = "/v1/statement/20260102_030405_00001_abcde?slug=x1"
    assert httpx.put(edge + path, content="SELECT nope", headers=HEADERS, timeout=60).status_code == 307
    assert httpx.put(edge + path, content="SELECT 1", headers=HEADERS, timeout=60).status_code == 200


def test_the_session_counts(edge: str) -> None:
    """The same text is refused or accepted by the session's prepared statements."""
    prepared = HEADERS | {"X-Presto-Prepared-Statement": "p=SELECT+1"}
    assert httpx.post(edge + "/v1/statement", content="EXECUTE p", headers=HEADERS, timeout=60).status_code == 307
    assert httpx.post(edge + "/v1/statement", content="EXECUTE p", headers=prepared, timeout=60).status_code == 200


def test_long_statements_pass(edge: str) -> None:
    statement = f"SELECT length('{'x' * 900_000}')"
    assert httpx.post(edge + "/v1/statement", content=statement, headers=HEADERS, timeout=60).status_code == 200


def test_what_nobody_can_judge_is_the_coordinators_to_answer(edge: str) -> None:
    nobody = httpx.post(edge + "/v1/statement", content="SELECT 1", timeout=60)
    assert (nobody.status_code, nobody.text) == (400, "User must be set")
    assert httpx.get(edge + "/v1/statement", timeout=60).status_code == 405
    assert httpx.get(edge + "/_precheck", timeout=60).status_code == 404


def test_health_follows_the_coordinators_state(edge: str) -> None:
    def put(state: str) -> None:
        headers = {"Content-Type": "application/json"}
        httpx.put(edge + "/v1/info/state", content=f'"{state}"', headers=headers, timeout=60).raise_for_status()

    put("INACTIVE")
    try:
        assert httpx.get(edge + "/healthz", timeout=60).status_code == 404
        assert httpx.get(edge + "/v1/info", timeout=60).json()["starting"] is False
    finally:
        put("ACTIVE")
    assert httpx.get(edge + "/healthz", timeout=60).status_code == 200

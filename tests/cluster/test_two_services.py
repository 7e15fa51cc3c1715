"""Two whole coordinators over one PostgreSQL, asked by turns, and one of them killed."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import prestodb
import pytest
import trino

from tests.cluster.load import Load, by_turns
from tests.cluster.whole_services import coordinators, new_state
from tests.e2e.service import ROOT, Service, start_service
from tests.gateway.test_envoy import envoy_binary, wait_for
from tests.gateway.test_nginx import nginx_binary
from tests.ports import free_port
from tests.trino_gateway import trino_gateway

pytestmark = pytest.mark.slow
_ACCESS_LOG = "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog"


@pytest.fixture(scope="module")
def state_url(postgres: str) -> str:
    return new_state(postgres)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, state_url: str) -> Iterator[list[Service]]:
    with coordinators(tmp_path_factory.mktemp("two"), state_url, ("one", "two")) as found:
        yield found


@pytest.mark.full("draining in protocol/test_life_cycle, pages by turns and the end of one coordinator below")
def test_a_rolling_restart_under_load_is_seen_by_nobody(services: list[Service]) -> None:
    urls = [service.url for service in services]
    with Load(urls) as load:
        for number, service in enumerate(services):
            other = services[1 - number]
            if service.process.poll() is None:
                before = load.done
                while load.done < before + 10:
                    time.sleep(0.05)
                if number == 0:
                    httpx.put(service.url + "/v1/info/state", content='"SHUTTING_DOWN"', timeout=60).raise_for_status()
                else:  # as systemd and Kubernetes ask
                    service.process.send_signal(signal.SIGTERM)
                assert service.process.wait(timeout=60) == 0
            name = service.etc.parent.name
            home = service.etc.parent
            service.succeeded_by(start_service(service.etc, home / "data", home / "log"))
            urls[number] = service.url
            limit = time.monotonic() + 60
            while len(other.get("/v1/status")["cluster"]["coordinators"]) < 2:
                assert time.monotonic() < limit, name
                time.sleep(0.1)
        before = load.done
        while load.done < before + 10:
            time.sleep(0.05)
    assert load.wrong == []


def test_nginx_as_the_page_on_it_says(services: list[Service], tmp_path: Path) -> None:
    """Round robin without sessions: each page comes from whichever coordinator nginx asks."""
    page = (ROOT / "docs" / "several-coordinators.md").read_text()
    said = page.partition("```nginx\n")[2].partition("```")[0]
    port = free_port()
    said = said.replace("listen 8000;", f"listen 127.0.0.1:{port}; access_log {tmp_path}/access.log asked;")
    for number, service in enumerate(services, start=1):
        said = said.replace(f"coordinator-{number}.example.com:8080", service.url.removeprefix("http://"))
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}\n"
        f"http {{ log_format asked '$upstream_addr $status $uri'; {said} }}\n"
    )
    nginx = subprocess.Popen([nginx_binary(), "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
    try:
        limit = time.monotonic() + 60
        while not (tmp_path / "pid").exists():  # written once it listens
            assert time.monotonic() < limit, (tmp_path / "error.log").read_text()
            time.sleep(0.05)
        connection = prestodb.dbapi.connect(host="127.0.0.1", port=port, user="tester", catalog="tpch", schema="tiny")
        cursor = connection.cursor()
        cursor.execute("SELECT orderkey, linenumber, comment FROM lineitem")
        assert len(cursor.fetchall()) == 60_175
        # In segments, which are fetched and acknowledged at either coordinator.
        with trino.dbapi.connect(
            host="127.0.0.1", port=port, user="tester", catalog="tpch", schema="tiny", encoding="json+zstd"
        ) as through:
            spooled = through.cursor()
            spooled.execute("SELECT orderkey, linenumber, comment FROM lineitem")
            assert len({(row[0], row[1]) for row in spooled.fetchall()}) == 60_175
        while "/v1/spooled/ack/" not in (tmp_path / "access.log").read_text():  # another thread of the client's
            assert time.monotonic() < limit + 60
            time.sleep(0.05)
    finally:
        nginx.terminate()
        nginx.wait(timeout=60)
    asked = [line.split() for line in (tmp_path / "access.log").read_text().splitlines()]
    assert {status for _, status, _ in asked} == {"200"}
    assert {path.split("/")[3] for _, _, path in asked if "/v1/spooled/" in path} == {"download", "ack"}
    assert {address for address, _, _ in asked} == {service.url.removeprefix("http://") for service in services}


@pytest.mark.full("what it asks and how it is answered: gateway/test_routing.py")
def test_trino_gateway_by_the_file_that_we_ship(services: list[Service], state_url: str, tmp_path: Path) -> None:
    """Each statement goes where Procession says, to either coordinator, and its pages through the gateway."""
    backends = {service.etc.parent.name: service.url for service in services}
    with trino_gateway(tmp_path, state_url, services[0].url, backends) as address:
        found = urlsplit(address)
        with trino.dbapi.connect(
            host=found.hostname, port=found.port, user="gate", source="gateway", catalog="tpch", schema="tiny"
        ) as connection:
            cursor = connection.cursor()
            for _ in range(8):
                cursor.execute("SELECT orderkey, linenumber, comment FROM lineitem LIMIT 20000")
                assert len(cursor.fetchall()) == 20_000
            with pytest.raises(trino.exceptions.TrinoUserError, match="Column 'nope' cannot be resolved"):
                cursor.execute("SELECT nope FROM nation")
        log = (tmp_path / "gateway.log").read_text()
    assert log.count("Rerouting") >= 8
    asked = services[0].get("/v1/query")
    nodes = {query["nodeId"] for query in asked if query["session"].get("source") == "gateway"}
    assert nodes == {"one", "two"}


def test_envoy_as_the_page_on_it_says(services: list[Service], tmp_path: Path) -> None:
    """The same by Envoy, which asks each coordinator how it is."""
    page = (ROOT / "docs" / "several-coordinators.md").read_text()
    said = page.partition("```yaml\n")[2].partition("```")[0]
    port = free_port()
    log = tmp_path / "access.log"
    kept = f"{{name: file, typed_config: {{'@type': {_ACCESS_LOG}, path: {log}, log_format: {{text_format_source:"
    kept += ' {inline_string: "%UPSTREAM_HOST% %RESPONSE_CODE%\\n"}}}}'
    changes = {"address: 0.0.0.0, port_value: 8000": f"address: 127.0.0.1, port_value: {port}"}
    changes["stat_prefix: procession"] = f"stat_prefix: procession\n          access_log: [{kept}]"
    for number, service in enumerate(services, start=1):
        host, _, own = service.url.removeprefix("http://").partition(":")
        changes[f"address: coordinator-{number}.example.com, port_value: 8080"] = f"address: {host}, port_value: {own}"
    for old, new in changes.items():
        assert old in said
        said = said.replace(old, new)
    command = [envoy_binary(), "--config-yaml", said, "--concurrency", "1", "--disable-hot-restart"]
    command += ["--log-path", str(tmp_path / "log"), "--log-level", "warning"]
    envoy = subprocess.Popen(command, cwd=tmp_path)
    try:
        wait_for(f"http://127.0.0.1:{port}", envoy, tmp_path / "log")
        cursor = prestodb.dbapi.connect(
            host="127.0.0.1", port=port, user="tester", catalog="tpch", schema="tiny"
        ).cursor()
        cursor.execute("SELECT orderkey, linenumber, comment FROM lineitem")
        assert len(cursor.fetchall()) == 60_175
    finally:
        envoy.terminate()
        envoy.wait(timeout=60)
    asked = [line.split() for line in log.read_text().splitlines()]
    assert {status for _, status in asked} == {"200"}
    assert {address for address, _ in asked} == {service.url.removeprefix("http://") for service in services}


def until_history(service: Service, query_id: str, state: str) -> None:
    """The history of one coordinator has a statement of the other."""
    limit = time.monotonic() + 60
    asked = f"SELECT state FROM system.history.queries WHERE query_id = '{query_id}'"
    while (found := service.execute(asked)) != [[state]]:
        assert time.monotonic() < limit, found
        time.sleep(0.2)


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_two_coordinators_and_the_end_of_one(services: list[Service]) -> None:
    one, two = services
    rows = by_turns(services, "SELECT orderkey, linenumber, comment FROM lineitem")
    assert len(rows) == 60_175
    assert rows == one.execute("SELECT orderkey, linenumber, comment FROM tpch.tiny.lineitem")
    listed = "SELECT node_id, state FROM system.runtime.nodes ORDER BY 1"
    until(lambda: one.execute(listed) == [["one", "active"], ["two", "active"]])
    until(lambda: two.get("/v1/status")["cluster"] == {"connected": True, "coordinators": ["one", "two"]})
    assert [one.get(f"/v1/cluster{asks}")["activeWorkers"] for asks in ("", "?includeLocalInfoOnly=true")] == [2, 1]
    overview = httpx.get(one.url + "/ui/", headers={"Accept": "text/html", "X-Presto-User": "tester"}, timeout=60).text
    assert re.findall(r"<h3>(\w+)</h3>", overview) == ["one", "two"], "the parts of both"
    page = httpx.post(
        two.url + "/v1/statement", content="SELECT 1", headers={"X-Presto-User": "tester"}, timeout=60
    ).json()
    path = httpx.URL(page["nextUri"]).raw_path.decode()
    open_query = httpx.post(
        two.url + "/v1/statement",
        content="SELECT count(*) FROM tpch.tiny.orders",
        headers={"X-Presto-User": "tester"},
        timeout=60,
    ).json()
    until_history(one, open_query["id"], "QUEUED")
    # The list goes without one that does not answer within seconds.
    until(lambda: [open_query["id"]] in one.execute("SELECT query_id FROM system.runtime.queries"))
    doomed = httpx.post(
        two.url + "/v1/statement", content="SELECT 2", headers={"X-Presto-User": "tester"}, timeout=60
    ).json()
    assert one.execute(f"CALL system.runtime.kill_query('{doomed['id']}', 'enough')") == [[True]]
    killed = httpx.get(one.url + httpx.URL(doomed["nextUri"]).raw_path.decode(), timeout=60).json()
    assert killed["error"]["errorName"] == "ADMINISTRATIVELY_KILLED"
    with pytest.raises(prestodb.exceptions.PrestoUserError, match="is not running"):
        one.execute(f"CALL system.runtime.kill_query('{doomed['id']}', 'enough')")
    one.execute("CREATE CATALOG fresh USING tpch")
    assert two.execute("SELECT count(*) FROM fresh.tiny.region") == [[5]], "it is there when the statement has ended"
    two.execute("DROP CATALOG fresh")
    two.execute("CALL system.pause(catalog => 'iceberg', reason => 'a release')")
    assert one.execute("CALL system.resume(catalog => 'iceberg')") == [["iceberg"]]
    two.execute("CREATE SCHEMA iceberg.jobs")
    two.execute("CREATE TABLE iceberg.jobs.t (x integer)")
    two.execute("CALL iceberg.system.expire_snapshots('jobs', 't')")
    ended = [["expire_snapshots", "FINISHED", "two"]]
    until(lambda: [[row[1], row[4], row[12]] for row in one.execute("CALL system.show_jobs()")] == ended)
    two.process.send_signal(signal.SIGKILL)
    two.process.wait(timeout=60)
    statuses = []
    limit = time.monotonic() + 60
    while (answer := httpx.get(one.url + path, timeout=60)).status_code != 200:
        statuses.append(answer.status_code)
        assert time.monotonic() < limit, statuses
        time.sleep(0.1)
    # First it may be away for a moment only, which clients wait for.
    assert set(statuses) <= {503}
    error = answer.json()["error"]
    assert (error["errorName"], error["retriable"]) == ("REMOTE_HOST_GONE", True)
    assert one.execute(listed) == [["one", "active"]]
    assert one.execute("SELECT count(*) FROM tpch.tiny.nation") == [[25]]
    until_history(one, open_query["id"], "FAILED")

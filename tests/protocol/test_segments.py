"""Trino's spooling protocol: the rows of the pages, compressed and apart, with the clients that ask for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lz4.block
import pytest
import trino
import zstandard

from coordinator.dispatch.settings import DispatchSettings
from coordinator.server.owner_forwarding import query_of
from tests.cluster.conftest import two_servers
from tests.maven import jar
from tests.protocol.conftest import Server, running_server
from tests.protocol.test_authentication import HTTPS, as_, secured

pytestmark = pytest.mark.slow

SPOOLING = DispatchSettings(sweep_interval=0.05, spooling=True, segment_size=512 << 10)
TRINO = {"X-Trino-User": "tester"}


def asking(encoding: str) -> dict[str, str]:
    return TRINO | {"X-Trino-Query-Data-Encoding": encoding}


@pytest.fixture(scope="module")
def spooling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(settings=SPOOLING, results_folder=tmp_path_factory.mktemp("results")) as running:
        yield running


def segments(server: Server, sql: str, encoding: str) -> list[dict[str, Any]]:
    pages = [page.json() for page in server.pages(sql, asking(encoding))]
    data = [page["data"] for page in pages if "data" in page]
    assert {each["encoding"] for each in data} <= {encoding.split(",", 1)[0]}
    return [segment for each in data for segment in each["segments"]]


def rows(encoding: str, segment: dict[str, Any], data: bytes) -> list[Any]:
    """What a client makes of the bytes."""
    told = segment["metadata"]
    assert told["segmentSize"] == len(data)
    size = told.get("uncompressedSize")
    if size is not None:
        known = {"json+zstd": zstandard.ZstdDecompressor().decompress, "json+lz4": None}[encoding]
        data = lz4.block.decompress(data, uncompressed_size=size) if known is None else known(data)
        assert len(data) == size
    found: list[Any] = json.loads(data)
    assert len(found) == told["rowsCount"]
    return found


@pytest.mark.parametrize("encoding", ["json", "json+zstd", "json+lz4"])
def test_segments_hold_the_rows_of_the_pages(spooling: Server, encoding: str) -> None:
    expected = [row for page in spooling.pages("SELECT many", TRINO) for row in page.json().get("data", [])]
    found: list[Any] = []
    every = segments(spooling, "SELECT many", encoding)
    assert len(every) >= 4
    get = spooling.client.get
    for segment in every:
        assert segment["type"] == "spooled"
        assert segment["metadata"]["rowOffset"] == len(found)
        first, again = get(segment["uri"]), get(segment["uri"])
        assert first.content == again.content, "until it is acknowledged"
        found += rows(encoding, segment, first.content)
        assert get(segment["ackUri"]).status_code == 200
        assert get(segment["uri"]).status_code == get(segment["ackUri"]).status_code == 404
    assert found == expected
    assert spooling.dispatcher.results.used("files") == 0


def test_few_rows_stand_in_the_page(spooling: Server) -> None:
    (segment,) = segments(spooling, "SELECT all", "json+zstd,json")
    assert segment["type"] == "inline"
    assert "uncompressedSize" not in segment["metadata"], "too little to be compressed"
    cursor = trino.dbapi.connect(host="127.0.0.1", port=spooling.port, user="py", encoding="json+zstd").cursor()
    plain = trino.dbapi.connect(host="127.0.0.1", port=spooling.port, user="py", encoding="none").cursor()
    assert cursor.execute("SELECT all").fetchall() == plain.execute("SELECT all").fetchall()
    assert cursor.execute("SELECT none").fetchall() == []
    assert cursor.execute("CREATE").fetchall() == [[True]]


def test_who_does_not_ask_or_may_not_gets_pages(spooling: Server, server: Server) -> None:
    asked: list[tuple[Server, dict[str, str]]] = [
        (spooling, TRINO),
        (spooling, asking("arrow")),
        (spooling, asking("json") | {"X-Trino-Session": "spooling_enabled=false"}),
        (spooling, {"X-Presto-User": "tester", "X-Presto-Query-Data-Encoding": "json"}),
        (server, asking("json")),
    ]
    for where, headers in asked:
        assert [page.json()["data"] for page in where.pages("SELECT 1", headers) if "data" in page.json()] == [[[1]]]


@pytest.mark.parametrize("encoding", ["json", "json+zstd", "json+lz4", None])
def test_trino_client(spooling: Server, encoding: str | None) -> None:
    chosen = {} if encoding is None else {"encoding": encoding}
    with trino.dbapi.connect(host="127.0.0.1", port=spooling.port, user="py", **chosen) as connection:
        cursor = connection.cursor().execute("SELECT many")
        assert [row[0] for row in cursor.fetchall()] == list(range(20_000))
        failing = connection.cursor()
        with pytest.raises(trino.exceptions.TrinoUserError, match="/ by zero"):
            failing.execute("SELECT 1/0").fetchall()
    # The last segments are acknowledged by another thread of the client's.
    spooling.wait_for(lambda: spooling.dispatcher.results.used("files") == 0)


def test_what_has_no_room_stays_in_the_page(tmp_path: Path) -> None:
    small = SPOOLING.model_copy(update={"max_stored_of_query": 100_000})
    for settings, folder in ((small, tmp_path), (SPOOLING, None)):
        with running_server(settings=settings, results_folder=folder) as server:
            every = segments(server, "SELECT many", "json+lz4")
            kinds = [segment["type"] for segment in every]
            assert kinds[-1] == "inline"
            assert ("spooled" in kinds) is (folder is not None)
            with trino.dbapi.connect(host="127.0.0.1", port=server.port, user="py", encoding="json") as connection:
                assert len(connection.cursor().execute("SELECT many").fetchall()) == 20_000
            assert server.dispatcher.results.used("files") <= 100_000


def test_segments_end_by_time_and_with_a_failed_query(tmp_path: Path) -> None:
    with running_server(settings=SPOOLING, results_folder=tmp_path) as server:
        left = segments(server, "SELECT many", "json+zstd")
        files = server.dispatcher.results.used("files")
        assert files == sum(segment["metadata"]["segmentSize"] for segment in left)
        assert server.dispatcher.segments.wanted
        page = server.post("SELECT huge", asking("json+zstd")).json()
        while "data" not in page:
            page = server.client.get(page["nextUri"]).json()
        uri = page["data"]["segments"][0]["uri"]
        assert server.client.get(uri).status_code == 200
        assert server.client.head(page["nextUri"]).status_code == 200
        assert server.client.delete(page["nextUri"]).status_code == 204
        server.wait_for(lambda: server.dispatcher.results.used("files") == files)
        assert server.client.get(uri).status_code == 404
        server.clock.advance(SPOOLING.segment_time)
        assert not server.dispatcher.segments.wanted
        server.wait_for(lambda: server.dispatcher.results.used("files") == 0)
        assert server.client.get(left[0]["uri"]).status_code == 404
        assert list(tmp_path.iterdir()) == []


def test_segments_are_fetched_by_their_secret_alone(tmp_path: Path) -> None:
    with running_server(settings=SPOOLING, server_settings=secured(), results_folder=tmp_path) as server:
        alice = HTTPS | {"Authorization": as_("alice")["Authorization"], "X-Trino-User": "alice"}
        asked = {"X-Trino-Query-Data-Encoding": "json"}
        assert server.post("SELECT many", HTTPS | TRINO | asked).status_code == 401
        uri: str = segments_of(server, alice | asked)[0]["uri"].replace("https://", "http://")
        assert server.client.get(uri, headers=HTTPS).status_code == 200
        assert server.client.get(uri).status_code == 403, "TLS alone"
        wrong = uri[:-1] + ("A" if uri[-1] != "A" else "B")
        assert server.client.get(wrong, headers=HTTPS).status_code == 404
        other = server.post("SELECT 1", alice).json()["id"]
        assert server.client.get(uri.replace(uri.split("/")[-2], other), headers=HTTPS).status_code == 404
        assert server.client.post(uri, headers=HTTPS).status_code == 401


def segments_of(server: Server, headers: dict[str, str]) -> list[dict[str, Any]]:
    page = server.post("SELECT many", headers).json()
    while "data" not in page:
        page = server.client.get(page["nextUri"].replace("https://", "http://"), headers=headers).json()
    found: list[dict[str, Any]] = page["data"]["segments"]
    return found


def test_any_coordinator_gives_a_segment(tmp_path: Path) -> None:
    secret = "s" * 43
    about = query_of(f"/v1/spooled/download/20261126_220000_00001_aaaaa/{secret}", "")
    assert about is not None
    assert (about.suffix, about.poll) == ("aaaaa", False)
    with two_servers(dispatch=SPOOLING, results=tmp_path) as pair:
        segment = segments_of(pair.first, asking("json"))[0]
        uri, acknowledge = (
            segment[name].replace(str(pair.first.port), str(pair.second.port)) for name in ("uri", "ackUri")
        )
        assert pair.first.client.get(uri).content == pair.first.client.get(segment["uri"]).content
        assert pair.first.client.get(acknowledge).status_code == 200
        assert pair.first.client.get(segment["uri"]).status_code == 404
        pair.gone("aaaaa", alive=True, address="http://127.0.0.1:1")
        assert pair.first.client.get(uri).status_code == 503


@pytest.mark.slow
def test_trino_jdbc(spooling: Server, tmp_path: Path) -> None:
    source = Path(__file__).parent / "java" / "SegmentProbe.java"
    subprocess.run(["javac", "-d", str(tmp_path), str(source)], check=True, timeout=120, capture_output=True)
    path = f"{tmp_path}:{jar('io.trino', 'trino-jdbc', '476')}"
    command = ["java", "-cp", path, "SegmentProbe", f"127.0.0.1:{spooling.port}", "json", "json+zstd", "json+lz4"]
    sums = [f"{encoding}: 20000 rows, sum 199990000" for encoding in ("json", "json+zstd", "json+lz4")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            assert run.stdout is not None
            found = [run.stdout.readline().rstrip("\n") for _ in sums]
            assert found == sums, run.communicate(timeout=120)[1]
            spooling.wait_for(lambda: spooling.dispatcher.results.used("files") == 0)
            run.communicate(timeout=120)
        finally:
            run.kill()
    assert run.returncode == 0

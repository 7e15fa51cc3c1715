"""``Accept: application/vnd.apache.arrow.stream``: the rows of the pages, all of them in one answer."""

from __future__ import annotations

import io
import time

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.requests import Request

from coordinator.dispatch.settings import DispatchSettings
from coordinator.server import streamed_files
from coordinator.server.media_types import wanted_stream
from tests.protocol.conftest import ALL_TYPES

PARQUET = {"X-Presto-User": "tester", "Accept": "application/vnd.apache.parquet"}
ARROW = {"X-Presto-User": "tester", "Accept": "application/vnd.apache.arrow.stream"}


def table(response: httpx.Response) -> pa.Table:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == ARROW["Accept"]
    return pa.ipc.open_stream(response.content).read_all()


def test_every_type_says_what_presto_calls_it(server):
    found = table(server.post("SELECT all", ARROW))
    assert found.num_rows == 2
    for field, (name, type_text, values) in zip(found.schema, ALL_TYPES, strict=True):
        assert (field.name, field.metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"].decode()) == (name, type_text)
        column = found.column(name).combine_chunks()
        assert not column[1].is_valid
        if not pa.types.is_integer(values.type) or "interval" not in type_text:
            expected = f"{'ab':5}" if type_text == "char(5)" else values[0].as_py()
            assert str(column[0].as_py()) == str(expected) or "zone" in type_text, name
    assert str(found.column("c_day_second")[0].as_py()) == "1 day, 2:03:04.500000"
    assert found.column("c_year_month")[0].as_py() == "1-6"
    assert found.column("c_timestamptz")[0].as_py().isoformat() == "2020-02-29T09:02:03.456000+00:00"


def test_parquet_has_the_rows_and_types_of_the_stream(server):
    answer = server.post("SELECT all", PARQUET)
    assert (answer.status_code, answer.headers["content-type"]) == (200, PARQUET["Accept"])
    found = pq.read_table(io.BytesIO(answer.content))
    stream = table(server.post("SELECT all", ARROW))
    assert found.to_pylist() == stream.to_pylist()
    names = [field.metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"].decode() for field in found.schema]
    assert names == [text for _, text, _ in ALL_TYPES]
    assert pq.read_table(io.BytesIO(server.post("SELECT none", PARQUET).content)).num_rows == 0
    refused = server.post("SELEC 1", PARQUET)
    assert (refused.status_code, refused.json()["error"]["errorName"]) == (400, "SYNTAX_ERROR")


def test_parquet_is_written_in_row_groups(start_server, number_answer, monkeypatch):
    """More than is taken at a time, however fast it is there."""
    monkeypatch.setattr(streamed_files, "_GROUP_BYTES", 500_000)
    with start_server({"SELECT more": lambda: number_answer(60_000)}) as server:
        content = server.post("SELECT more", PARQUET).content
    file = pq.ParquetFile(io.BytesIO(content))
    assert 1 < file.num_row_groups < 60
    assert file.read().column("n").to_pylist() == list(range(60_000))


def test_all_rows_come_in_order_and_the_query_is_finished(server):
    response = server.post("SELECT many", ARROW)
    assert table(response).column("n").to_pylist() == list(range(20_000))
    query = server.dispatcher.registry.get(response.headers["x-presto-query-id"])
    server.wait_for(lambda: query.state.value == "FINISHED" and not query.active)
    assert query.output_rows == 20_000


def test_a_result_without_rows_has_its_schema(server):
    assert table(server.post("SELECT none", ARROW)).schema.names == ["n"]


@pytest.mark.parametrize(
    ("sql", "status", "name"),
    [
        ("SELEC 1", 400, "SYNTAX_ERROR"),
        ("SELECT lost", 500, "REMOTE_HOST_GONE"),
        ("SELECT defect", 500, "GENERIC_INTERNAL_ERROR"),
    ],
)
def test_what_fails_before_the_first_row_is_a_status(server, sql, status, name):
    response = server.post(sql, ARROW)
    assert (response.status_code, response.json()["error"]["errorName"]) == (status, name)


def test_a_server_that_leaves_says_so(server):
    server.client.put("/v1/info/state", json="INACTIVE")
    try:
        response = server.post("SELECT 1", ARROW)
        assert (response.status_code, response.json()["error"]["errorName"]) == (503, "SERVER_SHUTTING_DOWN")
    finally:
        server.client.put("/v1/info/state", json="ACTIVE")


def test_session_changes_are_headers(server):
    response = server.post("USE tpch.sf1", ARROW)
    assert table(response).num_rows == 1
    assert (response.headers["x-presto-set-catalog"], response.headers["x-presto-set-schema"]) == ("tpch", "sf1")


@pytest.mark.parametrize("headers", [ARROW, PARQUET])
def test_what_fails_later_breaks_the_answer_off(start_server, number_answer, headers):
    def failing(execution):
        yield from number_answer(50_000).batches(execution)
        query = server.dispatcher.registry.get(execution.query_id)
        server.wait_for(lambda: query.buffer.size == 0)  # the answer has begun
        raise KeyError("late")

    answer = number_answer(1)
    late = type(answer)(answer.columns, failing)
    with start_server({"SELECT late": lambda: late}) as server, pytest.raises(httpx.RemoteProtocolError):
        server.post("SELECT late", headers)


def test_a_client_that_leaves_ends_its_statement(server):
    with server.client.stream("POST", "/v1/statement", content="SELECT huge", headers=ARROW) as response:
        parts = response.iter_raw()  # closes the connection when it goes
        next(parts)
        query = server.dispatcher.registry.get(response.headers["x-presto-query-id"])
        assert query.state.value == "RUNNING"
    server.wait_for(lambda: query.state.value == "FAILED")
    assert query.error.code.name == "USER_CANCELED"


@pytest.mark.slow
def test_a_client_that_leaves_before_the_first_row_ends_its_statement_too(server):
    before = {query.id for query in server.dispatcher.registry}
    with pytest.raises(httpx.ReadTimeout):
        server.client.post("/v1/statement", content="SELECT slow", headers=ARROW, timeout=httpx.Timeout(60, read=0.5))
    server.wait_for(lambda: len({query.id for query in server.dispatcher.registry} - before) == 1)
    (query,) = [query for query in server.dispatcher.registry if query.id not in before]
    server.wait_for(lambda: query.state.value == "FAILED")


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_left(start_server):
    settings = DispatchSettings(client_timeout=0.5, sweep_interval=0.1, max_buffer_size=1 << 20)
    with (
        start_server({}, settings) as server,
        server.client.stream("POST", "/v1/statement", content="SELECT huge", headers=ARROW) as response,
    ):
        query = server.dispatcher.registry.get(response.headers["x-presto-query-id"])
        server.wait_for(lambda: query.state.done)
        server.wait_for(lambda: server.dispatcher.results.used("memory") == 0)


def test_nobody_reads_such_rows_as_pages(server):
    query_id = server.post("SELECT 1", ARROW).headers["x-presto-query-id"]
    query = server.dispatcher.registry.get(query_id)
    response = server.client.get(f"/v1/statement/executing/{query_id}/0?slug={query.slug}")
    assert response.status_code == 404


CODECS = pytest.mark.parametrize("codec", ["lz4", "zstd"])


def is_compressed(content: bytes) -> bool:
    """As a reader sees it: buffers that are compressed begin with their length, so they are larger when read."""
    message = list(pa.ipc.MessageReader.open_stream(content))[1]
    batch = pa.ipc.read_record_batch(message, pa.ipc.open_stream(content).schema)
    return message.body.size < batch.nbytes // 2


@CODECS
def test_batches_are_compressed_for_those_who_ask(server, codec):
    plain = server.post("SELECT many", ARROW)
    assert not is_compressed(plain.content)
    asked = server.post("SELECT many", ARROW | {"Accept": f'{ARROW["Accept"]}; q=1; codecs="br, {codec}, lz4, zstd"'})
    in_session = server.post("SELECT many", ARROW | {"X-Presto-Session": f"arrow_compression={codec.upper()}"})
    for found in (asked, in_session):
        assert found.status_code == 200, found.text
        assert found.headers["content-type"] == f"{ARROW['Accept']}; codecs={codec}"
        assert is_compressed(found.content)
        assert len(found.content) < len(plain.content) // 3
        assert pa.ipc.open_stream(found.content).read_all() == table(plain)
    assert server.post("SELECT all", ARROW | {"X-Presto-Session": "arrow_compression=lz4"}).status_code == 200


def test_what_is_said_with_the_request_goes_before_the_session(server):
    session = ARROW | {"X-Presto-Session": "arrow_compression=ZSTD"}
    unknown = server.post("SELECT many", session | {"Accept": f"text/html;q=0.1, {ARROW['Accept']};codecs=snappy"})
    assert not is_compressed(unknown.content)
    assert unknown.headers["content-type"] == ARROW["Accept"]
    parquet = server.post("SELECT many", session | PARQUET)
    assert parquet.headers["content-type"] == PARQUET["Accept"]
    assert pq.read_table(io.BytesIO(parquet.content)).num_rows == 20_000
    assert isinstance(server.post("SELECT 1", session | {"Accept": "*/*"}).json()["id"], str)


@pytest.mark.parametrize(
    ("accept", "found"),
    [
        ("*/*", None),
        ("", None),
        (f'text/html; x="{ARROW["Accept"]}"', None),
        (f'text/html; x="a, {ARROW["Accept"]}, b"', None),
        (ARROW["Accept"].upper(), (ARROW["Accept"], None)),
        (f'{ARROW["Accept"]}; codecs="lz4"', (ARROW["Accept"], "lz4")),
        (f'{ARROW["Accept"]};CODECS= "ZSTD,lz4"; q=0.5', (ARROW["Accept"], "zstd")),
        (f"{ARROW['Accept']}; codecs=lz4", (ARROW["Accept"], "lz4")),
        (f"{ARROW['Accept']}; codecs=", (ARROW["Accept"], "none")),
        (f'{ARROW["Accept"]}; codecs="lz4', (ARROW["Accept"], "lz4")),
        (f"{PARQUET['Accept']}; codecs=lz4", (PARQUET["Accept"], "none")),
        (f'{PARQUET["Accept"]}, {ARROW["Accept"]}; codecs="zstd, lz4"', (ARROW["Accept"], "zstd")),
    ],
)
def test_what_accept_asks_for(accept, found):
    request = Request({"type": "http", "headers": [(b"accept", accept.encode())]})
    wanted = wanted_stream(request)
    assert (None if wanted is None else (wanted.media_type, wanted.compression)) == found


def test_a_long_accept_is_read_in_no_time():
    began = time.thread_time()
    for text in ('"' * 60_000, 'a;"' * 20_000, "a," * 30_000, ";=" * 30_000, f"{ARROW['Accept']};" + "a" * 60_000):
        wanted_stream(Request({"type": "http", "headers": [(b"accept", text.encode())]}))
    assert time.thread_time() - began < 2

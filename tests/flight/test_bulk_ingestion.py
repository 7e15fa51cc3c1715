"""Bulk ingestion with ADBC and pyarrow over fakes of the dispatcher's ports: which statement runs, over which rows."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from pathlib import Path

import duckdb
import grpc
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight as fl

from coordinator.dispatch.settings import DispatchSettings
from coordinator.flight import sent_rows
from coordinator.flight.call import Call
from coordinator.flight.messages import packed
from coordinator.flight.wire import message
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.specification import global_group
from coordinator.vocabulary.planned_statement import Column
from shared.errors import ErrorCode, ProcessionError
from tests.flight.conftest import running_flight
from tests.flight.test_ipc import sent
from tests.flight.test_server import CALL, as_, connect, info_of, wait_for
from tests.protocol.conftest import Answer

pytestmark = pytest.mark.slow

INSERT = 'INSERT INTO "c"."s"."t" ("k", "v") SELECT "k", "v" FROM "$sent_rows"'
CREATE = 'CREATE TABLE "c"."s"."t" AS SELECT "k", "v" FROM "$sent_rows"'
REPLACE = CREATE.replace("CREATE TABLE", "CREATE OR REPLACE TABLE")
ROWS = pa.table({"K": [1, 2, None], "v": ["a", None, "ü"]})
FIELDS = {1: message((1, 2), (2, 2)), 2: "t", 3: "s", 4: "c"}
COUNT = (Column("rows", "bigint"),)


class Table:
    """What the engine read, by DuckDB, and what is left of it."""

    def __init__(self):
        self.seen, self.paths, self.columns = [], [], []
        self.begun = threading.Event()

    def answer(self):
        def batches(execution):
            self.columns.append(execution.session.sent_columns)
            self.begun.set()
            with execution.sent_rows.staged(execution, None) as staged:
                self.paths += staged.paths
                found = duckdb.read_parquet(list(staged.paths))
                count, rows = found.count("*").fetchall()[0][0], found.limit(100_000).fetchall()
            execution.set_update_count(count)
            self.seen.append(rows)
            yield pa.record_batch({"rows": pa.array([count], pa.int64())})

        return Answer(COUNT, batches, "INSERT")


@pytest.fixture
def table():
    return Table()


@pytest.fixture
def flight(table, tmp_path):
    answers = dict.fromkeys((INSERT, CREATE, REPLACE), table.answer)
    with running_flight(answers, results_folder=tmp_path / "results") as running:
        yield running


def ingest(flight, data=ROWS, mode="append", **options):
    with connect(flight.uri) as connection, connection.cursor() as cursor:
        return cursor.adbc_ingest("t", data, mode, catalog_name="c", db_schema_name="s", **options)


def put(flight, fields, batches=(), schema=ROWS.schema):
    """By pyarrow: the rows of ``fields`` of the command, or of the defaults."""
    command = packed("CommandStatementIngest", message(*(FIELDS | fields).items()))
    with fl.connect(flight.uri) as client:
        writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), schema, as_("tester"))
        with writer:
            for batch in batches:
                writer.write_batch(batch)
            writer.done_writing()
            return reader.read()


@pytest.mark.parametrize(("mode", "text"), [("append", INSERT), ("create", CREATE), ("replace", REPLACE)])
def test_each_mode_runs_a_statement_over_the_rows(flight, table, mode, text):
    assert ingest(flight, mode=mode) == 3
    assert (flight.newest().text, flight.newest().state.value) == (text, "FINISHED")
    assert table.seen == [[(1, "a"), (2, None), (None, "ü")]]
    assert table.columns == [(("k", "bigint"), ("v", "varchar"))]
    assert not Path(table.paths[0]).exists()


def test_many_batches_are_one_statement(flight, table):
    batches = pa.table({"k": range(50_000), "v": [str(i) for i in range(50_000)]})
    assert ingest(flight, batches.to_reader(max_chunksize=1_000)) == 50_000
    assert sum(k for k, _ in table.seen[0]) == sum(range(50_000))
    assert len(list(flight.dispatcher.registry)) == 1


def test_dictionaries_come_along_and_may_change(flight, table):
    parts = [pa.record_batch({"k": [i], "v": pa.array([word]).dictionary_encode()}) for i, word in enumerate("ab")]
    reader = pa.RecordBatchReader.from_batches(parts[0].schema, iter(parts))
    assert ingest(flight, reader) == 2
    assert table.seen == [[(0, "a"), (1, "b")]]


def test_no_rows_are_an_append_of_none(flight, table):
    assert put(flight, {}) is not None
    assert table.seen == [[]]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({5: 1}, "Not supported: temporary tables"),
        ({6: b"tx"}, "Not supported: transactions"),
        ({1000: message((1, "compression"), (2, "zstd"))}, "Not supported: option compression"),
        ({1: message((1, 2), (2, 1))}, "allows neither a table that is there nor one that is not"),
        ({1: message((1, 2), (2, 3))}, "Not supported: replacing only a table that is there"),
        ({1: b""}, "does not say what to do"),
        ({2: ""}, "names no table"),
        ({3: None}, "A catalog is named, and no schema"),
    ],
)
def test_what_is_not_offered_is_told_before_anything_runs(flight, table, fields, told):
    with pytest.raises(pa.ArrowException, match=told):
        put(flight, fields, ROWS.to_batches())
    assert not list(flight.dispatcher.registry)


def test_names_of_tables_and_columns_are_no_sql(flight):
    with connect(flight.uri) as connection, connection.cursor() as cursor, pytest.raises(Exception, match="mismatched"):
        cursor.adbc_ingest('t"; DROP', pa.table({'a"b': [1]}), "append", db_schema_name="s")
    assert flight.newest().text == 'INSERT INTO "s"."t""; DROP" ("a""b") SELECT "a""b" FROM "$sent_rows"'


class Broken(Exception):
    pass


def endless(pause=0.005):
    batch = pa.record_batch({"k": range(10_000), "v": ["x" * 50] * 10_000})
    while True:
        time.sleep(pause)
        yield batch


def test_a_source_that_breaks_leaves_nothing(flight, table):
    def rows():
        for number, batch in enumerate(endless()):
            if table.begun.is_set() and number > 20:
                raise Broken("the source broke")
            yield batch

    with pytest.raises(Exception, match="the source broke"):
        ingest(flight, pa.RecordBatchReader.from_batches(next(endless(0)).schema, rows()))
    query = flight.newest()
    wait_for(lambda: query.state.done)
    assert (query.error.code, table.seen) == (ErrorCode.USER_CANCELED, [])
    wait_for(lambda: not list(flight.dispatcher.results.folder.iterdir()))
    assert flight.dispatcher.results.used("files") == 0


def test_a_client_that_goes_away_in_the_middle_leaves_nothing(flight, table):
    def requests():
        descriptor = message((1, 2), (2, packed("CommandStatementIngest", message(*FIELDS.items()))))
        for number, each in enumerate(sent(*[next(endless(0)).slice(0, 100)] * 200)):
            time.sleep(0.005)
            yield message((1, descriptor if number == 0 else None), (2, each.header), (1000, each.body))
            if table.begun.is_set() and list(flight.dispatcher.results.folder.iterdir()):
                call.cancel()
                return

    with grpc.insecure_channel(flight.uri.removeprefix("grpc://")) as channel:
        call = channel.stream_stream(f"{CALL}DoPut")(requests(), metadata=(("x-presto-user", "tester"),))
        with pytest.raises(grpc.RpcError):
            list(call)
    query = flight.newest()
    wait_for(lambda: query.state.done)
    assert (query.error.code, table.seen) == (ErrorCode.USER_CANCELED, [])
    wait_for(lambda: not list(flight.dispatcher.results.folder.iterdir()))


def _ended(writer, reader):
    """pyarrow tells what went wrong here or there."""
    reader.read()
    writer.close()


def test_who_cancels_the_statement_ends_the_call(flight, table):
    def rows():
        for batch in endless():
            if table.begun.is_set():
                flight.loop.call_soon_threadsafe(flight.dispatcher.cancel, flight.newest())
            yield batch

    with pytest.raises(Exception, match="USER_CANCELED"):
        ingest(flight, pa.RecordBatchReader.from_batches(next(endless(0)).schema, rows()))
    assert table.seen == []


def test_a_statement_that_fails_is_told_while_rows_are_sent(flight, table):
    begun = time.monotonic()
    with pytest.raises(Exception, match="SYNTAX_ERROR"):
        ingest(flight, pa.RecordBatchReader.from_batches(pa.schema({"o": pa.int8()}), endless_other()), "create")
    assert time.monotonic() - begun < 60


def endless_other():
    while True:
        time.sleep(0.005)
        yield pa.record_batch({"o": pa.array([1], pa.int8())})


def test_a_client_that_falls_silent_is_left(table, tmp_path):
    answers = dict.fromkeys((INSERT,), table.answer)
    settings = DispatchSettings(sweep_interval=0.05, **{"query.client.timeout": "2s"})
    with running_flight(answers, settings, results_folder=tmp_path / "results") as flight:
        command = packed("CommandStatementIngest", message(*FIELDS.items()))
        with fl.connect(flight.uri) as client:
            writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), ROWS.schema, as_("tester"))
            writer.write_batch(ROWS.to_batches()[0])
            with pytest.raises(fl.FlightTimedOutError, match="sends no more rows, and no end"):
                _ended(writer, reader)
        assert flight.newest().error.code is ErrorCode.ABANDONED_QUERY


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_rows(flight, table, codec):
    command = packed("CommandStatementIngest", message(*FIELDS.items()))
    options = fl.FlightCallOptions(
        headers=[(b"x-presto-user", b"tester")], write_options=pa.ipc.IpcWriteOptions(compression=codec)
    )
    words = pa.array(["x" * 100, None, "y"] * 4_000).dictionary_encode()
    sent_batches = [pa.record_batch({"K": range(start, start + 12_000), "v": words}) for start in (0, 12_000)]
    with fl.connect(flight.uri) as client:
        writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), sent_batches[0].schema, options)
        for batch in sent_batches:
            writer.write_batch(batch)
        writer.done_writing()
        assert reader.read() is not None
        _ended(writer, reader)
    (seen,) = table.seen
    assert sorted(seen) == [(n, ("x" * 100, None, "y")[n % 3]) for n in range(24_000)]


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_rows_that_become_too_large_fail_in_the_statement(flight, table, codec, monkeypatch):
    command = packed("CommandStatementIngest", message(*FIELDS.items()))
    options = fl.FlightCallOptions(
        headers=[(b"x-presto-user", b"tester")], write_options=pa.ipc.IpcWriteOptions(compression=codec)
    )
    monkeypatch.setattr(sent_rows, "_MOST_BYTES", 50 << 20)
    many = 25_000_000
    with fl.connect(flight.uri) as client:
        schema = pa.schema([("k", pa.int64()), ("v", pa.int8())])
        writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), schema, options)
        arrays = [pa.array(np.zeros(many // 4, np.int64)), pa.array(np.zeros(many // 4, np.int8))]
        writer.write_batch(pa.record_batch(arrays, schema=schema))
        writer.done_writing()
        with pytest.raises(pa.ArrowException, match="more than 50 MB in a batch without compression"):
            _ended(writer, reader)
    assert (flight.newest().error.code, table.seen) == (ErrorCode.GENERIC_USER_ERROR, [])


def test_a_stream_that_has_no_room_is_refused(table, tmp_path):
    answers = dict.fromkeys((INSERT,), table.answer)
    settings = DispatchSettings(sweep_interval=0.05, **{"query.max-total-stored-bytes": "1B"})
    with running_flight(answers, settings, results_folder=tmp_path / "results") as flight:
        with pytest.raises(Exception, match=r"GENERIC_INSUFFICIENT_RESOURCES.*query\.max-total-stored-bytes"):
            ingest(flight)
        assert not list((tmp_path / "results").iterdir())


def test_a_batch_is_no_larger_than_the_server_takes(table, tmp_path):
    answers = dict.fromkeys((INSERT,), table.answer)
    options = {"flight-sql.max-batch-size": "1MB"}
    with running_flight(answers, results_folder=tmp_path / "results", message_size=1 << 20, **options) as flight:
        rows = pa.table({"k": range(100), "v": ["x" * 50_000] * 100})
        with pytest.raises(Exception, match=r"larger than max|ResourceExhausted"):
            ingest(flight, rows)
        assert ingest(flight, rows.to_reader(max_chunksize=10)) == 100


def test_an_append_that_may_create_looks_first(table, tmp_path):
    known = {}

    def there():
        return table.answer()

    def missing():
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Table 'c.s.t' does not exist")

    answers = known | {INSERT: there, CREATE: table.answer}
    with running_flight(answers, results_folder=tmp_path / "a") as flight:
        assert ingest(flight, mode="create_append") == 3
        assert flight.newest().text == INSERT
    probe = CREATE.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
    answers = {INSERT: missing, CREATE: table.answer, probe: table.answer}
    with running_flight(answers, results_folder=tmp_path / "b") as flight:
        assert ingest(flight, mode="create_append") == 3
        assert [query.text for query in flight.dispatcher.registry] == [CREATE]


def test_rows_are_not_read_while_the_statement_waits_for_its_group(table, tmp_path):
    taken, found = [], []

    def rows():
        for batch in itertools.islice(endless(0), 100):
            taken.append(batch)
            yield batch

    answers = dict.fromkeys((INSERT,), table.answer)
    groups = ResourceGroups(global_group(hard_concurrency_limit=1, max_queued=10))
    with running_flight(answers, results_folder=tmp_path / "results", groups=groups) as flight:
        with fl.connect(flight.uri) as client:
            info_of(client, "SELECT slow")
        running = flight.newest()
        reader = pa.RecordBatchReader.from_batches(next(endless(0)).schema, rows())
        sending = threading.Thread(target=lambda: found.append(ingest(flight, reader)), daemon=True)
        sending.start()
        wait_for(lambda: flight.newest().state.value == "QUEUED")
        time.sleep(0.3)
        assert not table.begun.is_set()
        assert len(taken) < 50, "what waits in the connection, and no more"
        flight.loop.call_soon_threadsafe(flight.dispatcher.cancel, running)
        sending.join(60)
        assert found == [1_000_000]


def test_an_end_is_not_believed_before_a_broken_call_would_be_known():
    class Ended:
        async def read(self):
            return grpc.aio.EOF

    async def asked():
        reading = asyncio.create_task(Call(Ended(), 1.0, 1.0).next_of_many())
        await asyncio.sleep(0.1)
        early = reading.done()
        return early, await reading

    assert asyncio.run(asked()) == (False, None)

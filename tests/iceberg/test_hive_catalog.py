"""``iceberg.catalog.type=hive`` over a real metastore: commits, locks, answers that are lost, and Hive's own tables."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    FieldSchema,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    SerDeInfo,
    StorageDescriptor,
    Table,
    UnlockRequest,
)
from pyiceberg.expressions import LessThan
from thrift.transport.TTransport import TTransportException

from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import (
    ColumnRemoval,
    NewColumn,
    SchemaCreation,
    SchemaRemoval,
    TableCreation,
    TableRemoval,
    TableRename,
    ViewCreation,
)
from shared.spi.connector import ViewColumn, ViewMetadata
from tests.iceberg.catalog_walks import append_is_kept_and_delete_a_conflict, made_of_files_and_of_metadata
from tests.iceberg.test_concurrency import ids, meanwhile, numbers

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(hive_lake: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The shared lake with a connector of the test's own, after which no lock may be left."""
    hive_lake.connector = hive_lake.connect()
    hive_lake.workers.before = lambda _kernel, _number: None
    yield hive_lake
    assert hive_lake.metastore.locks() == []


@pytest.fixture
def table(lake: Any, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.nodeid))}"
    lake.create(name, [numbers(i * 50) for i in range(5)])
    return name


def entry(lake: Any, name: str) -> dict[str, str]:
    return dict(lake.metastore.table("db", name).parameters)


def nothing_happened(lake: Any, name: str, files: set[str], parameters: dict[str, str]) -> None:
    assert lake.files(name) == files
    assert entry(lake, name) == parameters


def test_a_life_of_a_table(lake: Any, table: str, foreign: Any) -> None:
    first = next(task.file.file_path for task in lake.table(table).scan(LessThan("id", 50)).plan_files())
    foreign.delete_positions(lake.table(table), {first: [0, 1]})
    asked = {"schema": "db", "table_name": table}
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    assert ids(lake, table) == [*range(2, 250)]
    rewritten = lake.table(table).current_snapshot()
    assert (entry(lake, table)["numFiles"], entry(lake, table)["numRows"]) == ("1", "248")
    lake.call("create_branch", branch="audit", **asked)
    for start in (1000, 2000):
        lake.table(table).append(numbers(start))
    assert lake.call("rewrite_manifests", **asked).rows[0][0] > 1
    lake.call("rollback_to_snapshot", snapshot_id=rewritten.snapshot_id, **asked)
    assert entry(lake, table)["current-snapshot-id"] == str(rewritten.snapshot_id)
    assert ids(lake, table) == [*range(2, 250)]
    lake.call("expire_snapshots", older_than=datetime(2100, 1, 1), **asked)
    assert entry(lake, table)["snapshot-count"] == "1"
    lost = lake.home / "wh" / "db" / table / "data" / "lost.parquet"
    lost.write_bytes(b"x")
    os.utime(lost, (0, 0))
    lake.call("remove_orphan_files", older_than=datetime(2020, 1, 1), **asked)
    assert "data/lost.parquet" not in lake.files(table)
    assert lake.call("validate_files", check_footers=True, **asked).rows == []
    assert ids(lake, table) == [*range(2, 250)]
    assert list(lake.table(table).refs()) == ["main", "audit"]


@pytest.mark.full("an append meanwhile below, and a lock of someone else")
def test_writers_in_many_threads_lose_nothing(lake: Any, table: str) -> None:
    """PyIceberg's own client has one connection for all threads, which read each other's answers."""
    catalog, failures = lake.connector.tables_of, []

    def write(number: int) -> None:
        for _ in range(2):
            while True:
                try:
                    catalog.open("db", table).append(numbers(number * 1000, 1))
                    break
                except Exception as error:
                    if type(error).__name__ != "CommitFailedException":
                        failures.append(error)
                        break

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ids(lake, table) == [*range(250), *(n * 1000 for n in range(1, 4) for _ in range(2))]


@pytest.mark.full("the same walk over Glue; this catalog's life of a table above")
def test_tables_made_of_files_and_of_metadata(lake: Any, table: str) -> None:
    made_of_files_and_of_metadata(lake, table)


def test_append_meanwhile_is_kept_and_a_delete_is_a_conflict(lake: Any, table: str) -> None:
    append_is_kept_and_delete_a_conflict(lake, table)


def test_an_answer_that_is_lost_after_the_commit_is_found(lake: Any, table: str, monkeypatch: Any) -> None:
    answer = Client.recv_alter_table_with_environment_context

    def lost(client: Client) -> None:
        answer(client)
        raise TTransportException(message="connection reset")

    monkeypatch.setattr(Client, "recv_alter_table_with_environment_context", lost)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    lake.call("create_tag", schema="db", table_name=table, tag="kept")
    assert ids(lake, table) == [*range(250)]
    assert lake.orphans(table) == set()


@pytest.mark.usefixtures("looked_for_soon")
def test_a_commit_that_may_have_been_lost_keeps_its_files_and_no_lock(lake: Any, table: str, monkeypatch: Any) -> None:
    files, parameters = lake.files(table), entry(lake, table)

    def lost(*_: Any) -> None:
        raise TTransportException(message="connection reset")

    monkeypatch.setattr(Client, "send_alter_table_with_environment_context", lost)
    with pytest.raises(ProcessionError) as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.PROCEDURE_CALL_FAILED
    assert entry(lake, table) == parameters
    assert len(lake.files(table)) > len(files)
    monkeypatch.undo()
    assert lake.metastore.locks() == []
    assert [found.outcome for found in lake.connect().recover()] == ["ABORTED", "ABORTED"]
    assert lake.files(table) == files
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5


def test_a_lock_whose_answer_is_lost_is_given_back(lake: Any, table: str, monkeypatch: Any) -> None:
    answer, files, parameters = Client.recv_lock, lake.files(table), entry(lake, table)

    def lost(client: Client) -> None:
        answer(client)
        raise TTransportException(message="connection reset")

    monkeypatch.setattr(Client, "recv_lock", lost)
    with pytest.raises(ProcessionError, match=r"cannot be asked to commit.*connection reset") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
    nothing_happened(lake, table, files, parameters)
    assert lake.metastore.locks() == []


def test_a_metastore_that_is_gone_is_told_at_once_and_nothing_is_left(lake: Any, table: str) -> None:
    files, parameters = lake.files(table), entry(lake, table)
    connections = lake.connector.tables_of.client()._connections
    reached = connections._addresses

    def leave() -> None:
        connections._addresses = [("127.0.0.1", 1)]

    meanwhile(lake, leave)
    begun = time.monotonic()
    with pytest.raises(ProcessionError, match=r"metastore of .* failed: Could not connect") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
    assert time.monotonic() - begun < 30
    for ask in (lambda: lake.connector.schemas(), lambda: lake.connector.table("db", table)):
        with pytest.raises(ProcessionError) as failure:
            ask()
        assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
    connections._addresses = reached
    lake.connector.recover()
    nothing_happened(lake, table, files, parameters)
    # The first of two addresses is dead.
    connections._addresses = [("127.0.0.1", 1), *reached]
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5


def test_a_metastore_that_does_not_answer_is_given_up(lake: Any) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"thrift://127.0.0.1:{deaf.getsockname()[1]}"
        connector = lake.connect(**{"hive.metastore.uri": address, "hive.metastore-timeout": "200ms"})
        begun = time.monotonic()
        with pytest.raises(ProcessionError) as failure:
            connector.tables("db")
        assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
        assert time.monotonic() - begun < 15


@contextmanager
def locked(lake: Any, name: str) -> Iterator[int]:
    component = LockComponent(type=LockType.EXCLUSIVE, level=LockLevel.TABLE, dbname="db", tablename=name)
    with lake.metastore.client() as client:
        number = client.lock(LockRequest(component=[component], user="rival", hostname="elsewhere")).lockid
    yield number
    with lake.metastore.client() as client:
        client.unlock(UnlockRequest(lockid=number))


def test_a_lock_of_someone_else_is_waited_for_but_not_for_ever(lake: Any, table: str) -> None:
    files, parameters = lake.files(table), entry(lake, table)
    lake.connector.tables_of.client().lock_patience_seconds = 0.3
    with locked(lake, table), pytest.raises(ProcessionError, match=r"is locked .* by rival@elsewhere") as failure:
        lake.rewrite(table)
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    nothing_happened(lake, table, files, parameters)
    lake.connector.tables_of.client().lock_patience_seconds = 30
    with locked(lake, table) as number:

        def give_back() -> None:
            with lake.metastore.client() as client:
                client.unlock(UnlockRequest(lockid=number))

        threading.Timer(0.5, give_back).start()
        assert lake.rewrite(table)["rewritten_data_files_count"] == 5


def test_without_locks_the_metastore_itself_compares(lake: Any, table: str, monkeypatch: Any) -> None:
    """As engines do that commit without locks: the table says so, and another commit comes in between."""
    with lake.table(table).transaction() as transaction:
        transaction.set_properties({"engine.hive.lock-enabled": "false"})
    catalog = lake.connector.tables_of.client()
    write, lost = catalog._write_metadata, []

    def write_late(metadata: Any, io: Any, metadata_path: str) -> None:
        assert lake.metastore.locks() == []
        if not lost:
            lost.append(metadata_path)
            lake.table(table).append(numbers(1000, 1))
        write(metadata, io, metadata_path)

    monkeypatch.setattr(catalog, "_write_metadata", write_late)
    assert lake.rewrite(table)["rewritten_data_files_count"] == 5
    assert ids(lake, table) == [*range(250), 1000]
    assert lake.orphans(table) == set()


def test_a_change_that_the_metastore_refuses_leaves_nothing(lake: Any, table: str) -> None:
    """Metastores do not let columns change their places unless they are told to."""
    name = f"{table}_turned"
    lake.create(name, [numbers(0).select(["name", "id"])])
    files, parameters = lake.files(name), entry(lake, name)
    with pytest.raises(ProcessionError, match=r"refused the commit.*types incompatible") as failure:
        lake.change(ColumnRemoval("db", name, "name"))
    assert failure.value.code is ErrorCode.HIVE_METASTORE_ERROR
    nothing_happened(lake, name, files, parameters)


def test_what_hive_reads_stays_readable_by_hive(lake: Any, table: str) -> None:
    handler = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"
    with lake.metastore.client() as client:
        kept = client.get_table("db", table)
        kept.parameters |= {"storage_handler": handler, "mine": "kept"}
        client.alter_table("db", table, kept)
    lake.rewrite(table)
    found = lake.metastore.table("db", table)
    assert found.parameters["storage_handler"] == handler
    assert found.parameters["mine"] == "kept"
    assert found.sd.serdeInfo.serializationLib == "org.apache.iceberg.mr.hive.HiveIcebergSerDe"


def test_schemas_and_names(lake: Any) -> None:
    columns = (NewColumn("id", "bigint"), NewColumn("at", "timestamp with time zone"), NewColumn("t", "varchar"))
    lake.change(SchemaCreation("made", {}))
    with lake.metastore.client() as client:
        assert client.get_database("made").locationUri == f"file:{lake.home}/wh/made.db"
    lake.change(TableCreation("made", "a", columns, {}, None, False))
    assert [f.type for f in lake.metastore.table("made", "a").sd.cols] == ["bigint", "timestamp", "string"]
    files = {str(path) for path in (lake.home / "wh" / "made.db").rglob("*") if path.is_file()}
    with pytest.raises(ProcessionError) as failure:
        lake.change(TableCreation("made", "a", columns, {}, None, False))
    assert failure.value.code is ErrorCode.ALREADY_EXISTS
    assert {str(path) for path in (lake.home / "wh" / "made.db").rglob("*") if path.is_file()} == files
    lake.change(TableCreation("made", "b", columns, {}, None, False))
    for new, code in ((("made", "b"), ErrorCode.ALREADY_EXISTS), (("nowhere", "b"), ErrorCode.NOT_FOUND)):
        with pytest.raises(ProcessionError) as failure:
            lake.change(TableRename("made", "a", *new))
        assert failure.value.code is code
    assert lake.connector.table("made", "a") is not None
    lake.change(TableRename("made", "a", "made", "c"))
    assert lake.connector.table("made", "c") is not None
    assert lake.connector.tables("made") == ["b", "c"]
    with pytest.raises(ProcessionError) as failure:
        lake.change(SchemaRemoval("made", cascade=False))
    assert failure.value.code is ErrorCode.SCHEMA_NOT_EMPTY
    lake.change(SchemaRemoval("made", cascade=True))
    assert not lake.connector.schema_exists("made")
    assert [path for path in (lake.home / "wh" / "made.db").rglob("*") if path.is_file()] == []


def test_tables_and_views_of_hive_are_left_alone(lake: Any) -> None:
    lake.change(SchemaCreation("mixed", {}))
    lake.change(TableCreation("mixed", "ours", (NewColumn("id", "bigint"),), {}, None, False))
    storage = StorageDescriptor([FieldSchema("a", "int")], f"file://{lake.home}/plain", serdeInfo=SerDeInfo())
    foreign = [
        Table("plain", "mixed", sd=storage, parameters={"EXTERNAL": "TRUE"}, tableType="EXTERNAL_TABLE"),
        Table("seen", "mixed", sd=storage, parameters={}, tableType="VIRTUAL_VIEW", viewExpandedText="SELECT 1"),
        Table(
            "seen_iceberg",
            "mixed",
            sd=storage,
            parameters={"table_type": "ICEBERG-VIEW", "metadata_location": "file:/nowhere"},
            tableType="VIRTUAL_VIEW",
            viewExpandedText="SELECT 1",
        ),
    ]
    with lake.metastore.client() as client:
        for each in foreign:
            client.create_table(each)
    assert lake.connector.tables("mixed") == ["ours"]
    assert lake.connector.view_names("mixed") == []
    assert lake.connector.view("mixed", "seen") is None
    kinds = {
        "plain": (ErrorCode.ICEBERG_UNKNOWN_TABLE_TYPE, "Not an Iceberg table: mixed.plain"),
        "seen": (ErrorCode.NOT_SUPPORTED, "mixed.seen is a view"),
        "seen_iceberg": (ErrorCode.NOT_SUPPORTED, "mixed.seen_iceberg is a view"),
    }
    for name, (code, message) in kinds.items():
        actions = (
            lambda name=name: lake.connector.table("mixed", name),
            lambda name=name: lake.change(TableRemoval("mixed", name, True)),
            lambda name=name: lake.change(TableRename("mixed", name, "mixed", "taken")),
        )
        for action in actions:
            with pytest.raises(ProcessionError, match=message) as failure:
                action()
            assert failure.value.code is code
    with pytest.raises(ProcessionError) as failure:
        lake.change(TableRename("mixed", "ours", "mixed", "plain"))
    assert failure.value.code is ErrorCode.ALREADY_EXISTS
    with pytest.raises(ProcessionError, match="not Iceberg tables: plain, seen, seen_iceberg") as failure:
        lake.change(SchemaRemoval("mixed", cascade=True))
    assert failure.value.code is ErrorCode.SCHEMA_NOT_EMPTY
    with lake.metastore.client() as client:
        assert sorted(client.get_all_tables("mixed")) == ["ours", "plain", "seen", "seen_iceberg"]


def test_views_are_refused(lake: Any) -> None:
    columns = (ViewColumn("x", "integer", None),)
    view = ViewMetadata("hived", "db", "v", "SELECT 1 x", columns, "hived", "db", owner="alice")
    for step in (lake.connector.validate, lake.change):
        with pytest.raises(ProcessionError, match="views") as failure:
            step(ViewCreation(view, replace=False))
        assert failure.value.code is ErrorCode.NOT_SUPPORTED

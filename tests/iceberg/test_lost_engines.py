"""The engine is lost, or another commit wins, during a write: told as failed only when it did not land."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.tables import writing
from coordinator.connectors.iceberg.tables.writing import write
from coordinator.engine.spark.failures import spark_gone
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import TableWrite, WriteContext

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
INSERT = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "SELECT 1")


def inserted(lake: Any, *, lands: bool, ends: bool = True, named: bool = True) -> int:
    """An INSERT of three rows whose engine ends before it answers."""
    context = lake.context()

    def run(_sql: str, _write_id: str | None = None, _settings: Any = None) -> Any:
        if lands:
            lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        raise spark_gone("connection lost")

    new_id = (lambda: str(uuid4())) if named else (lambda: None)
    return write(lake.connector.tables_of, INSERT, WriteContext(context, run, new_id, lambda _id: ends))


@pytest.fixture(autouse=True)
def table(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_ASK_AGAIN_SECONDS", (0.0,))
    monkeypatch.setattr(writing, "_LOOK_AGAIN_SECONDS", (0.0, 0.1))
    lake.create("t", [ROWS], properties={"write.merge.mode": "merge-on-read", "format-version": "2"})


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_a_write_that_landed_is_done(lake: Any, ends: bool, named: bool) -> None:
    assert inserted(lake, lands=True, ends=ends, named=named) == 3
    assert lake.connector.tables_of.late_writes.recover() == []


def test_one_that_cannot_land_any_more_may_be_sent_again(lake: Any) -> None:
    with pytest.raises(ProcessionError) as lost:
        inserted(lake, lands=False)
    assert (lost.value.code, lost.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)


def test_what_its_catalog_carries_out_late_is_seen(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a REST server or a database that has the request of an engine that ended right after."""

    def late(_seconds: float) -> None:
        if _seconds:
            lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: lake.context().session.query_id})

    monkeypatch.setattr(writing.time, "sleep", late)
    assert inserted(lake, lands=False) == 3


@pytest.mark.parametrize(("ends", "named"), [(False, True), (True, False)])
def test_one_that_may_still_land_is_not_sent_again_by_itself(lake: Any, ends: bool, named: bool) -> None:
    """The server may live on: a gateway that ran it elsewhere would write the rows twice."""
    with pytest.raises(ProcessionError, match="may still land") as lost:
        inserted(lake, lands=False, ends=ends, named=named)
    assert (lost.value.code, lost.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, False)


def changed(lake: Any, losses: int, **more: Any) -> tuple[int, list[str | None]]:
    """An UPDATE that loses so often against another commit; its rows, and the ids that its attempts had."""
    context, ids = lake.context(), list[str | None]()

    def run(_sql: str, write_id: str | None = None, _settings: Any = None) -> Any:
        ids.append(write_id)
        if len(ids) <= losses:
            cause = RuntimeError("org.apache.iceberg.exceptions.ValidationException: Cannot commit, missing data files")
            raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "Spark failed: Cannot commit") from cause
        lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        return []

    update = TableWrite("lab", "db", "t", "UPDATE", "UPDATE", "SET id = 1", **more)
    return write(lake.connector.tables_of, update, WriteContext(context, run, lambda: str(uuid4()))), ids


@pytest.mark.parametrize("losses", [0, 1, 3])
def test_a_write_that_loses_against_another_commit_is_run_again(
    lake: Any, monkeypatch: pytest.MonkeyPatch, losses: int
) -> None:
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0.0)
    rows, ids = changed(lake, losses)
    assert rows == 3
    assert len(set(ids)) == len(ids) == losses + 1, "files of each attempt are told apart"


def test_a_commit_that_loses_against_itself_is_not_made_again(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a commit was lost, the client asked for it again, and Iceberg found the table changed: by it."""
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0.0)
    context, runs = lake.context(), list[str]()

    def run(sql: str, _write_id: str | None = None, _settings: Any = None) -> Any:
        runs.append(sql)
        lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        cause = RuntimeError("org.apache.iceberg.exceptions.ValidationException: Cannot commit, missing data files")
        raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "Spark failed: Cannot commit") from cause

    assert write(lake.connector.tables_of, INSERT, WriteContext(context, run)) == 3
    assert (len(runs), len(lake.rows("t"))) == (1, 6)


def test_a_failure_that_only_names_a_conflict_is_not_run_again(lake: Any) -> None:
    runs: list[str] = []

    def run(sql: str, _write_id: str | None = None, _settings: Any = None) -> Any:
        runs.append(sql)
        raise ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "Spark failed: cannot read the table conflict_log")

    with pytest.raises(ProcessionError):
        write(lake.connector.tables_of, INSERT, WriteContext(lake.context(), run))
    assert len(runs) == 1


@pytest.mark.parametrize(("losses", "by_position"), [(4, False), (1, True)], ids=["too often", "by position"])
def test_one_that_loses_too_often_or_whose_rows_moved_may_be_sent_again(
    lake: Any, monkeypatch: pytest.MonkeyPatch, losses: int, by_position: bool
) -> None:
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0.0)
    head = lake.table("t").current_snapshot().snapshot_id
    with pytest.raises(ProcessionError, match="conflicts with a concurrent one") as lost:
        changed(lake, losses, snapshot_id=head, by_position=by_position)
    assert (lost.value.code, lost.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, True)


@pytest.mark.parametrize(("kind", "retriable"), [("DELETE", True), ("UPDATE", False)])
def test_rows_that_moved_meanwhile_are_not_changed_twice(lake: Any, kind: Any, retriable: bool) -> None:
    """Both committed; to delete again what is deleted does no harm."""
    properties = {"write.merge.mode": "merge-on-read", "format-version": "2"}
    table, context = lake.create("moved", [ROWS, ROWS], properties=properties), lake.context()

    def run(_sql: str, _write_id: str | None = None, _settings: Any = None) -> Any:
        lake.table("moved").overwrite(ROWS)
        lake.table("moved").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        return []

    head = table.current_snapshot().snapshot_id
    change = TableWrite("lab", "db", "moved", kind, kind, "x", snapshot_id=head, by_position=True)
    with pytest.raises(ProcessionError, match="was committed") as told:
        write(lake.connector.tables_of, change, WriteContext(context, run))
    assert (told.value.code, told.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, retriable)

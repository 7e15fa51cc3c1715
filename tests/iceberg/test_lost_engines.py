"""The engine is lost during a write: told as failed only when it did not land, and as retriable only when it cannot."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.tables import writing
from coordinator.connectors.iceberg.tables.writing import QUERY_ID, write
from coordinator.engine.spark.failures import spark_gone
from shared.errors import ErrorCode, ProcessionError
from shared.spi.table_writes import TableWrite, WriteContext

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
INSERT = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "SELECT 1")


def inserted(lake: Any, *, lands: bool, ends: bool = True, named: bool = True) -> int:
    """An INSERT of three rows whose engine ends before it answers."""
    context = lake.context()

    def run(_sql: str, _write_id: str | None = None) -> Any:
        if lands:
            lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        raise spark_gone("connection lost")

    new_id = (lambda: str(uuid4())) if named else (lambda: None)
    return write(lake.connector.tables_of, INSERT, WriteContext(context, run, new_id, lambda _id: ends))


@pytest.fixture(autouse=True)
def table(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_ASK_AGAIN_SECONDS", (0.0,))
    monkeypatch.setattr(writing, "_LOOK_AGAIN_SECONDS", (0.0, 0.1))
    lake.create("t", [ROWS])


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


@pytest.mark.parametrize(("kind", "retriable"), [("DELETE", True), ("UPDATE", False)])
def test_rows_that_moved_meanwhile_are_not_changed_twice(lake: Any, kind: Any, retriable: bool) -> None:
    """Both committed; to delete again what is deleted does no harm."""
    properties = {"write.merge.mode": "merge-on-read", "format-version": "2"}
    table, context = lake.create("moved", [ROWS, ROWS], properties=properties), lake.context()

    def run(_sql: str, _write_id: str | None = None) -> Any:
        lake.table("moved").overwrite(ROWS)
        lake.table("moved").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        return []

    head = table.current_snapshot().snapshot_id
    change = TableWrite("lab", "db", "moved", kind, kind, "x", snapshot_id=head, by_position=True)
    with pytest.raises(ProcessionError, match="was committed") as told:
        write(lake.connector.tables_of, change, WriteContext(context, run))
    assert (told.value.code, told.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, retriable)

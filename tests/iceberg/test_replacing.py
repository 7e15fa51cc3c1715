"""A table is replaced under its write's id, as it was when the write began, and only by one that it can become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.update import AddSchemaUpdate, SetCurrentSchemaUpdate
from pyiceberg.types import LongType, NestedField, StringType

from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.tables import writing
from coordinator.connectors.iceberg.tables.writing import write
from coordinator.engine.spark.failures import spark_gone
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import NewColumn, TableCreation
from shared.spi.table_writes import TableWrite, WriteContext

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
Asked = tuple[str, str | None, Mapping[str, str]]


def creation(**columns: str) -> TableCreation:
    return TableCreation("db", "t", tuple(NewColumn(n, t) for n, t in columns.items()), {}, replaces=True)


REPLACE = TableWrite("lab", "db", "t", "INSERT", "REPLACE TABLE", "SELECT 1", creation=creation(id="bigint"))


def replaced(lake: Any, outcomes: list[Exception | None], **more: Any) -> tuple[int, list[Asked]]:
    """A replacement whose attempts end so; None lands. Its rows, and what the engine was asked."""
    context, asked, ids = lake.context(), list[Asked](), iter(("w1", "w2", "w3", "w4"))

    def run(sql: str, write_id: str | None = None, settings: Any = None) -> Any:
        asked.append((sql, write_id, dict(settings)))
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        return []

    wanted = replace(REPLACE, **more)
    return write(lake.connector.tables_of, wanted, WriteContext(context, run, lambda: next(ids))), asked


def lost() -> ProcessionError:
    error = ProcessionError(ErrorCode.REMOTE_TASK_ERROR, "Spark failed: Found conflicting commits")
    error.__cause__ = RuntimeError("org.apache.iceberg.exceptions.ValidationException: Found conflicting commits")
    return error


@pytest.fixture(autouse=True)
def table(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(writing, "_LOOK_AGAIN_SECONDS", (0.0, 0.1))
    lake.create("t", [ROWS], properties={"format-version": "1"})


def test_it_has_an_id_and_tells_which_metadata_it_replaces(lake: Any) -> None:
    before = lake.table("t").metadata_location
    rows, asked = replaced(lake, [None])
    assert rows == 3
    assert asked == [
        ("REPLACE TABLE `lab`.`db`.`t` USING iceberg AS SELECT 1", "w1", {"spark.procession.replaced-metadata": before})
    ], "properties stay: a table of version 1 whose deletes are merged on read could not be deleted from"
    assert lake.connector.tables_of.late_writes.recover() == []


def test_it_tells_where_uuids_are_which_spark_has_no_type_for(lake: Any) -> None:
    kinds = {"n": "bigint", "u": "uuid", "l": "array(row(a varchar, b uuid))", "m": "map(uuid, array(uuid))"}
    wanted = creation(**kinds, t="varchar")
    lake.connector.validate(wanted)
    _, asked = replaced(lake, [None], creation=wanted)
    assert asked[0][2]["spark.procession.uuid-columns"] == "1,2/0/1,3/0,3/1/0"


def test_uuids_need_our_classes_in_spark(lake: Any) -> None:
    """Without them the new table would have texts."""
    write_of = replace(REPLACE, creation=creation(u="uuid"))
    with pytest.raises(ProcessionError, match="columns of type uuid: Spark lacks our jar") as refused:
        write(lake.connector.tables_of, write_of, WriteContext(lake.context(), _never, lambda: None))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def _never(*_asked: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize(
    ("column", "message"),
    [("time", r"columns of type time \(c\)"), ("array(time)", r"c\.element"), ("json", "needs format_version = '3'")],
)
def test_what_the_table_cannot_hold_is_refused_as_it_is_planned(lake: Any, column: str, message: str) -> None:
    with pytest.raises(ProcessionError, match=message) as refused:
        lake.connector.validate(creation(id="bigint", c=column))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def test_one_that_lost_against_another_commit_is_made_again_over_the_table_as_it_is_then(lake: Any) -> None:
    rows, asked = replaced(lake, [lost(), None])
    assert (rows, [write_id for _, write_id, _ in asked]) == (3, ["w1", "w2"])


def test_one_that_reads_the_table_itself_reads_it_as_it_is_replaced(lake: Any) -> None:
    """What is read was settled as it was planned: rows that came since would be lost, also at a second attempt."""
    planned = lake.table("t").current_snapshot().snapshot_id
    lake.table("t").append(ROWS)
    with pytest.raises(ProcessionError, match="was changed while the statement was planned") as failure:
        replaced(lake, [], snapshot_id=planned, reads_target=True)
    assert (failure.value.code, failure.value.retriable) == (ErrorCode.TRANSACTION_CONFLICT, True)
    now = lake.table("t").current_snapshot().snapshot_id
    with pytest.raises(ProcessionError, match="Found conflicting commits"):
        replaced(lake, [lost()], snapshot_id=now, reads_target=True)


def test_one_that_does_not_replaces_what_came_meanwhile_too(lake: Any) -> None:
    planned = lake.table("t").current_snapshot().snapshot_id
    lake.table("t").append(ROWS)
    assert replaced(lake, [None], snapshot_id=planned)[0] == 3


def test_one_that_failed_is_known_until_what_it_left_is_gone(lake: Any) -> None:
    with pytest.raises(ProcessionError, match="Division"):
        replaced(lake, [ProcessionError(ErrorCode.DIVISION_BY_ZERO, "Division by zero")])
    assert [each.id for each in lake.connector.tables_of.late_writes._records.open_entries()] == ["w1"]


def test_one_whose_engine_was_lost_is_sent_again_only_when_it_did_not_land(lake: Any) -> None:
    """It may read the table itself: made twice, it would be another one."""
    with pytest.raises(ProcessionError) as failure:
        replaced(lake, [spark_gone("connection lost")])
    assert failure.value.retriable
    context = lake.context()

    def landed(*_asked: Any) -> Any:
        lake.table("t").append(ROWS, snapshot_properties={QUERY_ID: context.session.query_id})
        raise spark_gone("connection lost")

    assert write(lake.connector.tables_of, REPLACE, WriteContext(context, landed, lambda: "w")) == 3


@pytest.mark.parametrize(
    ("columns", "gone"),
    [
        ({"id": "bigint"}, "name"),
        ({"id": "varchar", "name": "varchar"}, "id"),
        ({"name": "varbinary"}, "id, name"),
        ({"id": "integer", "name": "varchar"}, "id"),
        ({"name": "varchar", "id": "bigint", "x": "date"}, None),
    ],
)
def test_columns_of_partition_specs_stay(lake: Any, columns: dict[str, str], gone: str | None) -> None:
    """Also those of specs that the table has no more: Spark neither deletes from nor writes to what has lost one."""
    parted = TableCreation(
        "db",
        "parted",
        (NewColumn("id", "bigint"), NewColumn("name", "varchar")),
        {"partitioning": ["bucket(id, 4)", "name"]},
    )
    lake.change(parted)
    with lake.table("parted").update_spec() as update:
        update.remove_field("name")
        update.remove_field("id_bucket")
    wanted = TableCreation("db", "parted", creation(**columns).columns, {}, replaces=True)
    if gone is None:
        lake.connector.validate(wanted)
        return
    with pytest.raises(ProcessionError, match=f"gone or of other types .{gone}.: drop it first") as refused:
        lake.connector.validate(wanted)
    assert refused.value.code is ErrorCode.NOT_SUPPORTED


def test_a_column_that_grows_keeps_its_partitions(lake: Any) -> None:
    small = TableCreation("db", "grown", (NewColumn("id", "integer"),), {"partitioning": ["bucket(id, 4)"]})
    lake.change(small)
    lake.connector.validate(TableCreation("db", "grown", (NewColumn("id", "bigint"),), {}, replaces=True))


@pytest.mark.parametrize(("kind", "told"), [(StringType(), True), (LongType(), False)])
def test_history_with_other_types_does_not_become_the_present(lake: Any, kind: Any, told: bool) -> None:
    """A table that was replaced has the ids of columns by their names: nobody could read it."""
    table = lake.table("t")
    first = table.current_snapshot().snapshot_id
    table.append(ROWS)
    anew = Schema(NestedField(1, "id", kind), NestedField(2, "more", LongType()), schema_id=1)
    table._do_commit((AddSchemaUpdate(schema=anew), SetCurrentSchemaUpdate(schema_id=-1)), ())
    if not told:
        lake.call("set_current_snapshot", schema="db", table_name="t", snapshot_id=first)
        assert lake.table("t").current_snapshot().snapshot_id == first
        return
    with pytest.raises(ProcessionError, match=r"other types in columns \(id\) .* FOR VERSION AS OF") as refused:
        lake.call("set_current_snapshot", schema="db", table_name="t", snapshot_id=first)
    assert refused.value.code is ErrorCode.NOT_SUPPORTED

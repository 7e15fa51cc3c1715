"""SET PROPERTIES of a table's partitioning, order and format version: what PyIceberg's own updates make of the same."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform

from coordinator.connectors.iceberg.snapshots import metadata_changes
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TablePropertiesChange

START = datetime.datetime(2026, 1, 1)
OF_ENTRY: dict[str, tuple[str, Any, str]] = {
    "kind": ("kind", IdentityTransform(), "kind"),
    "day(at)": ("at", DayTransform(), "at_day"),
    "bucket(id, 4)": ("id", BucketTransform(4), "id_bucket"),
    "bucket(id, 8)": ("id", BucketTransform(8), "id_bucket"),
}


def rows(start: int) -> pa.Table:
    ids = range(start, start + 20)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "kind": [f"k{i % 3}" for i in ids],
            "at": pa.array([START + datetime.timedelta(hours=7 * i) for i in ids], pa.timestamp("us")),
        }
    )


def set_properties(lake: Any, name: str = "t", **given: Any) -> None:
    lake.change(TablePropertiesChange("db", name, {k.replace("__", "-"): v for k, v in given.items()}))


def by_pyiceberg(table: Table, entries: Sequence[str]) -> None:
    """The same by its own update: what is not asked for goes, and the rest is added."""
    with table.update_spec() as update:
        kept = set()
        for field in table.spec().fields:
            entry = next(
                (e for e, (column, transform, _) in OF_ENTRY.items()
                 if table.schema().find_field(column).field_id == field.source_id and transform == field.transform),
                None,
            )  # fmt: skip
            if entry in entries:
                kept.add(entry)
            elif str(field.transform) != "void":
                update.remove_field(field.name)
        for entry in entries:
            if entry not in kept:
                update.add_field(*OF_ENTRY[entry])


HISTORIES = [
    [["kind"], []],
    [["day(at)", "bucket(id, 4)"], ["bucket(id, 4)"], ["bucket(id, 4)", "kind"]],
    [["kind"], ["day(at)"], ["kind"], ["day(at)", "kind"]],
    [["bucket(id, 4)"], ["kind"], ["bucket(id, 4)", "kind"]],
]


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("history", HISTORIES)
def test_specs_are_those_of_pyiceberg(lake: Any, version: str, history: list[list[str]]) -> None:
    ours = lake.create("t", [rows(0)], properties={"format-version": version})
    theirs = lake.create("u", [rows(0)], properties={"format-version": version})
    written: list[int] = []
    for number, entries in enumerate(history, start=1):
        set_properties(lake, partitioning=entries)
        by_pyiceberg(theirs.refresh(), entries)
        ours.refresh()
        names = [(f.source_id, f.field_id, str(f.transform)) for f in ours.spec().fields]
        assert names == [(f.source_id, f.field_id, str(f.transform)) for f in theirs.spec().fields]
        assert len({f.name for f in ours.spec().fields}) == len(names)
        assert ours.metadata.last_partition_id == theirs.metadata.last_partition_id
        assert set(ours.specs()) == set(theirs.specs())
        if len({f.source_id for f in ours.spec().fields}) == len(names):  # PyIceberg writes no others
            ours.append(rows(20 * number))
            written.append(number)
    assert [row[0] for row in lake.rows("t")] == [20 * n + i for n in (0, *written) for i in range(20)]
    files = [task.file for task in ours.scan().plan_files()]
    parts = {tuple(file.partition[i] for i in range(len(file.partition))) for file in files}
    assert len(parts) > 1
    assert lake.orphans("t") == set()


def test_a_spec_that_was_there_comes_back(lake: Any) -> None:
    table = lake.create("t", [rows(0)])
    set_properties(lake, partitioning=["kind"])
    set_properties(lake, partitioning=["bucket(id, 4)"])
    set_properties(lake, partitioning=["kind"])
    assert (table.refresh().spec().spec_id, sorted(table.specs())) == (1, [0, 1, 2])
    set_properties(lake, partitioning=[])
    assert table.refresh().spec().spec_id == 0
    before = table.metadata_location
    set_properties(lake, partitioning=[])
    assert table.refresh().metadata_location == before, "nothing to change"


def test_another_width_of_buckets_takes_the_name(lake: Any) -> None:
    table = lake.create("t", [rows(0)])
    set_properties(lake, partitioning=["bucket(id, 4)"])
    set_properties(lake, partitioning=["bucket(id, 8)"])
    assert [(f.name, str(f.transform)) for f in table.refresh().spec().fields] == [("id_bucket", "bucket[8]")]


def test_orders_come_and_go(lake: Any) -> None:
    table = lake.create("t", [rows(0)])
    set_properties(lake, sorted_by=["kind", "id DESC NULLS LAST"])
    assert [str(field) for field in table.refresh().sort_order().fields] == [
        "2 ASC NULLS FIRST", "1 DESC NULLS LAST",
    ]  # fmt: skip
    set_properties(lake, sorted_by=["id"])
    set_properties(lake, sorted_by=["kind", "id DESC NULLS LAST"])
    assert (table.refresh().sort_order().order_id, sorted(table.sort_orders())) == (1, [0, 1, 2])
    set_properties(lake, sorted_by=[])
    assert table.refresh().sort_order().order_id == 0


def test_all_at_once_is_one_commit(lake: Any) -> None:
    table = lake.create("t", [rows(0)])
    given = {"partitioning": ["kind"], "sorted_by": ["id"], "write.delete.mode": "copy-on-write", "format_version": "3"}
    lake.change(TablePropertiesChange("db", "t", given))
    log = len(table.metadata.metadata_log)
    found = lake.table("t").metadata
    assert len(found.metadata_log) == log + 1
    assert (found.format_version, found.default_spec_id, found.default_sort_order_id) == (3, 1, 1)
    assert found.properties["write.delete.mode"] == "copy-on-write"
    set_properties(lake, partitioning=["kind", "day(at)"])
    assert [field.name for field in lake.table("t").spec().fields] == ["kind", "at_day"]


def test_a_default_is_what_a_new_table_has(lake: Any) -> None:
    given = {"partitioning": ["kind"], "sorted_by": ["id"], "write.delete.mode": "copy-on-write"}
    more = {"commit_retries": 9, "write.format.default": "ORC", "write.target-file-size-bytes": 1 << 20}
    table = lake.create("t", [rows(0)])
    set_properties(lake, **given, **more)
    set_properties(lake, **dict.fromkeys([*given, *more]))
    table.refresh()
    assert (len(table.spec().fields), len(table.sort_order().fields)) == (0, 0)
    assert table.properties["write.delete.mode"] == "merge-on-read"
    assert table.properties["write.format.default"] == "parquet"
    assert not {"commit.retry.num-retries", "write.target-file-size-bytes"} & table.properties.keys()
    before = table.metadata_location
    set_properties(lake, commit_retries=None)
    assert lake.table("t").metadata_location == before, "what is not there needs no commit"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partitioning": ["nobody"]}, "Column not found: nobody"),
        ({"partitioning": ["bucket(id)"]}, "Invalid partition field declaration"),
        ({"partitioning": ["kind", "kind"]}, "Partition field is given twice"),
        ({"partitioning": ["day(kind)"]}, "Unable to partition by"),
        ({"sorted_by": ["nobody"]}, "Sorted-by column not found"),
        ({"format__version": "1"}, "Cannot downgrade v2 table to v1"),
        ({"format__version": "9"}, "Invalid value for table property 'format-version'"),
        ({"location": "file:///tmp/x"}, "Updating property location is not supported"),
        ({"partitioning": ["kind"], "write.delete.mode": "never"}, "Invalid value for table property"),
    ],
)
def test_what_a_table_cannot_have_changes_nothing(lake: Any, given: dict[str, Any], message: str) -> None:
    table = lake.create("t", [rows(0)])
    with pytest.raises(ProcessionError, match=message) as failure:
        set_properties(lake, **given)
    assert failure.value.code is ErrorCode.INVALID_TABLE_PROPERTY
    assert lake.table("t").metadata_location == table.metadata_location


def test_a_name_that_a_column_has_is_refused(lake: Any) -> None:
    lake.create("t", [rows(0).append_column("at_day", pa.array([1] * 20, pa.int64()))])
    with pytest.raises(ProcessionError, match="at_day"):
        set_properties(lake, partitioning=["day(at)"])


def test_a_lost_race_is_worked_out_anew(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else changes the spec between reading and committing."""
    table = lake.create("t", [rows(0)])
    commit, raced = metadata_changes.commit_once, []

    def late(*given: Any) -> None:
        if not raced:
            raced.append(1)
            with lake.table("t").update_spec() as update:
                update.add_field("kind", IdentityTransform(), "kind")
        commit(*given)

    monkeypatch.setattr(metadata_changes, "commit_once", late)
    set_properties(lake, partitioning=["kind", "bucket(id, 4)"])
    assert raced
    assert [(f.name, f.field_id) for f in table.refresh().spec().fields] == [("kind", 1000), ("id_bucket", 1001)]


def test_a_race_that_is_always_lost_is_a_conflict(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [rows(0)], properties={"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"})

    def lost(*_: Any) -> None:
        raise CommitFailedException("somebody was faster")

    monkeypatch.setattr(metadata_changes, "commit_once", lost)
    with pytest.raises(ProcessionError) as failure:
        set_properties(lake, partitioning=["kind"])
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT

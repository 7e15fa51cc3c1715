"""Iceberg's metadata tables: names, types and rows, beside PyIceberg's own inspection of the same table."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.typedef import Record

from coordinator.planning.plan_statement import plan_statement
from coordinator.security.current_session import acting_for
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableScanNode
from shared.spi.relation import RowsRelation
from shared.spi.session import Session
from tests.iceberg.test_fetch_rows import NoCheckers, catalogs

MOMENT = dt.datetime(2024, 5, 17, 11, 30, 1, 500_000)


def part(start: int, label: str) -> pa.Table:
    ids = range(start, start + 3)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "p": [label] * 3,
            "d": pa.array([dt.date(2024, 1, 1 + i % 28) for i in ids]),
            "t": pa.array([MOMENT + dt.timedelta(days=i) for i in ids], pa.timestamp("us")),
            "m": pa.array([Decimal(i).scaleb(-2) for i in ids], pa.decimal128(9, 2)),
            "x": pa.array([float(i) if i % 2 else None for i in ids]),
        }
    )


@pytest.fixture
def table(lake: Any) -> Any:
    """Two appends and a delete, partitioned by ``p`` and the day of ``t``."""
    schema = part(0, "a").schema
    made = lake.other.create_table("db.t", schema=schema, properties={"comment": "of a test"})
    with made.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
        update.add_field("t", DayTransform(), "t_day")
    made.append(part(0, "a"))
    made.append(part(100, "b"))
    made.manage_snapshots().create_tag(made.current_snapshot().snapshot_id, "kept").commit()
    made.delete("id = 1")
    return lake.table("t")


def described(lake: Any, name: str) -> list[tuple[str, str]]:
    metadata = lake.connector.table("db", name)
    assert metadata is not None
    return [(column.name, column.type) for column in metadata.columns]


def read(lake: Any, name: str) -> list[dict[str, Any]]:
    """The whole metadata table as an engine reads it."""
    rows: list[dict[str, Any]] = read_columns(lake, name).to_pylist(maps_as_pydicts="strict")
    return rows


def read_columns(lake: Any, name: str) -> pa.Table:
    """The same as Arrow has it, which knows more years than Python."""
    metadata = lake.connector.table("db", name)
    assert metadata is not None
    assert metadata.handle.connectorId == "$system@lab"
    assignments = {f"{c.name}<{c.type}>": c.handle for c in metadata.columns}
    scan = TableScanNode(id="0", table=metadata.handle, outputVariables=(), assignments=assignments)
    relation = lake.connector.relation(scan)
    assert isinstance(relation, RowsRelation)
    return pa.table(lake.connector.read(relation))


def test_changelog_is_what_snapshots_differ_by(lake: Any, table: Any) -> None:
    """Inserted less deleted rows of each snapshot, beside PyIceberg's scans of the snapshot and of the one before."""
    assert described(lake, "t$changelog")[:3] == [
        ("operation", "varchar"),
        ("ordinal", "integer"),
        ("snapshotid", "bigint"),
    ]
    line = [snapshot.snapshot_id for snapshot in table.metadata.snapshots]
    told = read(lake, "t$changelog")
    assert [row["ordinal"] for row in told] == sorted(row["ordinal"] for row in told)
    assert {row["snapshotid"] for row in told} == set(line[1:])
    for before, snapshot in pairwise(line):
        change: Counter[str] = Counter()
        for row in told:
            if row["snapshotid"] == snapshot:
                change[repr(row["rowdata"])] += 1 if row["operation"] == "INSERT" else -1
        rows = [Counter(map(repr, table.scan(snapshot_id=s).to_arrow().to_pylist())) for s in (snapshot, before)]
        rows[0].subtract(rows[1])
        assert {row: n for row, n in change.items() if n} == {row: n for row, n in rows[0].items() if n}
    assert {row["snapshotid"] for row in read(lake, f"t@{line[1]}$changelog")} == set(line[2:])
    assert {row["snapshotid"] for row in read(lake, f"t@{line[0]}$changelog@{line[1]}")} == {line[1]}
    with pytest.raises(ProcessionError, match=r"Invalid snapshot \[1\] for table: t"):
        read(lake, "t@1$changelog")


def test_columns_are_prestos(lake: Any, table: Any) -> None:
    """As Presto 0.296 plans them (``orders$snapshots`` in the captured fragments) and documents them."""
    assert described(lake, "t$snapshots") == [
        ("committed_at", "timestamp with time zone"),
        ("snapshot_id", "bigint"),
        ("parent_id", "bigint"),
        ("operation", "varchar"),
        ("manifest_list", "varchar"),
        ("summary", "map(varchar,varchar)"),
    ]
    assert [name for name, _ in described(lake, "t$files")][:5] == [
        "content",
        "file_path",
        "file_format",
        "record_count",
        "file_size_in_bytes",
    ]
    assert dict(described(lake, "t$manifests"))["partitions"] == (
        "array(row(contains_null boolean,lower_bound varchar,upper_bound varchar))"
    )
    assert described(lake, "t$partitions")[:6] == [
        ("p", "varchar"),
        ("t_day", "date"),
        ("row_count", "bigint"),
        ("file_count", "bigint"),
        ("total_size", "bigint"),
        ("id", "row(min bigint,max bigint,null_count bigint)"),
    ]


def test_snapshots_history_and_refs(lake: Any, table: Any) -> None:
    ours, theirs = read(lake, "t$snapshots"), table.inspect.snapshots().to_pylist()
    assert len(ours) == 3
    for row, other in zip(ours, theirs, strict=True):
        assert row.pop("committed_at").replace(tzinfo=None) == other.pop("committed_at")
        assert row.pop("summary") == dict(other.pop("summary"))
        assert row == other
    ours, theirs = read(lake, "t$history"), table.inspect.history().to_pylist()
    assert [(r["snapshot_id"], r["parent_id"], r["is_current_ancestor"]) for r in ours] == [
        (r["snapshot_id"], r["parent_id"], r["is_current_ancestor"]) for r in theirs
    ]
    refs = {row["name"]: row for row in read(lake, "t$refs")}
    assert {name: (row["type"], row["snapshot_id"]) for name, row in refs.items()} == {
        name: (ref.snapshot_ref_type.value.upper(), ref.snapshot_id) for name, ref in table.refs().items()
    }
    assert read(lake, "t$properties") == [{"key": k, "value": v} for k, v in table.properties.items()]
    log = read(lake, "t$metadata_log_entries")
    theirs = table.inspect.metadata_log_entries().to_pylist()
    assert [(r["file"], r["latest_snapshot_id"], r["latest_schema_id"]) for r in log] == [
        (r["file"], r["latest_snapshot_id"], r["latest_schema_id"]) for r in theirs
    ]


def test_files_and_manifests(lake: Any, table: Any) -> None:
    theirs = {row["file_path"]: row for row in table.inspect.data_files().to_pylist()}
    ours = read(lake, "t$files")
    assert {row["file_path"] for row in ours} == set(theirs)
    for row in ours:
        other = theirs[row["file_path"]]
        for name in ("content", "file_format", "record_count", "file_size_in_bytes"):
            assert row[name] == other[name]
        assert row["value_counts"] == dict(other["value_counts"])
        assert row["null_value_counts"] == dict(other["null_value_counts"])
        metrics = other["readable_metrics"]
        low = {name: metrics[name]["lower_bound"] for name in ("id", "p", "d", "t", "m")}
        assert [row["lower_bounds"][i] for i in (1, 2, 3, 4, 5)] == [
            str(low["id"]),
            low["p"],
            low["d"].isoformat(),
            low["t"].isoformat(),
            str(low["m"]),
        ]
    manifests = {row["path"]: row for row in table.inspect.manifests().to_pylist()}
    for row in read(lake, "t$manifests"):
        other = manifests.pop(row["path"])
        assert row["length"] == other["length"]
        assert row["added_data_files_count"] == other["added_data_files_count"]
        assert row["deleted_data_files_count"] == other["deleted_data_files_count"]
        assert [p["lower_bound"] for p in row["partitions"]] == [p["lower_bound"] for p in other["partition_summaries"]]
    assert not manifests


def test_partitions(lake: Any, table: Any) -> None:
    theirs = {(row["partition"]["p"], row["partition"]["t_day"]): row for row in table.inspect.partitions().to_pylist()}
    ours = read(lake, "t$partitions")
    assert len(ours) == len(theirs) == 5
    rows = table.scan().to_arrow().to_pylist()
    for row in ours:
        other = theirs[row["p"], row["t_day"]]
        assert (row["row_count"], row["file_count"]) == (other["record_count"], other["file_count"])
        inside = [r for r in rows if r["p"] == row["p"] and r["t"].date() == row["t_day"]]
        for column in ("id", "d", "t", "m"):
            values = [r[column] for r in inside]
            assert row[column] == {"min": min(values), "max": max(values), "null_count": 0}
        known = [r["x"] for r in inside if r["x"] is not None]
        assert row["x"]["null_count"] == len(inside) - len(known)
        assert row["x"]["min"] == min(known, default=None)
    assert sum(row["total_size"] for row in ours) == sum(row["file_size_in_bytes"] for row in read(lake, "t$files"))


def as_trino(lake: Any, name: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    with acting_for(Session(user="test", protocol="Trino")):
        return dict(described(lake, name)), read(lake, name)


def test_partitions_for_trinos_clients(lake: Any, table: Any) -> None:
    """The shape of Trino's own table; values beside those of Presto's shape and PyIceberg's partitions."""
    columns, rows = as_trino(lake, "t$partitions")
    assert list(columns) == ["partition", "record_count", "file_count", "total_size", "data"]
    assert columns["partition"] == "row(p varchar,t_day date)"
    assert columns["data"].startswith("row(id row(min bigint,max bigint,null_count bigint,nan_count bigint),")
    assert {columns[name] for name in ("record_count", "file_count", "total_size")} == {"bigint"}
    theirs = {tuple(row["partition"].values()): row for row in table.inspect.partitions().to_pylist()}
    prestos = {(row["p"], row["t_day"]): row for row in read(lake, "t$partitions")}
    assert len(rows) == len(theirs) == 5
    for row in rows:
        key = row["partition"]["p"], row["partition"]["t_day"]
        assert (row["record_count"], row["file_count"]) == (theirs[key]["record_count"], theirs[key]["file_count"])
        assert row["total_size"] == prestos[key]["total_size"]
        for column, known in row["data"].items():
            del known["nan_count"]
            assert known == prestos[key][column]
        assert "p" not in row["data"]


def test_unpartitioned_tables_have_the_columns_by_which_trinos_dialect_knows_iceberg(lake: Any) -> None:
    """It calls anything else's columns an index."""
    lake.create("plain", [pa.table({"id": pa.array([1, 2], pa.int64()), "x": [1.5, float("nan")]})])
    columns, (row,) = as_trino(lake, "plain$partitions")
    assert list(columns) == ["partition", "record_count", "file_count", "total_size", "data"]
    assert columns["partition"].startswith("row(") and columns["data"].startswith("row(")
    assert (row["partition"], row["record_count"], row["file_count"]) == (None, 2, 1)
    assert row["data"]["id"] == {"min": 1, "max": 2, "null_count": 0, "nan_count": None}


def test_partitions_of_other_specs_and_dropped_columns_for_trino(lake: Any) -> None:
    made = lake.other.create_table("db.e", schema=part(0, "a").schema)
    for column, name in (("p", "p"), ("d", "d_same"), ("m", "Odd name")):
        with made.update_spec() as update:
            update.add_field(column, IdentityTransform(), name)
        made.append(part(0, "a").slice(0, 1))
    with made.update_spec() as update:
        update.remove_field("d_same")
    columns, rows = as_trino(lake, "e$partitions")
    assert columns["partition"] == 'row(p varchar,d_same date,"Odd name" decimal(9,2))'
    first = dt.date(2024, 1, 1)
    found = {tuple(row["partition"].values()) for row in rows}
    assert found == {("a", None, None), ("a", first, None), ("a", first, Decimal("0.00"))}


def test_counts_that_cannot_be_are_null(lake: Any) -> None:
    """Negative ones and sums beyond a bigint, as only broken metadata have."""
    broken = lake.create("broken", [pa.table({"id": pa.array([1], pa.int64())})])
    for _ in range(2):
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{broken.location()}/data/none.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=2**62,
            file_size_in_bytes=2**62,
            column_sizes={1: -1, 99: 5},
            value_counts={1: -1},
            null_value_counts={1: -(2**62)},
        )
        file.spec_id = 0
        with broken.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(file)
    session = Session(user="test", catalog="lab", schema="db", properties={"engine": "EMBEDDED"})
    with pytest.raises(ProcessionError, match="more rows than any has"):  # they would be counted one by one
        plan_statement("SELECT count(*) FROM broken", session, catalogs(lake), NoCheckers())
    assert [row["column_sizes"] for row in read(lake, "broken$files")][:2] == [{1: None, 99: 5}] * 2
    (row,) = read(lake, "broken$partitions")
    assert (row["row_count"], row["file_count"], row["total_size"], row["id"]["null_count"]) == (None, 3, None, None)


def test_a_partition_field_that_older_files_lack_is_null(lake: Any) -> None:
    made = lake.other.create_table("db.e", schema=part(0, "a").schema)
    with made.update_spec() as update:
        update.add_field("p", IdentityTransform(), "p")
    made.append(part(0, "a"))
    with made.update_spec() as update:
        update.add_field("d", IdentityTransform(), "d_same")
    made.append(part(10, "b"))
    assert {(row["p"], row["d_same"], row["row_count"]) for row in read(lake, "e$partitions")} == {
        ("a", None, 3),
        ("b", dt.date(2024, 1, 11), 1),
        ("b", dt.date(2024, 1, 12), 1),
        ("b", dt.date(2024, 1, 13), 1),
    }


def test_names_with_versions(lake: Any, table: Any) -> None:
    first = table.snapshots()[0].snapshot_id
    assert len(read(lake, f"t$files@{first}")) == len(read(lake, f"t@{first}$files")) == 3
    data = lake.connector.table("db", f"t@{first}")
    assert (data.snapshot_id, data.row_count) == (first, 3)
    assert lake.connector.table("db", "t$data").handle.connectorId == "lab"
    assert lake.connector.table("db", "t$nope") is None
    assert lake.connector.table("db", "nope$files") is None
    for name, code in (
        ("t$files@1", ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID),
        ("t@1$files@2", ErrorCode.NOT_SUPPORTED),
        ("t$equality_deletes", ErrorCode.NOT_SUPPORTED),
    ):
        with pytest.raises(ProcessionError) as refused:
            lake.connector.table("db", name)
        assert refused.value.code is code


def test_a_table_without_snapshots(lake: Any) -> None:
    lake.other.create_table("db.empty", schema=part(0, "a").schema)
    for kind in ("snapshots", "history", "refs", "files", "manifests", "partitions"):
        assert read(lake, f"empty${kind}") == []
    assert len(read(lake, "empty$metadata_log_entries")) == 1

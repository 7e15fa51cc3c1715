"""Scans that a REST catalog's server plans: nobody here reads manifests, and the rows are those of the table."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import BucketTransform, IdentityTransform

from coordinator.connectors.iceberg import row_position
from coordinator.connectors.iceberg.rest import scan_planning
from coordinator.connectors.iceberg.scans import scan, snapshot_files
from coordinator.connectors.iceberg.statistics import column_ranges, columns, decoded_sizes
from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.embedded.engine import EmbeddedEngine
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from tests.iceberg.embedded_reader import Reader
from tests.iceberg.rest_catalog import serving
from tests.iceberg.rest_habits import Habits
from tests.iceberg.rest_plans import Planner
from tests.iceberg.test_carried_deletes import add_vector
from tests.iceberg.test_copying import values
from tests.iceberg.test_copying_version_three import append, create, live

DAY = datetime.date(2026, 1, 1)


def rows(start: int, count: int = 100) -> pa.Table:
    ids = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": pa.array([None if i < 100 else DAY + datetime.timedelta(days=i // 100) for i in ids], pa.date32()),
            "price": pa.array([Decimal(i) / 4 for i in ids], pa.decimal128(12, 2)),
            "seen": pa.array(
                [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=i) for i in ids], pa.timestamp("us")
            ),
            "name": [f"row {i}" for i in ids],
        }
    )


@contextmanager
def planned_by(lake: Any, engine: EmbeddedEngine, planner: Planner | None, **habits: Any) -> Iterator[Reader]:
    """Statements over the lake's tables through a server that plans their scans."""
    with serving(lake.other, Habits(plans=planner, **habits)) as address:
        reader = Reader(lake.uri, f"file://{lake.home}/wh", "lab", lake.home, engine)
        given = {
            "iceberg.catalog.type": "rest",
            "iceberg.rest.uri": address,
            "iceberg.journal.file": f"{lake.home}/rest.journal.db",
            "iceberg.allowed-locations": f"file://{lake.home}",
        }
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(given.items(), start=2)}
        reader.catalogs = Catalogs([CatalogConfig("lab", "iceberg", properties, lake.home)])
        yield reader


@pytest.fixture
def table(lake: Any, foreign: Any) -> pa.Table:
    """What lives of a table with two partition specs, and with position deletes."""
    made = lake.other.create_table("db.t", schema=rows(0).schema)
    made.append(rows(0))
    first = next(task.file for task in made.scan("id < 100").plan_files())
    foreign.delete_positions(made, {first.file_path: [3, 5]}, first.partition)
    with made.refresh().update_spec() as update:
        update.add_field("day", IdentityTransform(), "day")
        update.add_field("id", BucketTransform(2), "b")
    for start in (100, 200, 300):
        made.append(rows(start))
    return rows(0, 400).filter(pa.array([i not in (3, 5) for i in range(400)]))


@pytest.fixture
def no_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server alone reads them."""

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("manifests are read")

    for module in (snapshot_files, columns, column_ranges, decoded_sizes, row_position):
        monkeypatch.setattr(module, "read_live", refused)


def test_the_tables_own_manifests_are_read_without_a_server_that_plans(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, no_manifests: None
) -> None:
    """What the other tests rely on."""
    with (
        planned_by(lake, embedded_engine, None) as reader,
        pytest.raises(AssertionError, match="manifests are read"),
    ):
        reader.rows("SELECT id FROM t")


QUERIES = (
    "SELECT * FROM t",
    "SELECT count(*) FROM t",
    "SELECT id, name FROM t WHERE id = 250",
    "SELECT * FROM t WHERE day = DATE '2026-01-03'",
    "SELECT id FROM t WHERE day IS NULL",
    "SELECT id FROM t WHERE day IN (DATE '2026-01-02', DATE '2026-01-04') AND price > 40.25",
    "SELECT count(*), sum(price) FROM t WHERE seen >= TIMESTAMP '2026-01-10 00:00:00' OR name = 'row 7'",
    "SELECT id FROM t WHERE name < 'row 2' AND id > 90",
)


@pytest.mark.parametrize(
    "planner",
    [Planner(), Planner(late=3, paged=1), Planner(paged=2, chooses=False)],
    ids=["at once", "late, in pages", "all files"],
)
def test_rows_are_those_of_the_table(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, no_manifests: None, planner: Planner
) -> None:
    t = table  # noqa: F841 - DuckDB reads it by its name
    with planned_by(lake, embedded_engine, planner) as reader:
        for query in QUERIES:
            found = reader.rows(query)
            expected = duckdb.sql(query).fetchall()
            assert sorted(map(repr, (tuple(row.values()) for row in found.to_pylist()))) == sorted(
                map(repr, expected)
            ), query
    assert len(planner.requests) >= len(QUERIES)


def test_the_server_chooses_by_what_is_asked(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, no_manifests: None
) -> None:
    planner = Planner()
    with planned_by(lake, embedded_engine, planner) as reader:
        work = reader.work("SELECT name FROM t WHERE day = DATE '2026-01-03' AND id <> 5", engine="embedded")
        files = reader.scan(work).rows
    assert files == 100, "one file of four"
    asked = planner.requests[-1]
    assert asked | {"select": sorted(asked["select"])} == {
        "snapshot-id": lake.table("t").current_snapshot().snapshot_id,
        "case-sensitive": True,
        "use-snapshot-schema": False,
        "filter": {
            "type": "and",
            "left": {"type": "eq", "term": "day", "value": "2026-01-03"},
            "right": {
                "type": "or",
                "left": {"type": "lt", "term": "id", "value": 5},
                "right": {"type": "gt", "term": "id", "value": 5},
            },
        },
        "select": ["day", "id", "name"],
    }


def test_equality_deletes_are_applied(
    lake: Any, foreign: Any, embedded_engine: EmbeddedEngine, no_manifests: None
) -> None:
    made = lake.create("t", [rows(0), rows(100)])
    foreign.delete_equal(made, pa.table({"id": pa.array([7, 150], pa.int64())}))
    lake.table("t").append(rows(7, 1))
    with planned_by(lake, embedded_engine, Planner(paged=1)) as reader:
        found = reader.rows("SELECT id FROM t")["id"].to_pylist()
        counted = reader.rows("SELECT count(*) FROM t").column(0).to_pylist()
    assert sorted(found) == [i for i in range(200) if i != 150]
    assert counted == [199]


def test_vectors_and_row_ids_of_version_three(lake: Any, embedded_engine: EmbeddedEngine, no_manifests: None) -> None:
    made = create(lake)
    append(made, values(0, 300), values(300, 200))
    chosen = next(file for file in live(lake).data if file.file.record_count == 300)
    add_vector(lake.connector.tables_of.open("db", "t"), chosen, [7, 9])
    with planned_by(lake, embedded_engine, Planner(chooses=False)) as reader:
        found = reader.rows("SELECT id, _row_id FROM t").to_pylist()
        # What the server does not tell is Spark's to read.
        with pytest.raises(
            ProcessionError, match="plans its scans and tells nothing for _last_updated_sequence_number"
        ):
            reader.rows("SELECT _last_updated_sequence_number FROM t")
    stored = {file.first_row_id: pq.read_table(file.path.removeprefix("file://"))["id"] for file in live(lake).data}
    rows = {first + place: value for first, ids in stored.items() for place, value in enumerate(ids.to_pylist())}
    left = {number: value for number, value in rows.items() if number - chosen.first_row_id not in (7, 9)}
    assert {number: key for key, number in (tuple(row.values()) for row in found)} == left
    assert len(found) == 498


def test_time_travel_and_renamed_columns(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, no_manifests: None
) -> None:
    """The names of now are sent, by which the server knows the columns."""
    first = lake.table("t").history()[0].snapshot_id
    with lake.table("t").update_schema() as update:
        update.rename_column("name", "title")
    planner = Planner()
    with planned_by(lake, embedded_engine, planner) as reader:
        now = reader.rows("SELECT title FROM t WHERE id = 250 AND title >= 'row 2'")
        then = reader.rows(f"SELECT count(*) FROM t FOR VERSION AS OF {first} WHERE name >= 'row 2'")
    assert now["title"].to_pylist() == ["row 250"]
    assert then.column(0).to_pylist() == [sum(f"row {i}" >= "row 2" for i in range(100))]
    assert {"title"} < set(planner.requests[0]["select"])
    assert "'title'" in str(planner.requests[-1]["filter"])


@pytest.mark.parametrize(
    ("planner", "message"),
    [
        (Planner(ends="failed"), "the server cannot plan the scan: no luck"),
        (Planner(ends="cancelled"), "the server has cancelled the planning"),
        (Planner(ends="cancelled", late=2), "the server has cancelled the planning"),
    ],
)
def test_a_server_that_fails_says_why(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, planner: Planner, message: str
) -> None:
    with (
        planned_by(lake, embedded_engine, planner) as reader,
        pytest.raises(ProcessionError, match=message) as failure,
    ):
        reader.rows("SELECT id FROM t")
    assert failure.value.code is ErrorCode.ICEBERG_FILESYSTEM_ERROR


def test_a_plan_that_takes_too_long_is_cancelled_and_left_to_spark(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_planning, "_MOST_SECONDS", 0.2)
    planner = Planner(late=10_000)
    with (
        planned_by(lake, embedded_engine, planner) as reader,
        pytest.raises(ProcessionError, match="did not plan the scan within"),
    ):
        reader.rows("SELECT id FROM t")  # which insists on the embedded engine
    assert planner.cancelled == [f"plan {number}" for number in range(1, len(planner.requests) + 1)]


def test_what_a_server_may_not_say(lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine) -> None:
    """Its words are a stranger's: files of nowhere, specs that there are not, references past the end."""

    def ends(change: Any) -> ProcessionError:
        planner = Planner()
        honest = planner._written

        def lying(*given: Any) -> Any:
            pages = honest(*given)
            change(pages[0])
            return pages

        planner._written = lying  # type: ignore[method-assign]
        with planned_by(lake, embedded_engine, planner) as reader, pytest.raises(ProcessionError) as failure:
            reader.rows("SELECT id FROM t")
        return failure.value

    def of_first(**given: Any) -> Any:
        return lambda page: page["file-scan-tasks"][0]["data-file"].update(
            {k.replace("_", "-"): v for k, v in given.items()}
        )

    assert "which the table does not have" in ends(of_first(spec_id=77)).message
    assert ends(of_first(record_count=-1)).code is ErrorCode.ICEBERG_INVALID_METADATA
    assert ends(of_first(content="position-deletes")).code is ErrorCode.ICEBERG_INVALID_METADATA
    assert ends(of_first(partition=[1, 2, 3, 4])).code is ErrorCode.ICEBERG_INVALID_METADATA
    assert "outside of the catalog's locations" in ends(of_first(file_path="file:///etc/passwd")).message
    beyond = ends(lambda page: page["file-scan-tasks"][0].update({"delete-file-references": [99]}))
    assert beyond.code is ErrorCode.ICEBERG_INVALID_METADATA
    assert ends(lambda page: page.update({"file-scan-tasks": "many"})).code is ErrorCode.ICEBERG_INVALID_METADATA


def test_plans_with_many_files_are_left_to_spark(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "MOST_FILES", 2)
    planner = Planner(paged=1)
    with (
        planned_by(lake, embedded_engine, planner) as reader,
        pytest.raises(ProcessionError, match="it has many files"),
    ):
        reader.rows("SELECT id FROM t")
    assert planner.cancelled


def test_keys_that_come_with_a_plan_open_its_files(
    lake: Any, table: pa.Table, embedded_engine: EmbeddedEngine, no_manifests: None
) -> None:
    """And are renewed as the plan's, where the server has a path for that."""
    keys = {"s3.access-key-id": "of-the-plan", "s3.secret-access-key": "s", "s3.session-token": "t"}
    ends = {"s3.session-token-expires-at-ms": "1000"}
    planner = Planner(credentials=[{"prefix": "s3://bucket/", "config": keys | ends}])
    renewed = [{"prefix": "s3://bucket/", "config": keys | {"s3.access-key-id": "newer"}}]
    with planned_by(lake, embedded_engine, planner, vend=lambda _table: ({}, renewed)) as reader:
        scanned = reader.scan(reader.work("SELECT id FROM t", engine="embedded"))
        storage = dict(scanned.task.storage)
    assert [value for name, value in storage.items() if name.endswith("s3.access-key-id")] == ["newer"]

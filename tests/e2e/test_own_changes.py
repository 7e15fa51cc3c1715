"""DELETE, UPDATE and MERGE of tables with times of day, which Spark does not load: as shipped, with the checker.

The same statements in DuckDB over the same rows are the oracle; what is in the tables is read by PyIceberg too.
"""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import prestodb
import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform

from coordinator.dispatch.races import MOST_RACES
from tests.e2e.service import Service
from tests.e2e.test_row_changes import POSITIONAL, STATEMENTS
from tests.e2e.test_stored_types import failure

pytestmark = [pytest.mark.spark, pytest.mark.slow]
UTC = datetime.UTC
_APPENDS = 16
"""However slow the machine is, so many can make four statements give up."""
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(12, 2)),
        ("tod", pa.time64("us")),
    ]
)
OF_TIMES = (
    "UPDATE {t} SET tod = NULL WHERE tod > TIME '00:20:00'",
    "MERGE INTO {t} AS x USING (SELECT * FROM (VALUES (TIME '00:10:00', 'ten'), (TIME '23:00:00', 'late')) v (tod, s)) "
    "AS o ON x.tod = o.tod WHEN MATCHED THEN UPDATE SET s = o.s, tod = TIME '04:05:06' "
    "WHEN NOT MATCHED THEN INSERT (id, s, tod) VALUES (2000, o.s, o.tod)",
    "DELETE FROM {t} WHERE tod = TIME '04:05:06'",
)


def make(service: Service, name: str, version: int, *, partitioned: bool = True) -> Table:
    ids = range(1, 101)
    rows = [{"id": n, "p": n % 4, "s": f"row {n}", "d": Decimal(n), "tod": datetime.time(n // 60, n % 60)} for n in ids]
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    table = lake.create_table(f"db.{name}", schema=SCHEMA, properties={"format-version": str(min(version, 2))})
    if partitioned:
        with table.update_spec() as change:
            change.add_identity("p")
    if version == 3:  # which PyIceberg does not write
        service.execute(f"CALL iceberg.system.upgrade_format_version('db', '{name}', 3)")
        values = (f"({r['id']}, {r['p']}, '{r['s']}', {r['d']}, TIME '{r['tod']}')" for r in rows)
        service.execute(f"INSERT INTO iceberg.db.{name} VALUES {', '.join(values)}")
        return table.refresh()
    for part in (0, 1):
        table.append(pa.Table.from_pylist(rows[part::2], schema=SCHEMA))
    return table


def content(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    return found


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT n AS id, n % 4 AS p, 'row ' || n AS s, n::decimal(12, 2) AS d, "
            "make_time(n // 60, n % 60, 0) AS tod FROM range(1, 101) r (n)"
        )
        yield connection


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_as_in_duckdb(service: Service, duck: duckdb.DuckDBPyConnection, version: int) -> None:
    name = f"changed_times_{version}"
    table = make(service, name, version)
    for statement in (*STATEMENTS[:7], *POSITIONAL, *STATEMENTS[7:9], *OF_TIMES, *STATEMENTS[9:]):
        ours = service.execute(statement.format(t=f"iceberg.db.{name}"))
        assert ours == [[duck.execute(statement.format(t="t")).fetchall()[0][0]]], statement
        wanted = duck.sql("SELECT * FROM t ORDER BY id").to_arrow_table().cast(SCHEMA).to_pylist()
        assert content(table) == wanted, statement
    shown = service.execute(f"SELECT id, CAST(tod AS varchar) FROM iceberg.db.{name} ORDER BY id")
    assert [row[0] for row in shown] == [row["id"] for row in content(table)]


def test_what_is_not_assigned_stays_to_the_last_bit(service: Service) -> None:
    """Presto shows milliseconds; the table has more."""
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    columns: dict[str, tuple[pa.DataType, Any]] = {
        "id": (pa.int64(), 1),
        "at": (pa.time64("us"), datetime.time(1, 2, 3, 123456)),
        "moment": (pa.timestamp("us"), moment),
        "instant": (pa.timestamp("us", "UTC"), moment.replace(tzinfo=UTC)),
        "ratio": (pa.float32(), 1.1),
        "price": (pa.decimal128(38, 10), Decimal("1234567890123456789012345678.0123456789")),
        "bytes": (pa.binary(), b"\0\xff"),
        "code": (pa.binary(3), b"abc"),
        "key": (pa.uuid(), uuid.UUID(int=7)),
        "nested": (
            pa.struct([("a", pa.time64("us")), ("t", pa.timestamp("us"))]),
            {"a": datetime.time(1, 2, 3, 123456), "t": moment},
        ),
        "times": (pa.list_(pa.time64("us")), [datetime.time(23, 59, 59, 999999), None]),
        "named": (pa.map_(pa.string(), pa.timestamp("us")), [("k", datetime.datetime.max)]),
        "day": (pa.date32(), datetime.date(1, 1, 1)),
        "text": (pa.string(), "x\0y"),
    }
    schema = pa.schema([(name, type_) for name, (type_, _) in columns.items()])
    first = {name: value.bytes if name == "key" else value for name, (_, value) in columns.items()}
    storage = pa.schema([f.with_type(pa.binary(16)) if f.name == "key" else f for f in schema])
    rows = pa.Table.from_pylist([first, {**dict.fromkeys(first), "id": 2}], schema=storage).cast(schema)
    table = service.create("changed_bits", [rows])
    before = content(table)
    assert service.execute("UPDATE iceberg.db.changed_bits SET id = id + 1000") == [[2]]
    merge = "MERGE INTO iceberg.db.changed_bits t USING (VALUES 1001, 1002) s (i) ON t.id = s.i"
    assert service.execute(f"{merge} WHEN MATCHED THEN UPDATE SET id = t.id - 1000") == [[2]]
    assert content(table) == before
    assert len(table.metadata.snapshots) == 3


def test_updated_rows_keep_their_ids(service: Service) -> None:
    """Row lineage of version 3, also where a row was moved by an update before."""
    make(service, "changed_lineage", 3)
    name = "iceberg.db.changed_lineage"
    query = f"SELECT id % 1000, _row_id FROM {name} WHERE id NOT IN (7, 3000) ORDER BY 1"
    before = service.execute(query)
    service.execute(f"UPDATE {name} SET id = id + 1000 WHERE p = 1")
    first = service.execute(f"SELECT DISTINCT _last_updated_sequence_number FROM {name} WHERE id > 1000")
    service.execute(f"UPDATE {name} SET s = 'again' WHERE id % 1000 < 50")
    service.execute(
        f"MERGE INTO {name} t USING (VALUES 5, 6, 7, 3000) s (i) ON t.id % 1000 = s.i "
        "WHEN MATCHED AND s.i = 7 THEN DELETE WHEN MATCHED THEN UPDATE SET d = 0 "
        "WHEN NOT MATCHED THEN INSERT (id, tod) VALUES (s.i, TIME '03:00:00')"
    )
    assert service.execute(query) == [row for row in before if row[0] != 7]
    numbers = service.execute(f"SELECT count(*), count(DISTINCT _row_id) FROM {name}")
    assert (first, numbers) == ([[2]], [[100, 100]])


def test_errors_leave_nothing(service: Service) -> None:
    table = make(service, "changed_errors", 2)
    name = "iceberg.db.changed_errors"
    twice = f"MERGE INTO {name} t USING (VALUES 3, 3) s (i) ON t.id = s.i WHEN MATCHED THEN UPDATE SET p = 1"
    said = "MERGE_TARGET_ROW_MULTIPLE_MATCHES: One MERGE target table row matched more than one source row"
    assert failure(service, twice) == said
    assert failure(service, f"UPDATE {name} SET p = 1 / (id - 50)") == "DIVISION_BY_ZERO: / by zero"
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.update_column("id", required=True)
    said = "CONSTRAINT_VIOLATION: NULL value not allowed for NOT NULL column: id"
    assert failure(service, f"UPDATE {name} SET id = NULL WHERE id = 4") == said
    assert service.execute(f"DELETE FROM {name} WHERE id > 1000 AND s LIKE 'x%'") == [[0]]
    assert len(table.refresh().metadata.snapshots) == 2
    assert len(content(table)) == 100
    old = make(service, "changed_old", 1)
    said = failure(service, "DELETE FROM iceberg.db.changed_old WHERE id = 4")
    assert said == (
        "NOT_SUPPORTED: Cannot delete rows of table db.changed_old: format version 1 has no deletes of rows; "
        "CALL iceberg.system.upgrade_format_version first"
    )
    assert len(content(old)) == 100


def test_branches_and_staged_snapshots(service: Service) -> None:
    table = make(service, "changed_branched", 2, partitioned=False)
    name = "iceberg.db.changed_branched"
    service.execute("CALL iceberg.system.create_branch('db', 'changed_branched', 'audit')")
    of_branch = 'iceberg.db."changed_branched.branch_audit"'
    assert service.execute(f"DELETE FROM {of_branch} WHERE id % 2 = 0") == [[50]]
    assert service.execute(f"UPDATE {of_branch} SET tod = NULL WHERE id < 10") == [[5]]
    assert service.execute(f"SELECT count(*), count(tod) FROM {of_branch}") == [[50, 45]]
    assert service.execute(f"SELECT count(*), count(tod) FROM {name}") == [[100, 100]]
    with table.transaction() as change:
        change.set_properties({"write.wap.enabled": "true"})
    staged = {"iceberg.wap_id": "friday"}
    assert service.execute(f"UPDATE {name} SET tod = NULL WHERE id = 1", session_properties=staged) == [[1]]
    assert service.execute(f"SELECT count(tod) FROM {name}") == [[100]]
    service.execute("CALL iceberg.system.publish_changes('db', 'changed_branched', 'friday')")
    assert service.execute(f"SELECT count(tod), count(*) FROM {name}") == [[99, 100]]


def test_compaction_applies_what_was_deleted(service: Service) -> None:
    make(service, "changed_packed", 3)
    name = "iceberg.db.changed_packed"
    service.execute(f"DELETE FROM {name} WHERE id % 3 = 0")
    service.execute(f"DELETE FROM {name} WHERE id % 5 = 0")
    service.execute(f"UPDATE {name} SET id = id WHERE id % 7 = 0")
    before = service.execute(f"SELECT id, tod, _row_id FROM {name} ORDER BY id")
    options = "map(ARRAY['rewrite-all'], ARRAY['true'])"
    call = f"rewrite_data_files(schema => 'db', table_name => 'changed_packed', options => {options})"
    service.execute(f"CALL iceberg.system.{call}")
    assert service.execute(f"SELECT id, tod, _row_id FROM {name} ORDER BY id") == before
    assert len(before) == len([n for n in range(1, 101) if n % 3 and n % 5])


def test_buckets_and_an_old_spec(service: Service) -> None:
    table = make(service, "changed_specs", 2)
    with table.update_spec() as change:
        change.remove_field("p")
        change.add_field("id", BucketTransform(3), "bucket")
    name = "iceberg.db.changed_specs"
    assert service.execute(f"UPDATE {name} SET s = 'new' WHERE id <= 50") == [[50]]
    assert service.execute(f"DELETE FROM {name} WHERE tod < TIME '00:10:00'") == [[9]]
    rows = content(table)
    assert [row["id"] for row in rows] == list(range(10, 101))
    assert {row["s"] for row in rows if row["id"] <= 50} == {"new"}
    assert service.execute(f"SELECT count(*) FROM {name} WHERE id = 40") == [[1]]


def test_statements_that_lose_to_others_run_again(service: Service) -> None:
    """Appends come all the time, and each is a conflict of an update that read before it: no statistics tell that none
    of its rows might have been changed."""
    table = make(service, "changed_beside", 2)
    over = threading.Event()
    appended = [0]

    def append() -> None:
        while not over.is_set() and appended[0] < _APPENDS:
            row = {"id": 1000 + appended[0], "p": 9, "s": "new", "d": Decimal(0), "tod": datetime.time(5)}
            try:
                service.lake().load_table("db.changed_beside").append(pa.Table.from_pylist([row], schema=SCHEMA))
                appended[0] += 1
            except CommitFailedException:
                pass
            over.wait(0.4)

    thread = threading.Thread(target=append)
    thread.start()
    name, landed = "iceberg.db.changed_beside", 0
    try:
        for number in range(1, 13):
            try:
                update = f"UPDATE {name} SET s = s || '!' WHERE mod(id, 100000) = {number}"
                assert service.execute(update) == [[1]]
                landed += 1
            except prestodb.exceptions.PrestoQueryError as lost:
                assert lost.error_name == "TRANSACTION_CONFLICT"
    finally:
        over.set()
        thread.join()
    rows = content(table)
    assert [row["id"] for row in rows] == [*range(1, 101), *range(1000, 1000 + appended[0])]
    assert sum(row["s"].endswith("!") for row in rows) == landed
    assert landed >= 12 - _APPENDS // (1 + MOST_RACES), "each that gave up met so many appends of its own"

"""expire_snapshots beside Iceberg's own on the same state of tables that Iceberg Java made: answers, files, rows."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.properties import Property
from tests.execution import FakeExecution
from tests.iceberg.java_tables import seen_by_spark
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAME = "expiring"
"""Not fx: a session of Spark keeps its catalogs by name."""
TABLES = some(
    ["v1_table", "v2_posdel_part", "v3_upgraded", "part_evolved"],
    [
        "v2_eqdel", "v3_dv", "refs", "stats", "v2_posdel", "v2_eqdel_part", "v2_mixed", "v3_dv_java", "v3_lineage",
        "v3_eqdel", "v3_default", "transforms", "nested", "evolved", "sorted", "fmt_avro", "fmt_orc", "ident_sorted",
    ],
    "a table of each version and one of five specs",
)  # fmt: skip


class Tables:
    """The unpacked tables under a catalog name of their own."""

    def __init__(self, lake: Any, engine: Any) -> None:
        self.lake, self.engine = lake, engine
        with sqlite3.connect(lake.home / "catalog.db") as database:
            for table in ("iceberg_tables", "iceberg_namespace_properties"):
                database.execute(f"UPDATE {table} SET catalog_name = ?", (NAME,))
        values = {"iceberg.catalog.uri": lake.uri, "iceberg.catalog.warehouse": "wh"}
        properties = {k: Property(k, v, Path("x.properties"), 2) for k, v in values.items()}
        lake.connector = IcebergConnector(NAME, properties)
        # Workers of Spark do not find relative paths: kernels run here, and statements in Spark.
        self.local, lake.workers = lake.workers, engine.workers(FakeExecution())

    def sql(self, text: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.engine.workers(FakeExecution()).run_sql(text)]

    def rows(self, name: str) -> Any:
        return pa.Table.from_batches(self.engine.run(f"SELECT * FROM {NAME}.fx.{name}", FakeExecution()))

    def location(self, name: str, new: str | None = None) -> str:
        """Where the table's metadata is; ``new`` sets it."""
        with sqlite3.connect(self.lake.home / "catalog.db") as database:
            if new is not None:
                database.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = ?", (new, name))
            query = "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?"
            return str(database.execute(query, (name,)).fetchone()[0])


@pytest.fixture(scope="module")
def tables(spark_engine: Any, java_lake: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    home = tmp_path_factory.mktemp("expiring")
    lake = java_lake(home)
    with seen_by_spark(spark_engine, home, NAME):
        yield Tables(lake, spark_engine)


def files(folder: Path) -> set[str]:
    """What is left, but for the metadata files that each call writes under a new name."""
    found = {str(file) for file in folder.rglob("*") if file.is_file()}
    return {name for name in found if not name.endswith((".metadata.json", ".crc"))}


@pytest.mark.parametrize("name", TABLES)
def test_answers_files_and_rows_are_icebergs(tables: Tables, java_rows: Any, tmp_path: Path, name: str) -> None:
    folder, kept = Path("wh/fx") / name, tmp_path / "kept"
    shutil.copytree(folder, kept)
    start = tables.location(name)
    moment = datetime.now(UTC) + timedelta(minutes=5)
    text = f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}+00:00'"
    sql = f"CALL {NAME}.system.expire_snapshots(table => '{NAME}.fx.{name}', older_than => {text}, retain_last => 1)"
    (theirs,) = tables.sql(sql)
    left, snapshots = files(folder), tables.sql(f"SELECT snapshot_id FROM {NAME}.fx.{name}.snapshots ORDER BY 1")
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    tables.location(name, start)
    asked = {"older_than": moment.replace(microsecond=0, tzinfo=None), "retain_last": 1}
    (ours,) = tables.lake.call("expire_snapshots", schema="fx", table_name=name, **asked).rows
    assert list(ours) == list(theirs.values())
    assert files(folder) == left
    assert tables.sql(f"SELECT snapshot_id FROM {NAME}.fx.{name}.snapshots ORDER BY 1") == snapshots
    data = tables.rows(name)
    assert java_rows.found(data) == java_rows.expected(tables.lake.home, name, data.schema)


VERSION_3 = some(
    ["v3_dv_java", "v3_eqdel"],
    ["v3_dv", "v3_lineage", "v3_upgraded", "v3_default"],
    "a table with vectors and one with equality deletes",
)
MAINTENANCE: dict[str, dict[str, Any]] = {
    "convert_equality_deletes": {},
    "rewrite_manifests": {},
    "remove_dangling_deletes": {},
    "expire_snapshots": {"retain_last": 1},
    "remove_orphan_files": {"dry_run": False},
}


@pytest.mark.parametrize("name", VERSION_3)
def test_version_3_after_all_maintenance_as_iceberg_java_reads_it(
    tables: Tables, java_rows: Any, monkeypatch: Any, name: str
) -> None:
    """One procedure after the other on one table: rows, row ids and sequence numbers stay, and Spark writes on."""
    lineage = f"SELECT _row_id, _last_updated_sequence_number, id FROM {NAME}.fx.{name} ORDER BY 1"
    before = tables.sql(lineage)
    monkeypatch.setattr(tables.lake, "workers", tables.local)
    later = (datetime.now(UTC) + timedelta(minutes=5)).replace(microsecond=0, tzinfo=None)
    for procedure, given in MAINTENANCE.items():
        aged = {"older_than": later} if procedure == "expire_snapshots" else {}
        tables.lake.call(procedure, schema="fx", table_name=name, **given, **aged)
        data = tables.rows(name)
        assert java_rows.found(data) == java_rows.expected(tables.lake.home, name, data.schema), procedure
        assert tables.sql(lineage) == before, procedure
    gone = next(row["id"] for row in before if row["id"] is not None)
    tables.sql(f"DELETE FROM {NAME}.fx.{name} WHERE id = {gone}")
    assert tables.sql(lineage) == [row for row in before if row["id"] != gone]


def test_files_of_old_specs_where_spark_looks_for_them(tables: Tables, java_rows: Any, monkeypatch: Any) -> None:
    """All five specs of the table to today's, then back to the first: rows stay, and Spark finds them by partition."""
    monkeypatch.setattr(tables.lake, "workers", tables.local)
    table = tables.lake.connector.tables_of.open("fx", "part_evolved")
    for spec in (table.spec().spec_id, 0):
        tables.lake.rewrite("part_evolved", {"rewrite-all": "true", "output-spec-id": str(spec)})
        data = tables.rows("part_evolved")
        assert java_rows.found(data) == java_rows.expected(tables.lake.home, "part_evolved", data.schema)
        specs = tables.sql(f"SELECT DISTINCT spec_id AS id FROM {NAME}.fx.part_evolved.files")
        assert specs == [{"id": spec}]
        for row in data.to_pylist()[:20]:
            where = " AND ".join(f"{k} <=> {_literal(v)}" for k, v in row.items() if isinstance(v, int | str))
            assert tables.sql(f"SELECT count(*) > 0 AS found FROM {NAME}.fx.part_evolved WHERE {where}") == [
                {"found": True}
            ]


def _literal(value: int | str) -> str:
    return str(value) if isinstance(value, int) else f"'{value}'"

"""Tables that Iceberg Java made, rewritten by us: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.connectors.iceberg.rewrite.writing import spreading
from shared.errors import ErrorCode, ProcessionError
from tests.tiers import some


@pytest.fixture
def fixtures(tmp_path: Path, monkeypatch: Any, java_lake: Any) -> Any:
    monkeypatch.chdir(tmp_path)
    return java_lake(tmp_path)


NEW_TYPES = ("unknown",)
LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def without_lineage(data: pa.Table) -> pa.Table:
    """The table's own columns; those of row lineage are compared in Spark (test_spark_procedure.py)."""
    return data.drop_columns([name for name in LINEAGE if name in data.column_names])


REWRITTEN = [
    "v1_table", "v3_dv", "v3_dv_java", "v3_lineage", "v3_upgraded", "v3_eqdel", "v3_default", "types_v3", "v2_posdel",
    "v2_posdel_part", "v2_eqdel", "v2_eqdel_part", "part_evolved", "transforms",
    "nested", "evolved", "sorted", "refs", "stats", "types_v2", "ident_sorted",
]  # fmt: skip


@pytest.mark.parametrize("name", REWRITTEN)
def test_rows_after_rewrite_all(fixtures: Any, java_rows: Any, name: str) -> None:
    result = fixtures.rewrite(name, {"rewrite-all": "true"})
    assert result["rewritten_data_files_count"] > 0
    tasks = list(fixtures.other.load_table(f"fx.{name}").scan().plan_files())
    assert not any(task.delete_files for task in tasks)
    # Read by pyarrow: PyIceberg 0.12 gives empty lists for null ones.
    data = without_lineage(pa.concat_tables([pq.ParquetFile(task.file.file_path).read() for task in tasks]))
    assert java_rows.found(data) == java_rows.expected(fixtures.home, name, data.schema)
    assert result["rewritten_rows_count"] == data.num_rows
    again = fixtures.rewrite(name)
    assert again["rewritten_data_files_count"] == 0, "a second run finds nothing"
    assert fixtures.workers.statements == []


SORTED = [name for name in REWRITTEN if name != "sorted"]
ALIKE = ("v3_dv", "v3_lineage", "v3_default", "v2_posdel", "v2_eqdel", "evolved", "refs", "stats", "ident_sorted")
"""Others of the same version, with the same kind of deletes or of columns, are sorted in every run."""


@pytest.mark.parametrize(
    "name",
    some(
        [name for name in SORTED if name not in ALIKE],
        ALIKE,
        "each version, kind of deletes and type; all tables are rewritten without a sort above",
    ),
)
def test_rows_after_a_sort_over_ranges(fixtures: Any, java_rows: Any, monkeypatch: Any, name: str) -> None:
    """A Hilbert curve through all primitive columns: every type, nested columns carried along, deletes applied."""
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 2000)
    fields = fixtures.other.load_table(f"fx.{name}").schema().fields
    columns = ", ".join(
        f'"{f.name}"' for f in fields if f.field_type.is_primitive and str(f.field_type) not in NEW_TYPES
    )
    result = fixtures.rewrite(name, {"rewrite-all": "true"}, strategy="sort", sorted_by=[f"hilbert({columns})"])
    tasks = list(fixtures.other.load_table(f"fx.{name}").scan().plan_files())
    assert not any(task.delete_files for task in tasks)
    data = without_lineage(pa.concat_tables([pq.ParquetFile(task.file.file_path).read() for task in tasks]))
    assert java_rows.found(data) == java_rows.expected(fixtures.home, name, data.schema)
    assert result["rewritten_rows_count"] == data.num_rows
    assert fixtures.workers.statements == []
    assert not list(Path("wh").rglob("*.arrow")), "scratch files are gone"


DELEGATED = [
    "fmt_avro", "fmt_orc", "v2_mixed",
]  # fmt: skip


@pytest.mark.parametrize("name", DELEGATED)
def test_what_our_kernels_cannot_rewrite_goes_to_spark_before_any_work(fixtures: Any, name: str) -> None:
    before = sorted(p for p in Path("wh").rglob("*") if p.is_file())
    with pytest.raises(ProcessionError) as failure:
        fixtures.rewrite(name, {"rewrite-all": "true"})
    assert failure.value.code is ErrorCode.NO_NODES_AVAILABLE
    assert len(fixtures.workers.statements) == 1
    assert fixtures.workers.tasks == 0
    assert sorted(p for p in Path("wh").rglob("*") if p.is_file()) == before
    assert fixtures.connector.journal.open_entries("fx") == []

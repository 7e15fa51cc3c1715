"""Tables that Iceberg Java made, rewritten by us: the rows must be those that Iceberg Java read (tests/data)."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property

ARCHIVE = Path(__file__).parents[1] / "data" / "iceberg_tables" / "tables.tar.xz"


@pytest.fixture
def fixtures(tmp_path: Path, monkeypatch: Any, lake: Any) -> Any:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/catalog.db"
    values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": "wh"}
    properties = {k: Property(k, v, Path("fx.properties"), 2) for k, v in values.items()}
    lake.connector = IcebergConnector("fx", properties)
    lake.other = SqlCatalog("fx", uri=uri, warehouse="wh")
    lake.schema = "fx"
    return lake


def expected(home: Path, name: str, schema: pa.Schema) -> Counter[str]:
    lines = (home / "expected" / f"{name}.jsonl").read_text().splitlines()
    return Counter(
        json.dumps([canonical(json.loads(line).get(field.name), field.type) for field in schema]) for line in lines
    )


def found(data: pa.Table) -> Counter[str]:
    return Counter(
        json.dumps([canonical(row[field.name], field.type) for field in data.schema]) for row in data.to_pylist()
    )


def canonical(value: Any, kind: pa.DataType) -> Any:
    """One spelling for a value read by Python and the same value as the fixtures write it."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return [canonical(value.get(field.name), field.type) for field in kind]
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return sorted([canonical(k, kind.key_type), canonical(v, kind.item_type)] for k, v in pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [canonical(item, kind.value_type) for item in value]
    return _scalar(value, kind)


def _scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return repr(float(value))
    if pa.types.is_decimal(kind):
        return str(Decimal(value))
    if pa.types.is_timestamp(kind):
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        return parsed.isoformat()
    if pa.types.is_date(kind):
        return (date.fromisoformat(value) if isinstance(value, str) else value).isoformat()
    if pa.types.is_time(kind):
        return (time.fromisoformat(value) if isinstance(value, str) else value).isoformat()
    if isinstance(value, bytes | UUID):
        return value.hex() if isinstance(value, bytes) else value.hex
    if isinstance(value, str):
        return value.replace("-", "") if kind == pa.uuid() or pa.types.is_fixed_size_binary(kind) else value
    return value


REWRITTEN = [
    "v1_table", "v2_posdel", "v2_posdel_part", "v2_eqdel", "v2_eqdel_part", "v2_mixed", "part_evolved", "transforms",
    "nested", "evolved", "sorted", "refs", "stats", "types_v2", "ident_sorted",
]  # fmt: skip


@pytest.mark.parametrize("name", REWRITTEN)
def test_rows_after_rewrite_all(fixtures: Any, name: str) -> None:
    try:
        result = fixtures.rewrite(name, {"rewrite-all": "true"})
    except ProcessionError as refused:
        assert name == "v2_mixed", refused.message
        assert refused.code is ErrorCode.NOT_SUPPORTED
        assert "reads Parquet files, not AVRO" in refused.message
        return
    assert result["rewritten_data_files_count"] > 0
    tasks = list(fixtures.other.load_table(f"fx.{name}").scan().plan_files())
    assert not any(task.delete_files for task in tasks)
    # Read by pyarrow: PyIceberg 0.12 gives empty lists for null ones.
    data = pa.concat_tables([pq.ParquetFile(task.file.file_path).read() for task in tasks])
    assert found(data) == expected(fixtures.home, name, data.schema)
    assert result["rewritten_rows_count"] == data.num_rows
    again = fixtures.rewrite(name)
    assert again["rewritten_data_files_count"] == 0, "a second run finds nothing"


@pytest.mark.parametrize("name", ["v3_dv", "v3_lineage", "v3_eqdel", "v3_default", "types_v3"])
def test_version_3_is_refused_before_any_work(fixtures: Any, name: str) -> None:
    before = sorted(p for p in Path("wh").rglob("*") if p.is_file())
    with pytest.raises(ProcessionError, match="format version 3") as failure:
        fixtures.rewrite(name, {"rewrite-all": "true"})
    assert failure.value.code is ErrorCode.NOT_SUPPORTED
    assert sorted(p for p in Path("wh").rglob("*") if p.is_file()) == before


@pytest.mark.parametrize("name", ["fmt_avro", "fmt_orc"])
def test_other_file_formats_are_refused_before_any_work(fixtures: Any, name: str) -> None:
    with pytest.raises(ProcessionError, match="reads Parquet files, not") as failure:
        fixtures.rewrite(name, {"rewrite-all": "true"})
    assert failure.value.code is ErrorCode.NOT_SUPPORTED

"""The tpch connector: Presto's names, types and rows, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import json
import multiprocessing
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from coordinator.connectors.tpch.connector import FACTORY, TpchConnector
from coordinator.connectors.tpch.tables import SCHEMAS, TABLES, scale_of
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableScanNode
from shared.properties import ConfigurationError, Property

RECORDED = Path(__file__).parents[1] / "data" / "presto_protocol" / "exchanges.jsonl.gz"
FRAGMENTS = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"


def connector(home: Path, naming: str = "STANDARD") -> TpchConnector:
    property_ = Property("tpch.column-naming", naming, Path("tpch.properties"), 2)
    return FACTORY.create("tpch", {property_.name: property_}, home)


def nothing() -> None:
    """Nobody cancels."""


def scan(tpch: TpchConnector, schema: str, table: str) -> TableScanNode:
    metadata = tpch.table(schema, table)
    assert metadata is not None
    return TableScanNode(id="0", table=metadata.handle, outputVariables=(), assignments={})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables of ``tiny``, generated."""
    home = tmp_path_factory.mktemp("tpch")
    tpch = connector(home)
    tpch.make_files(scan(tpch, "tiny", "region").table, nothing)
    return home


@pytest.fixture(scope="module")
def conversations() -> dict[str, dict]:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return {entry["name"]: entry for entry in map(json.loads, lines)}


def rows_of(conversation: dict) -> list[list]:
    pages = [e["json"] for e in conversation["exchanges"] if isinstance(e.get("json"), dict)]
    return [row for page in pages for row in page.get("data", ()) if isinstance(row, list)]


def test_schemas_are_prestos(tmp_path: Path) -> None:
    tpch = connector(tmp_path)
    assert set(tpch.schemas()) == set(SCHEMAS)
    assert len(tpch.tables("sf1")) == 8
    assert tpch.schema_exists("tiny")
    assert not tpch.schema_exists("sf10")
    assert tpch.table("sf10", "orders") is not None
    assert tpch.table("sf1", "nope") is None
    assert [scale_of(s) for s in ("tiny", "sf0.5", "sf300", "sf0", "sf", "sfx", "sf1e9", "big")] == [
        0.01,
        0.5,
        300,
        None,
        None,
        None,
        None,
        None,
    ]


def test_columns_and_handles_are_those_of_captured_plans(tmp_path: Path) -> None:
    """Every scan of Presto's tpch connector in the captured fragments: handle, column names and types."""
    tpch, seen = connector(tmp_path), set()
    for found in captured_scans():
        name = found["table"]["connectorHandle"]["tableName"]
        metadata = tpch.table("tiny", name)
        assert metadata is not None
        assert metadata.handle.connectorHandle == found["table"]["connectorHandle"]
        assert metadata.handle.transaction == found["table"]["transaction"]
        for handle in found["assignments"].values():
            column = metadata.column(handle["columnName"])
            assert column is not None
            assert column.handle == handle
            seen.add((name, column.name))
    assert {name for name, _ in seen} == set(TABLES)
    assert len(seen) > 50


def captured_scans() -> list[dict]:
    found: list[dict] = []
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            stack = [json.loads(line)["body"]]
            while stack:
                value = stack.pop()
                if isinstance(value, dict):
                    if value.get("@type") == ".TableScanNode" and value["table"]["connectorId"] == "tpch":
                        found.append(value)
                    stack.extend(value.values())
                elif isinstance(value, list):
                    stack.extend(value)
    return found


def test_names_without_prefix_are_the_default(tmp_path: Path) -> None:
    metadata = FACTORY.create("tpch", {}, tmp_path).table("tiny", "partsupp")
    assert metadata is not None
    assert [c.name for c in metadata.columns] == ["partkey", "suppkey", "availqty", "supplycost", "comment"]


@pytest.mark.slow
def test_row_counts_are_exact(home: Path) -> None:
    tpch = connector(home)
    for name in TABLES:
        metadata = tpch.table("tiny", name)
        assert metadata is not None
        relation = tpch.relation(scan(tpch, "tiny", name))
        assert sum(pq.read_metadata(path).num_rows for path in relation.paths) == metadata.row_count
        size = sum(Path(path).stat().st_size for path in relation.paths)
        assert metadata.size_bytes is not None
        assert size / 3 < metadata.size_bytes + 5_000
        assert metadata.size_bytes < 3 * size


def test_rows_are_prestos(home: Path, conversations: dict[str, dict]) -> None:
    """Comments of line items, and the sizes and ranges of SHOW STATS, as a real server gave them."""
    lineitem = pq.read_table(connector(home).relation(scan(connector(home), "tiny", "lineitem")).paths[0])
    theirs = Counter(row[0] for row in rows_of(conversations["pages_target_size"]))
    assert sum(theirs.values()) == 40
    assert not theirs - Counter(lineitem["l_comment"].to_pylist())
    nation = pq.read_table(connector(home).relation(scan(connector(home), "tiny", "nation")).paths[0])
    for name, size, *_ in rows_of(conversations["show_stats"]):
        if size is not None:
            assert sum(map(len, nation[name].to_pylist())) == size


def test_prices_are_the_doubles_nearest_to_cents(home: Path) -> None:
    tpch = connector(home)
    orders = pq.read_table(tpch.relation(scan(tpch, "tiny", "orders")).paths[0])
    assert all(price == float(f"{price:.2f}") for price in orders["o_totalprice"].to_pylist())
    assert str(orders.schema.field("o_orderdate").type) == "date32[day]"


@pytest.mark.slow
def test_large_tables_are_made_in_parts(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.connectors.tpch.files._ROWS_PER_FILE", 30_000)
    monkeypatch.setattr("coordinator.connectors.tpch.connector._ALL_AT_ONCE", 0)
    whole = pq.read_table(home / "tpch" / "standard" / "sf0.01" / "lineitem.parquet")
    tpch = connector(tmp_path)
    relation = tpch.relation(scan(tpch, "tiny", "lineitem"))
    assert relation.made_by is not None
    assert len(relation.paths) == 2
    assert not any(Path(path).exists() for path in relation.paths)
    tpch.make_files(relation.made_by, nothing)
    assert ds.dataset(list(relation.paths)).to_table().sort_by("l_orderkey").equals(whole)


def make(home: Path) -> int:
    tpch = connector(home)
    relation = tpch.relation(scan(tpch, "tiny", "orders"))
    assert relation.made_by is not None
    tpch.make_files(relation.made_by, nothing)
    return int(pq.read_metadata(relation.paths[0]).num_rows)


@pytest.mark.slow
def test_processes_that_want_the_same_table_find_it_whole(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(make, [tmp_path] * 3) == [15_000] * 3
    left = sorted(file.name for file in (tmp_path / "tpch" / "standard" / "sf0.01").iterdir())
    assert left == sorted([".lock", *(f"{name}.parquet" for name in TABLES)])


def test_cancelling_leaves_nothing_half_made(tmp_path: Path) -> None:
    def cancel() -> None:
        raise ProcessionError(ErrorCode.USER_CANCELED, "Query was canceled")

    tpch = connector(tmp_path)
    with pytest.raises(ProcessionError, match="canceled"):
        tpch.make_files(scan(tpch, "tiny", "orders").table, cancel)
    assert [file.name for file in (tmp_path / "tpch" / "standard" / "sf0.01").iterdir()] == [".lock"]


def test_a_scale_that_does_not_fit_is_refused_at_once(tmp_path: Path) -> None:
    tpch = connector(tmp_path)
    with pytest.raises(ProcessionError, match="MB are free") as refused:
        tpch.make_files(scan(tpch, "sf100000", "lineitem").table, nothing)
    assert refused.value.code is ErrorCode.GENERIC_INSUFFICIENT_RESOURCES


@pytest.mark.parametrize(("name", "value"), [("tpch.column-naming", "odd"), ("tpch.nope", "1")])
def test_wrong_settings_name_file_and_line(tmp_path: Path, name: str, value: str) -> None:
    property_ = Property(name, value, Path("tpch.properties"), 2)
    with pytest.raises(ConfigurationError, match=r"tpch\.properties:2"):
        FACTORY.create("tpch", {name: property_}, tmp_path)

"""``iceberg.catalog.type=rest``: the same procedures through the REST protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
from shared.spi.catalog_changes import (
    MaterializedViewChange,
    MaterializedViewCreation,
    MaterializedViewRemoval,
    NewColumn,
    TableCreation,
    ViewCreation,
    ViewRemoval,
    ViewRename,
)
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.materialized_views import BaseTable, Materialization, Refresh
from shared.spi.table_writes import TableWrite, WriteContext
from tests.iceberg.rest_catalog import serving
from tests.iceberg.test_rewrite import numbers


def over_rest(lake: Any, address: str) -> IcebergConnector:
    values = {
        "iceberg.catalog.type": "rest",
        "iceberg.rest.uri": address,
        "iceberg.journal.file": f"{lake.home}/rest.journal.db",
    }
    properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
    return IcebergConnector("lab", properties)


def test_rewrite_and_rollback_through_rest(lake: Any) -> None:
    table = lake.create("t", [numbers(i * 50) for i in range(6)])
    before, snapshot = lake.rows("t"), table.refresh().metadata.current_snapshot_id
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        assert lake.connector.schemas() == ["db"]
        assert lake.connector.tables("db") == ["t"]
        assert lake.connector.table("db", "nope") is None
        assert lake.rewrite("t")["added_data_files_count"] == 1
        assert lake.rows("t") == before
        assert lake.orphans("t") == set()
        lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=snapshot)
        assert table.refresh().metadata.current_snapshot_id == snapshot


def test_references_properties_and_picks_through_rest(lake: Any) -> None:
    table = lake.create("t", [numbers(0), numbers(50)])
    first, second = (snapshot.snapshot_id for snapshot in table.refresh().snapshots())
    table.append(numbers(100), branch=None)
    (staged,) = {s.snapshot_id for s in table.refresh().snapshots()} - {first, second}
    table.append(numbers(200))
    given = {"schema": "db", "table_name": "t"}
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        lake.call("create_tag", **given, tag="v", snapshot_id=first, max_ref_age_ms=5)
        lake.call("create_tag", **given, tag="gone")
        lake.call("drop_tag", **given, tag="gone")
        lake.call("set_table_property", **given, key="owner", value="b")
        lake.call("cherrypick_snapshot", **given, snapshot_id=staged)
        lake.call("compute_table_stats", **given)
    table.refresh()
    assert set(table.refs()) == {"main", "v"}
    assert (table.refs()["v"].snapshot_id, table.refs()["v"].max_ref_age_ms) == (first, 5)
    assert table.properties["owner"] == "b"
    assert [row[0] for row in lake.rows("t")] == [*range(150), *range(200, 250)]
    assert table.metadata.statistics[0].blob_metadata[0].properties == {"ndv": "200"}


def test_views_through_rest(lake: Any) -> None:
    columns = (ViewColumn("a", "integer"), ViewColumn("b", "array(varchar)", "letters"))
    view = ViewMetadata("lab", "db", "v", "SELECT a, b FROM t", columns, "lab", "db", owner="alice")
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        lake.change(ViewCreation(view, replace=False))
        assert lake.connector.view_names("db") == ["v"]
        assert lake.connector.view("db", "v") == view
        with pytest.raises(ProcessionError, match=r"View already exists: db\.v"):
            lake.change(ViewCreation(view, replace=False))
        other = replace(view, definition="SELECT 1 c", columns=(ViewColumn("c", "integer"),), security="INVOKER")
        lake.change(ViewCreation(other, replace=True))
        assert lake.connector.view("db", "v") == other
        for comment in ("told", None):
            lake.change(ViewCreation(replace(other, comment=comment), replace=True))
            assert lake.connector.view("db", "v").comment == comment
        lake.change(ViewRename("db", "v", "db", "w"))
        assert lake.connector.view("db", "v") is None
        lake.change(ViewRemoval("db", "w"))
        assert lake.connector.view_names("db") == []
        with pytest.raises(ProcessionError, match=r"View 'db\.w' not found"):
            lake.change(ViewRemoval("db", "w"))


def test_an_unreachable_rest_catalog_is_a_clear_error(lake: Any) -> None:
    connector = over_rest(lake, "http://127.0.0.1:9")
    with pytest.raises(ProcessionError) as failed:
        connector.table("db", "t")
    assert failed.value.code is not ErrorCode.GENERIC_INTERNAL_ERROR
    assert "127.0.0.1" in failed.value.message or "lab" in failed.value.message or "db.t" in failed.value.message


def test_materialized_views_through_rest(lake: Any) -> None:
    table = lake.create("t", [numbers(0)])
    kept = Materialization("db", "__mv_storage__mv", (BaseTable("db", "t"),), stale_reads="FAIL")
    columns = (ViewColumn("id", "bigint"), ViewColumn("name", "varchar"))
    view = ViewMetadata("lab", "db", "mv", "SELECT id, name FROM t", columns, "lab", "db", "alice", materialized=kept)
    storage = TableCreation("db", "__mv_storage__mv", tuple(NewColumn(c.name, c.type) for c in columns), {})
    with serving(lake.other) as address:
        lake.connector = over_rest(lake, address)
        lake.change(MaterializedViewCreation(view, storage))
        assert lake.connector.view("db", "mv") == view
        assert lake.connector.table("db", "__mv_storage__mv") is None
        read = (BaseTable("db", "t", table.metadata.current_snapshot_id),)
        write = TableWrite("lab", "db", "__mv_storage__mv", "INSERT", "INSERT OVERWRITE", "", refresh=Refresh(
            view, read, "what it meant", 7, "whole"
        ))  # fmt: skip

        def run(_sql: str, _write_id: str | None = None, _settings: Any = None) -> list[Any]:
            stored = lake.other.load_table("db.__mv_storage__mv")
            stored.append(
                numbers(0).select(["id", "name"]).cast(stored.schema().as_arrow()),
                snapshot_properties={QUERY_ID: lake.context().session.query_id},
            )
            return []

        assert lake.connector.write(write, WriteContext(lake.context(), run)) == 50
        found = lake.connector.view("db", "mv").materialized
        assert (found.base_tables, found.meaning, found.read_ms) == (read, "what it meant", 7)
        assert lake.connector.stored_rows(view=lake.connector.view("db", "mv")).row_count == 50
        changed = replace(view, materialized=replace(kept, stale_reads=None, staleness_window=60.0))
        lake.change(MaterializedViewChange(changed, view))
        assert lake.connector.view("db", "mv").materialized == replace(found, stale_reads=None, staleness_window=60.0)
        lake.change(MaterializedViewRemoval("db", "mv"))
        assert lake.connector.view("db", "mv") is None
        assert lake.other.list_tables("db") == [("db", "t")]

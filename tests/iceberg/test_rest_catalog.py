"""``iceberg.catalog.type=rest``: the same procedures through the REST protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.connector import IcebergConnector
from shared.errors import ErrorCode, ProcessionError
from shared.properties import Property
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
        lake.call("set_table_property", **given, key="a", value="b")
        lake.call("cherrypick_snapshot", **given, snapshot_id=staged)
        lake.call("compute_table_stats", **given)
    table.refresh()
    assert set(table.refs()) == {"main", "v"}
    assert (table.refs()["v"].snapshot_id, table.refs()["v"].max_ref_age_ms) == (first, 5)
    assert table.properties["a"] == "b"
    assert [row[0] for row in lake.rows("t")] == [*range(150), *range(200, 250)]
    assert table.metadata.statistics[0].blob_metadata[0].properties == {"ndv": "200"}


def test_an_unreachable_rest_catalog_is_a_clear_error(lake: Any) -> None:
    connector = over_rest(lake, "http://127.0.0.1:9")
    with pytest.raises(ProcessionError) as failed:
        connector.table("db", "t")
    assert failed.value.code is not ErrorCode.GENERIC_INTERNAL_ERROR
    assert "127.0.0.1" in failed.value.message or "lab" in failed.value.message or "db.t" in failed.value.message

"""TRUNCATE TABLE: without an engine, whatever the table has, and beside others who write."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.connectors.iceberg.tables import truncation
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import TableTruncation
from tests.iceberg.test_own_changes import change, deleted, ids
from tests.iceberg.test_rewrite import numbers


def truncate(lake: Any) -> None:
    lake.change(TableTruncation("db", "t"))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_data_and_deletes_go(lake: Any, version: int) -> None:
    lake.create("t", [numbers(0), numbers(100)], properties={"format-version": str(min(version, 2))})
    if version == 3:
        lake.call("upgrade_format_version", schema="db", table_name="t", format_version=3)
    if version > 1:
        assert change(lake, "DELETE", deleted(lake, 1, 2)) == 2
    truncate(lake)
    table = lake.table("t")
    summary = table.current_snapshot().summary.additional_properties
    totals = {name: summary[f"total-{name}"] for name in ("records", "data-files", "delete-files", "position-deletes")}
    assert (ids(lake), totals) == ([], dict.fromkeys(totals, "0"))
    truncate(lake)
    assert lake.workers.statements == []


def test_one_without_snapshots_stays_so(lake: Any) -> None:
    lake.other.create_table("db.t", schema=numbers(0).schema)
    truncate(lake)
    assert lake.table("t").snapshots() == []


def test_a_compaction_meanwhile(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files go too; rows that others add meanwhile do not, as they came after what was asked."""
    lake.create("t", [numbers(0), numbers(100)])
    read = truncation.read_live
    meanwhile = [lambda: lake.rewrite("t", {"rewrite-all": "true"}), lambda: lake.table("t").append(numbers(200))]

    def read_and_wait(*given: Any, **options: Any) -> Any:
        found = read(*given, **options)
        if meanwhile:
            meanwhile.pop(0)()
        return found

    monkeypatch.setattr(truncation, "read_live", read_and_wait)
    truncate(lake)
    assert ids(lake) == list(range(200, 250))


def test_large_tables_are_left_to_spark(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("t", [numbers(0), numbers(100)])
    monkeypatch.setattr(truncation, "_MOST_FILES", 1)
    with pytest.raises(ProcessionError, match="Spark is not available") as failed:
        truncate(lake)
    assert failed.value.code is ErrorCode.NO_NODES_AVAILABLE
    assert lake.workers.statements == ["TRUNCATE TABLE `lab`.`db`.`t`"]

"""Maintenance of tables of format version 3 that Iceberg Java made: rows, vectors and row ids stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.manifest import DataFileContent
from pyiceberg.table.snapshots import Operation

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from coordinator.connectors.iceberg.snapshots.same_files import SameFiles


@pytest.fixture
def fx(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> Any:
    monkeypatch.chdir(tmp_path)
    return java_lake(tmp_path)


def call(fx: Any, procedure: str, name: str, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in fx.call(procedure, schema="fx", table_name=name, **given).rows]


def lineage(fx: Any, name: str) -> list[Any]:
    """The live data files with their row ids and sequence numbers."""
    table = fx.other.load_table(f"fx.{name}")
    live = read_live(table, table.current_snapshot()).data
    return sorted((f.path, f.first_row_id, f.sequence_number, f.file_sequence_number) for f in live)


def test_equality_deletes_become_vectors(fx: Any, java_rows: Any) -> None:
    before = lineage(fx, "v3_eqdel")
    ((converted, added, rows),) = call(fx, "convert_equality_deletes", "v3_eqdel")
    assert (converted > 0, added > 0, rows > 0) == (True, True, True)
    table = fx.other.load_table("fx.v3_eqdel")
    deletes = read_live(table, table.current_snapshot()).deletes
    assert {d.file.content for d in deletes} == {DataFileContent.POSITION_DELETES}
    assert {d.file.file_format.value.lower() for d in deletes} == {"puffin"}
    data = table.scan().to_arrow()
    assert java_rows.found(data) == java_rows.expected(fx.home, "v3_eqdel", data.schema)
    assert lineage(fx, "v3_eqdel") == before
    assert call(fx, "convert_equality_deletes", "v3_eqdel") == [(0, 0, 0)]


@pytest.mark.parametrize("name", ["v3_dv", "v3_dv_java", "v3_upgraded", "v3_lineage"])
def test_manifests_are_joined_with_vectors_and_row_ids_kept(fx: Any, java_rows: Any, name: str) -> None:
    before = lineage(fx, name)
    ((gone, came),) = call(fx, "rewrite_manifests", name)
    table = fx.other.load_table(f"fx.{name}")
    assert (came < gone) or (gone, came) == (0, 0)
    assert lineage(fx, name) == before
    data = table.scan().to_arrow()
    assert java_rows.found(data) == java_rows.expected(fx.home, name, data.schema)
    assert call(fx, "rewrite_manifests", name) == [(0, 0)]
    call(fx, "remove_dangling_deletes", name)
    data = fx.other.load_table(f"fx.{name}").scan().to_arrow()
    assert java_rows.found(data) == java_rows.expected(fx.home, name, data.schema)


def test_a_head_that_changes_nothing_keeps_row_ids(fx: Any, java_rows: Any) -> None:
    """What refuses a commit that a server may still hold."""
    before, table = lineage(fx, "v3_dv"), fx.connector.tables_of.open("fx", "v3_dv")
    head, following = table.metadata.current_snapshot_id, table.metadata.next_row_id
    transaction = table.transaction()
    SameFiles(transaction, {"procession.recovered-commit": "some-call"}).commit()
    transaction.commit_transaction()
    after = fx.other.load_table("fx.v3_dv")
    assert after.current_snapshot().parent_snapshot_id == head
    assert (lineage(fx, "v3_dv"), after.metadata.next_row_id) == (before, following)
    data = after.scan().to_arrow()
    assert java_rows.found(data) == java_rows.expected(fx.home, "v3_dv", data.schema)


def test_files_are_dropped_and_the_rest_keeps_its_row_ids(fx: Any) -> None:
    """What expire_partitions commits; none of the tables of Iceberg Java of version 3 is partitioned by time."""
    table = fx.connector.tables_of.open("fx", "v3_default")
    assert table.format_version == 3
    before = lineage(fx, "v3_default")
    live = read_live(table, table.current_snapshot()).data
    transaction = table.transaction()
    EditFiles(transaction, Operation.DELETE, dropped=live[:1]).stage()
    transaction.commit_transaction()
    after = lineage(fx, "v3_default")
    assert set(after) < set(before)
    assert len(after) == len(before) - 1

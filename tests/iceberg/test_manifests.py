"""rewrite_manifests and remove_dangling_deletes: the same entries and rows afterwards, by PyIceberg's own reading."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo

from shared.errors import ErrorCode, ProcessionError


def part(start: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + 4), pa.int64()), "p": ["b", None, "a", "b"]})


def by_p(table: Any) -> None:
    with table.update_spec() as spec:
        spec.add_identity("p")


def listed(table: Any) -> list[Any]:
    """What the live entries say, wherever they stand."""
    found = [entry for m in manifests(table) for entry in m.fetch_manifest_entry(table.io)]
    return sorted(
        (e.data_file.file_path, e.snapshot_id, e.sequence_number, e.file_sequence_number, e.data_file.record_count)
        for e in found
    )


def manifests(table: Any) -> list[Any]:
    return list(table.refresh().current_snapshot().manifests(table.io))


def call(lake: Any, procedure: str, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call(procedure, schema="db", table_name="t", **given).rows]


def test_one_manifest_of_many(lake: Any) -> None:
    table = lake.create("t", [part(0)])
    by_p(table)
    assert call(lake, "rewrite_manifests", spec_id=0) == [(0, 0)]
    table.overwrite(part(0))
    for number in range(5):
        table.append(part(number * 4))
    table.delete(EqualTo("p", "a"))
    before, rows, old = listed(table.refresh()), lake.rows("t"), len(manifests(table))
    shown = call(lake, "rewrite_manifests", dry_run=True)
    assert {row[1] for row in shown} == {m.manifest_path for m in manifests(table)}
    assert {(row[0], row[4]) for row in shown} == {("data", 1)}
    assert call(lake, "rewrite_manifests") == [(old, 1)]
    assert len(manifests(table)) == 1
    assert listed(table) == before
    assert lake.rows("t") == rows
    summary = table.current_snapshot().summary
    assert summary.operation.value == "replace"
    assert (summary["manifests-replaced"], summary["manifests-created"], summary["manifests-kept"]) == (
        str(old),
        "1",
        "0",
    )
    assert summary["total-records"] == str(len(rows))
    assert call(lake, "rewrite_manifests") == [(0, 0)]
    assert lake.orphans("t") == set()
    assert lake.workers.statements == []


def test_other_specs_and_targets(lake: Any) -> None:
    table = lake.create("t", [part(0), part(4)])
    by_p(table)
    for number in range(3):
        table.append(part(100 * number))
    before = listed(table.refresh())
    assert call(lake, "rewrite_manifests", spec_id=0) == [(2, 1)]
    assert call(lake, "rewrite_manifests", spec_id=1) == [(3, 1)]
    with pytest.raises(ProcessionError, match="Cannot find spec with id: 7") as caught:
        call(lake, "rewrite_manifests", spec_id=7)
    assert caught.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT
    size = sum(m.manifest_length for m in manifests(table) if m.partition_spec_id == 1)
    table.transaction().set_properties({"commit.manifest.target-size-bytes": str(size // 2 + 1)}).commit_transaction()
    ((gone, came),) = call(lake, "rewrite_manifests")
    assert (gone, came) == (1, 2)
    assert listed(table) == before
    # One manifest is about few partitions: NULL is in one of the two only.
    bounds = [m.partitions[0] for m in manifests(table) if m.partition_spec_id == 1]
    assert sorted(bound.contains_null for bound in bounds) == [False, True]


def test_clustered_by_the_fields_that_are_asked_for(lake: Any) -> None:
    """Each manifest is about one value of q, though p comes first in the spec; a second call finds nothing to do."""
    table = lake.create("t", [pa.table({"id": [0], "p": ["a"], "q": ["x"]})])
    with table.update_spec() as spec:
        spec.add_identity("p").add_identity("q")
    for q in "xy":
        for p in "abc":
            table.append(pa.table({"id": [1], "p": [p], "q": [q]}))
    before, rows = listed(table.refresh()), lake.rows("t")
    size = sum(m.manifest_length for m in manifests(table) if m.partition_spec_id == 1)
    table.transaction().set_properties({"commit.manifest.target-size-bytes": str(size // 2 + 1)}).commit_transaction()
    assert call(lake, "rewrite_manifests", sort_by=("q",)) == [(6, 2)]
    bounds = [[(b.lower_bound, b.upper_bound) for b in m.partitions] for m in manifests(table) if m.partition_spec_id]
    assert sorted(b[1] for b in bounds) == [(b"x", b"x"), (b"y", b"y")]
    assert [b[0] for b in bounds] == [(b"a", b"c")] * 2
    # Tiny manifests are mostly head: the target is set anew for two of them.
    size = sum(m.manifest_length for m in manifests(table) if m.partition_spec_id == 1)
    table.transaction().set_properties({"commit.manifest.target-size-bytes": str(size // 2 + 9)}).commit_transaction()
    assert call(lake, "rewrite_manifests", sort_by=("q",)) == [(0, 0)], "settled"
    assert call(lake, "rewrite_manifests") == [(2, 2)]
    assert call(lake, "rewrite_manifests") == [(0, 0)], "settled"
    assert (listed(table), lake.rows("t")) == (before, rows)
    for wrong, message in (
        (["id"], r"field\(s\) \[id\] were not found in current partition spec \[p, q\]. Spec ID 1"),
        ([], "must not be empty"),
    ):
        with pytest.raises(ProcessionError, match=message):
            call(lake, "rewrite_manifests", sort_by=wrong)


def test_an_append_meanwhile_is_kept(lake: Any, monkeypatch: Any) -> None:
    from coordinator.connectors.iceberg.snapshots import manifest_rewrite

    lake.create("t", [part(0), part(4), part(8)])
    real, appended = manifest_rewrite.summarize, []

    def slow(*arguments: Any, **named: Any) -> Any:
        if not appended:
            appended.append(lake.table("t").append(part(100)))
        return real(*arguments, **named)

    monkeypatch.setattr(manifest_rewrite, "summarize", slow)
    assert call(lake, "rewrite_manifests") == [(3, 1)]
    assert len(manifests(lake.table("t"))) == 2
    assert len(lake.rows("t")) == 16


def test_deletes_that_apply_to_nothing_go(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [part(0), part(4)])
    paths = sorted(task.file.file_path for task in table.scan().plan_files())
    foreign.delete_positions(table, {paths[0]: [0]})
    foreign.delete_positions(table, {"file:///gone/for/long.parquet": [0, 1]})
    assert call(lake, "remove_dangling_deletes", dry_run=True)[0][1] == "POSITION_DELETES"
    rows = lake.rows("t")
    assert call(lake, "remove_dangling_deletes") == [(1,)]
    assert lake.rows("t") == rows
    assert len(rows) == 7
    assert call(lake, "remove_dangling_deletes") == [(0,)]
    summary = lake.table("t").current_snapshot().summary
    assert (summary.operation.value, summary["removed-position-delete-files"]) == ("replace", "1")
    table = lake.table("t")
    table.overwrite(part(0))
    foreign.delete_equal(table, pa.table({"id": pa.array([0], pa.int64())}))
    table.refresh().overwrite(part(20))
    assert call(lake, "remove_dangling_deletes") == [(2,)]
    assert len(lake.rows("t")) == 4

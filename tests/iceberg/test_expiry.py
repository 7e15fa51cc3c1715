"""Expired snapshots: what stays is exactly what the snapshots that stay need, by PyIceberg's own reading."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo

from coordinator.connectors.iceberg.maintenance import unreachable
from coordinator.connectors.iceberg.procedures import expire_snapshots
from shared.errors import ErrorCode, ProcessionError

pytestmark = pytest.mark.slow

COLUMNS = ("data", "position deletes", "equality deletes", "manifest", "manifest list", "statistics")


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reachable = _load("reachable")


def part(start: int, rows: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + rows), pa.int64()), "p": ["a", "b"] * (rows // 2)})


def later() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=1)


def expire(lake: Any, name: str = "t", **arguments: Any) -> dict[str, int]:
    (row,) = lake.call("expire_snapshots", schema=lake.schema, table_name=name, **arguments).rows
    return dict(zip(COLUMNS, row, strict=True))


def on_disk(lake: Any, name: str = "t") -> set[str]:
    root = lake.home / "wh" / lake.schema / name
    return {str(file) for file in root.rglob("*") if file.is_file()}


def ids(lake: Any, name: str = "t") -> list[int]:
    return [s.snapshot_id for s in lake.table(name).snapshots()]


def test_files_of_forgotten_snapshots_go_and_no_others(lake: Any) -> None:
    table = lake.create("t", [part(0), part(10)])
    table.delete(EqualTo("id", 3))
    table.append(part(20))
    before, kept = on_disk(lake), lake.rows("t")
    counts = expire(lake, older_than=later())
    assert counts == {
        "data": 1, "position deletes": 0, "equality deletes": 0, "manifest": 2, "manifest list": 3, "statistics": 0,
    }  # fmt: skip
    assert len(before) - len(on_disk(lake)) == sum(counts.values()) - 1, "and there is one new metadata file"
    assert on_disk(lake) == reachable.needed(lake.table("t"))
    assert len(ids(lake)) == 1
    assert lake.table("t").current_snapshot().parent_snapshot_id is None
    assert lake.rows("t") == kept
    assert set(expire(lake, older_than=later()).values()) == {0}
    assert lake.workers.statements == []


def test_references_and_the_newest_stay(lake: Any) -> None:
    table = lake.create("t", [part(i * 10) for i in range(6)])
    line = ids(lake)
    lake.call("create_tag", schema="db", table_name="t", tag="first", snapshot_id=line[0])
    lake.call("create_branch", schema="db", table_name="t", branch="b", snapshot_id=line[2], min_snapshots_to_keep=2)
    expire(lake, older_than=later(), retain_last=1)
    assert ids(lake) == [line[0], line[1], line[2], line[5]]
    assert on_disk(lake) == reachable.needed(lake.table("t"))
    for snapshot_id, rows in ((line[0], 10), (line[2], 30), (line[5], 60)):
        assert table.refresh().scan(snapshot_id=snapshot_id).to_arrow().num_rows == rows
    # Any gap in the log would tell the wrong state for a moment in it.
    assert [entry.snapshot_id for entry in lake.table("t").metadata.snapshot_log] == [line[5]]


def test_references_past_their_age_go(lake: Any) -> None:
    lake.create("t", [part(0), part(10)])
    first = ids(lake)[0]
    lake.call("create_tag", schema="db", table_name="t", tag="short", snapshot_id=first, max_ref_age_ms=1)
    rows = lake.call("expire_snapshots", schema="db", table_name="t", older_than=later(), dry_run=True).rows
    assert rows[0] == ("reference", "short", None, "past its max-ref-age-ms")
    assert [row[1] for row in rows if row[0] == "snapshot"] == [str(first)]
    assert len(ids(lake)) == 2
    expire(lake, older_than=later())
    assert set(lake.table("t").refs()) == {"main"}


def test_named_snapshots_go(lake: Any) -> None:
    lake.create("t", [part(i * 10) for i in range(4)])
    line = ids(lake)
    expire(lake, snapshot_ids=(line[1], 12345))
    assert ids(lake) == [line[0], line[2], line[3]]
    assert on_disk(lake) == reachable.needed(lake.table("t"))
    with pytest.raises(ProcessionError, match=rf"Cannot expire {line[3]}\. Still referenced by refs: \[main\]"):
        expire(lake, snapshot_ids=(line[3],))
    with pytest.raises(ProcessionError, match="cannot contain NULL"):
        expire(lake, snapshot_ids=(None,))


def test_a_dry_run_names_what_the_call_deletes(lake: Any) -> None:
    table = lake.create("t", [part(0), part(10)])
    table.delete(EqualTo("id", 3))
    before = on_disk(lake)
    rows = lake.call("expire_snapshots", schema="db", table_name="t", older_than=later(), dry_run=True).rows
    assert on_disk(lake) == before
    named = {reachable.plain(row[1]) for row in rows if row[0] not in ("snapshot", "reference")}
    expire(lake, older_than=later())
    assert before - on_disk(lake) == named
    assert [column.name for column in lake.procedure("expire_snapshots").declaration.dry_run_output] == [
        "kind", "name", "bytes", "reason",
    ]  # fmt: skip


def test_wrong_limits_are_refused(lake: Any) -> None:
    table = lake.create("t", [part(0)])
    for arguments, text in (
        ({"retain_last": 0}, "Number of snapshots to retain must be at least 1, cannot be: 0"),
        ({"max_concurrent_deletes": 0}, "max_concurrent_deletes should have value > 0, value: 0"),
    ):
        with pytest.raises(ProcessionError, match=text) as caught:
            expire(lake, **arguments)
        assert caught.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT
    table.transaction().set_properties({"gc.enabled": "false"}).commit_transaction()
    with pytest.raises(ProcessionError, match="GC is disabled"):
        expire(lake)


def test_each_manifest_is_read_once(lake: Any, monkeypatch: Any) -> None:
    lake.create("t", [part(i * 10) for i in range(8)])
    lake.table("t").delete(EqualTo("id", 3))
    read: list[str] = []
    real = unreachable.read_names
    monkeypatch.setattr(unreachable, "read_names", lambda io, m, **k: read.append(m.manifest_path) or real(io, m, **k))
    expire(lake, older_than=later())
    assert len(read) == len(set(read)) <= 11


def test_what_is_committed_meanwhile_keeps_its_files(lake: Any, monkeypatch: Any) -> None:
    """Another writer tags an expiring snapshot between our look and our commit: the tag and its files stay."""
    lake.create("t", [part(i * 10) for i in range(4)])
    line = ids(lake)
    real, calls = expire_snapshots.expiry_updates, []

    def slow(*arguments: Any) -> Any:
        if not calls:
            lake.table("t").manage_snapshots().create_tag(line[1], "late").commit()
        calls.append(1)
        return real(*arguments)

    monkeypatch.setattr(expire_snapshots, "expiry_updates", slow)
    expire(lake, older_than=later())
    assert ids(lake) == [line[1], line[3]]
    assert len(calls) == 2, "the lost race was tried again, and left no metadata file"
    assert lake.table("t").scan(snapshot_id=line[1]).to_arrow().num_rows == 20
    assert on_disk(lake) == reachable.needed(lake.table("t"))


def test_unused_schemas_and_specs_are_forgotten(lake: Any) -> None:
    table = lake.create("t", [part(0)])
    with table.update_schema() as update:
        update.add_column("extra", table.schema().find_field("id").field_type)
    with table.update_spec() as spec:
        spec.add_identity("p")
    table.append(pa.table({"id": [1], "p": ["a"], "extra": pa.array([1], pa.int64())}))
    table.overwrite(pa.table({"id": [2], "p": ["a"], "extra": pa.array([1], pa.int64())}))
    expire(lake, older_than=later())
    assert (len(table.refresh().metadata.schemas), len(table.metadata.partition_specs)) == (2, 2)
    expire(lake, older_than=later(), clean_expired_metadata=True)
    assert len(table.refresh().metadata.schemas) == 1
    assert lake.rows("t") == [(2, "a", 1)]


ACTIONS = st.lists(st.sampled_from(["append", "delete", "overwrite", "tag", "branch", "rollback"]), max_size=9)


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, keep=st.integers(1, 4), data=st.data())
def test_any_history_keeps_what_its_references_read(
    lake: Any, tmp_path_factory: Any, actions: list[str], keep: int, data: Any
) -> None:
    lake = type(lake)(tmp_path_factory.mktemp("history"))
    table = lake.create("t", [part(0)])
    for number, action in enumerate(actions):
        line = ids(lake)
        if action == "append":
            table.append(part(number * 100))
        elif action == "delete":
            table.delete(EqualTo("id", data.draw(st.integers(0, 9))))
        elif action == "overwrite":
            table.overwrite(part(number * 100))
        elif action == "rollback":
            ancestors = [row[0] for row in lake.call("ancestors_of", schema="db", table_name="t").rows]
            chosen = data.draw(st.sampled_from(ancestors))
            lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=chosen)
        else:
            make = table.manage_snapshots()
            chosen = data.draw(st.sampled_from(line))
            (make.create_tag if action == "tag" else make.create_branch)(chosen, f"{action}{number}").commit()
        table.refresh()
    seen = {name: rows_at(table, ref.snapshot_id) for name, ref in table.refs().items()}
    before, doomed = on_disk(lake), set(ids(lake))
    counts = expire(lake, older_than=later(), retain_last=keep)
    table.refresh()
    assert {name: rows_at(table, ref.snapshot_id) for name, ref in table.refs().items()} == seen
    left = on_disk(lake)
    assert reachable.needed(table) <= left
    gone = before - left
    assert len(gone) == sum(counts.values())
    assert bool(doomed - set(ids(lake))) == bool(gone), "a snapshot that goes takes its manifest list along"
    # What was written and then rolled back is nobody's any more, and went.
    assert left - reachable.needed(table) == set()


def rows_at(table: Any, snapshot_id: int) -> list[Any]:
    found = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


FIXTURES = [
    "v1_table", "v2_posdel", "v2_posdel_part", "v2_eqdel", "v2_eqdel_part", "v2_mixed", "v3_dv", "v3_dv_java",
    "v3_lineage", "v3_upgraded", "v3_eqdel", "v3_default", "part_evolved", "transforms", "nested", "evolved", "sorted",
    "refs", "stats", "types_v2", "types_v3", "fmt_avro", "fmt_orc", "ident_sorted",
]  # fmt: skip


def test_every_table_of_iceberg_java_keeps_its_files(java_lake: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lake = java_lake(tmp_path)
    for name in FIXTURES:
        table = lake.other.load_table(f"fx.{name}")
        heads = {ref.snapshot_id for ref in table.refs().values()}
        of = {s.snapshot_id: reachable.of_snapshot(table, s) for s in table.snapshots()}
        counts = expire(lake, name, older_than=later())
        left = {str(file) for file in Path("wh").rglob("*") if file.is_file()}
        again = lake.other.load_table(f"fx.{name}")
        kept = {s.snapshot_id for s in again.snapshots()}
        assert heads <= kept
        assert kept == heads or name == "refs", "branches of that table say how many snapshots they keep"
        wanted = set().union(*(of[snapshot_id] for snapshot_id in kept))
        doomed = set().union(*of.values()) - wanted
        assert wanted <= left, name
        assert not doomed & left, name
        assert sum(counts.values()) == len(doomed) + counts["statistics"], name
        assert again.refs() == table.refs()

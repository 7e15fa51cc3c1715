"""Rewrites of every kind among writers of every kind: after any history the table holds the rows of a plain model.

Each history runs against one table: appends and copy-on-write deletes by PyIceberg, position and equality deletes as
another engine commits them, new partition specs, and rewrites of ours, with some of these while a rewrite is under way.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan
from pyiceberg.transforms import BucketTransform, IdentityTransform

from coordinator.connectors.iceberg.rewrite.planning import methods as copying
from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.connectors.iceberg.rewrite.writing import spreading
from coordinator.expressions.builders import constant, operator
from coordinator.expressions.types import BOOLEAN
from coordinator.kernels import scratch, sorting
from shared.plan.expressions import Variable
from shared.plan.types import Type
from tests.iceberg.racing import rewrite_beside

EXAMPLES = 60 if os.environ.get("PROCESSION_TEST_FULL") == "1" else 8
WRITES = ("append", "delete", "positions", "equality", "evolve", "rival")
REWRITES: dict[str, dict[str, Any]] = {
    "pack": {"options": {"min-input-files": "2"}},
    "all": {"options": {"rewrite-all": "true"}},
    "sort": {"options": {"rewrite-all": "true"}, "strategy": "sort", "sorted_by": ["id DESC"]},
    "hilbert": {"options": {"rewrite-all": "true"}, "strategy": "sort", "sorted_by": ["hilbert(id, kind)"]},
    "steps": {"options": {"rewrite-all": "true", "max-file-group-size-bytes": "3000",
                          "partial-progress.enabled": "true"}},
    "dangling": {"options": {"rewrite-all": "true", "remove-dangling-deletes": "true"}},
}  # fmt: skip
STEP = st.tuples(st.sampled_from([*WRITES, *REWRITES]), st.sampled_from([None, None, *WRITES]), st.integers(0, 99))


class History:
    """A table and the ids that it ought to hold; ``hidden`` ones went by equality deletes, which PyIceberg skips."""

    def __init__(self, lake: Any, foreign: Any) -> None:
        self.lake, self.foreign = lake, foreign
        self.name = f"t{uuid.uuid4().hex[:8]}"
        self.ids: set[int] = set()
        self.next = 0
        lake.other.create_table(f"db.{self.name}", schema=self.rows([0]).schema)
        self.append(0)

    def rows(self, ids: list[int]) -> pa.Table:
        return pa.table({"id": pa.array(ids, pa.int64()), "kind": [f"kind {i % 7}" for i in ids]})

    def append(self, seed: int) -> None:
        ids = list(range(self.next, self.next + 20 + seed % 5))
        self.next += len(ids)
        self.lake.table(self.name).append(self.rows(ids))
        self.ids |= set(ids)

    def delete(self, seed: int) -> None:
        low, high = seed * self.next // 100, seed * self.next // 100 + 5
        # PyIceberg warns of a delete that finds nothing.
        if self.has_equality_deletes() or self.ids.isdisjoint(range(low, high)):
            return
        self.lake.table(self.name).delete(And(GreaterThanOrEqual("id", low), LessThan("id", high)))
        self.ids -= set(range(low, high))

    def has_equality_deletes(self) -> bool:
        """PyIceberg refuses to scan such a table."""
        table = self.lake.table(self.name)
        manifests = table.current_snapshot().manifests(table.io)
        entries = [e for m in manifests for e in m.fetch_manifest_entry(table.io)]
        return any(entry.data_file.content.value == 2 for entry in entries)

    def positions(self, seed: int) -> None:
        if self.has_equality_deletes():
            return
        table = self.lake.table(self.name)
        current = [task.file for task in table.scan().plan_files() if task.file.spec_id == table.spec().spec_id]
        if not current:
            return
        chosen = sorted(current, key=lambda file: file.file_path)[seed % len(current)]
        arrow = pa.parquet.ParquetFile(chosen.file_path.removeprefix("file://")).read()
        place = seed % arrow.num_rows
        self.foreign.delete_positions(table, {chosen.file_path: [place]}, chosen.partition)
        self.ids -= {arrow.column("id")[place].as_py()}

    def evolve(self, seed: int) -> None:
        """Partitions where there were none, or none any more."""
        table = self.lake.table(self.name)
        transform = IdentityTransform() if seed % 2 else BucketTransform(3)
        with table.update_spec() as update:
            if table.spec().is_unpartitioned():
                update.add_field("kind", transform, f"p{len(table.specs())}")
            for field in table.spec().fields:
                update.remove_field(field.name)

    def equality(self, seed: int) -> None:
        if not self.lake.table(self.name).spec().is_unpartitioned():
            return
        gone = seed * self.next // 100
        self.foreign.delete_equal(self.lake.table(self.name), pa.table({"id": pa.array([gone], pa.int64())}))
        self.ids -= {gone}

    def rival(self, seed: int) -> None:
        """Another coordinator rewrites the files that may have some ids."""
        last = constant(seed * self.next // 100, Type("bigint"))
        below = operator("<", (Variable(name="id", type="bigint"), last), BOOLEAN)
        self.lake.connector, kept = self.lake.connect(), self.lake.connector
        self.lake.rewrite(self.name, {"rewrite-all": "true"}, below)
        self.lake.connector.close()
        self.lake.connector = kept

    def rewrite(self, kind: str, meanwhile: Callable[[], None] | None) -> None:
        rewrite_beside(self.lake, self.name, REWRITES[kind], meanwhile)

    def check(self) -> None:
        # Our rewrite applies what PyIceberg cannot read; then PyIceberg's view has to be the model's.
        self.rewrite("all", None)
        assert {row[0] for row in self.lake.rows(self.name)} == self.ids
        assert len(self.lake.rows(self.name)) == len(self.ids)
        assert self.lake.orphans(self.name) == set()
        assert self.lake.connector.journal.open_entries("lab") == []
        settled = {"min-input-files": "2", "remove-dangling-deletes": "true"}
        if len(self.lake.table(self.name).specs()) > 1:
            # What moved into a partition lies beside what was there, as after Iceberg's own: one more run joins them.
            self.lake.rewrite(self.name, settled)
        assert set(self.lake.rewrite(self.name, settled).values()) == {0}, "a second run finds nothing"


@pytest.fixture
def steps_of_large_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting over ranges, and copies of row groups, in tables of a few rows."""
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 500)
    monkeypatch.setattr(scratch, "_RUN_BYTES", 1000)
    monkeypatch.setattr(sorting, "_PASS_BYTES", 1000)
    monkeypatch.setattr(copying, "LEAST_ROW_GROUP", 100)


@pytest.mark.slow
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(STEP, min_size=2, max_size=7))
def test_any_history_keeps_the_models_rows(
    lake: Any, foreign: Any, steps_of_large_groups: None, history: list[tuple[str, str | None, int]]
) -> None:
    table = History(lake, foreign)
    for action, meanwhile, seed in history:
        if action in WRITES:
            getattr(table, action)(seed)
        elif meanwhile is None:
            table.rewrite(action, None)
        else:
            write = getattr(table, meanwhile)
            table.rewrite(action, lambda write=write, seed=seed: write(seed))
    table.check()

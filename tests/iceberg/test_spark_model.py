"""Rewrites among two real writers, Spark and PyIceberg: Iceberg Java then reads just what a plain model holds.

Tables of format version 2 carry position deletes and of version 3 deletion vectors, both written by Spark, which also
commits while a rewrite of ours is under way. Kernels run in this process.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan

from coordinator.connectors.iceberg.properties import spark_properties
from coordinator.connectors.iceberg.rewrite.planning import methods as copying
from coordinator.connectors.iceberg.rewrite.writing import sorting as range_sorting
from coordinator.connectors.iceberg.rewrite.writing import spreading
from coordinator.kernels import scratch, sorting
from shared.errors import ProcessionError
from tests.execution import FakeExecution
from tests.iceberg.racing import rewrite_beside
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAME = "rivals"
FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"
REWRITES: dict[str, dict[str, Any]] = {
    "pack": {"options": {"min-input-files": "2"}},
    "all": {"options": {"rewrite-all": "true"}},
    "sort": {"options": {"rewrite-all": "true"}, "strategy": "sort", "sorted_by": ["id DESC"]},
    "zorder": {"options": {"rewrite-all": "true"}, "strategy": "sort", "sorted_by": ["zorder(id, kind)"]},
    "steps": {"options": {"rewrite-all": "true", "max-file-group-size-bytes": "3000",
                          "partial-progress.enabled": "true"}},
}  # fmt: skip


@dataclass
class Rivals:
    """The lake as we see it and the Spark that writes to it."""

    lake: Any
    engine: Any

    def sql(self, text: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.engine.workers(FakeExecution()).run_sql(text)]


@pytest.fixture(scope="module")
def rivals(spark_engine: Any, lake_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rivals]:
    lake = lake_in(tmp_path_factory.mktemp(NAME), NAME)
    for name, value in spark_properties(lake.connector.settings).items():
        spark_engine.connect().session.conf.set(name, value)
    yield Rivals(lake, spark_engine)


@pytest.fixture
def steps_of_large_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting over ranges, and copies of row groups, in tables of a few rows."""
    monkeypatch.setattr(range_sorting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(spreading, "_RANGE_BYTES", 500)
    monkeypatch.setattr(scratch, "_RUN_BYTES", 1000)
    monkeypatch.setattr(sorting, "_PASS_BYTES", 1000)
    monkeypatch.setattr(copying, "LEAST_ROW_GROUP", 100)


@dataclass
class History:
    """A table, and the values of ``note`` by the ids that it ought to hold."""

    rivals: Rivals
    version: int
    name: str = field(default_factory=lambda: f"t{uuid4().hex[:8]}")
    rows: dict[int, str] = field(default_factory=dict)
    next: int = 0

    def __post_init__(self) -> None:
        self.sql(
            "CREATE TABLE {t} (id bigint, kind string, note string) USING iceberg TBLPROPERTIES ("
            f"'format-version'='{self.version}', 'write.delete.mode'='merge-on-read', "
            "'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
        )
        self.spark_insert(0)
        self.spark_insert(1)

    @property
    def lake(self) -> Any:
        return self.rivals.lake

    def sql(self, text: str) -> list[dict[str, Any]]:
        return self.rivals.sql(text.replace("{t}", f"{NAME}.db.{self.name}"))

    def new_ids(self, seed: int) -> range:
        ids = range(self.next, self.next + 8 + seed % 5)
        self.next = ids.stop
        self.rows |= dict.fromkeys(ids, "new")
        return ids

    def some(self, seed: int, count: int = 4) -> range:
        low = seed * self.next // 100
        return range(low, low + count)

    def spark_insert(self, seed: int) -> None:
        ids = self.new_ids(seed)
        made = f"id, concat('kind ', id % 3), 'new' FROM range({ids.start}, {ids.stop})"
        self.sql(f"INSERT INTO {{t}} SELECT {made}")

    def spark_delete(self, seed: int) -> None:
        gone = self.some(seed)
        self.sql(f"DELETE FROM {{t}} WHERE id >= {gone.start} AND id < {gone.stop}")
        self.rows = {id_: note for id_, note in self.rows.items() if id_ not in gone}

    def spark_update(self, seed: int) -> None:
        changed, note = self.some(seed), f"u{seed}"
        self.sql(f"UPDATE {{t}} SET note = '{note}' WHERE id >= {changed.start} AND id < {changed.stop}")
        self.rows |= {id_: note for id_ in changed if id_ in self.rows}

    def spark_overwrite(self, seed: int) -> None:
        """Everything anew; files go that a rewrite may be reading."""
        self.rows.clear()
        ids = self.new_ids(seed)
        made = f"id, concat('kind ', id % 3), 'new' FROM range({ids.start}, {ids.stop})"
        self.sql(f"INSERT OVERWRITE {{t}} SELECT {made}")

    def spark_rewrite(self, seed: int) -> None:
        """Iceberg's own, racing ours; it may lose as well."""
        with suppress(ProcessionError):
            self.sql(f"CALL {NAME}.system.rewrite_data_files(table => 'db.{self.name}', "
                     "options => map('rewrite-all', 'true'))")  # fmt: skip

    def spark_partition(self, seed: int) -> None:
        specs = self.lake.table(self.name).spec().fields
        change = (
            f"DROP PARTITION FIELD {specs[0].name}" if specs else f"ADD PARTITION FIELD kind AS k{seed}_{self.next}"
        )
        self.sql(f"ALTER TABLE {{t}} {change}")

    def python_append(self, seed: int) -> None:
        if self.version > 2:  # PyIceberg does not write it
            self.spark_insert(seed)
            return
        ids = list(self.new_ids(seed))
        rows = {"id": pa.array(ids, pa.int64()), "kind": [f"kind {i % 3}" for i in ids], "note": ["new"] * len(ids)}
        self.lake.table(self.name).append(pa.table(rows))

    def python_delete(self, seed: int) -> None:
        gone = self.some(seed)
        if self.version > 2 or self.rows.keys().isdisjoint(gone):  # it warns of a delete that finds nothing
            self.spark_delete(seed)
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Merge on read is not yet supported", UserWarning)
            self.lake.table(self.name).delete(And(GreaterThanOrEqual("id", gone.start), LessThan("id", gone.stop)))
        self.rows = {id_: note for id_, note in self.rows.items() if id_ not in gone}

    def rewrite(self, kind: str, meanwhile: Callable[[], None] | None = None) -> bool:
        """Whether it was committed; a conflict is only allowed where somebody else was at work."""
        return rewrite_beside(self.lake, self.name, REWRITES[kind], meanwhile)

    def ours_expire(self, _seed: int) -> None:
        """Every snapshot but the newest, with the files that only they need."""
        self.lake.call("expire_snapshots", schema="db", table_name=self.name, older_than=datetime(2100, 1, 1))

    def ours_manifests(self, _seed: int) -> None:
        self.lake.call("rewrite_manifests", schema="db", table_name=self.name)

    def ours_dangling(self, _seed: int) -> None:
        self.lake.call("remove_dangling_deletes", schema="db", table_name=self.name)

    def check(self) -> None:
        """Iceberg Java reads just the model's rows, and no file is left over."""
        found = [(row["id"], row["note"]) for row in self.sql("SELECT id, note FROM {t}")]
        assert sorted(found) == sorted(self.rows.items())
        assert self.lake.connector.journal.open_entries(NAME) == []
        # Hadoop leaves checksum files beside what Iceberg writes.
        assert {path for path in self.lake.orphans(self.name) if not path.endswith(".crc")} == set()

    def lineage(self) -> list[dict[str, Any]]:
        return self.sql("SELECT id, _row_id, _last_updated_sequence_number AS s FROM {t} ORDER BY id")

    def settle(self) -> None:
        """One more rewrite applies every delete: the files alone then hold the model's rows, and row ids stay."""
        before = self.lineage() if self.version > 2 else []
        self.rewrite("all")
        self.check()
        if self.version > 2:
            assert self.lineage() == before
        table = self.lake.table(self.name)
        paths = [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
        if paths:
            data = duckdb.sql(f"SELECT id, note FROM read_parquet({paths!r})").fetchall()
            assert dict(data) == self.rows
            assert len(data) == len(self.rows)


WRITES = ("spark_insert", "spark_delete", "spark_update", "spark_overwrite", "spark_rewrite", "spark_partition",
          "python_append", "python_delete", "ours_expire", "ours_manifests", "ours_dangling")  # fmt: skip
HARMLESS = {"spark_insert", "spark_partition", "python_append", "ours_expire", "ours_manifests", "ours_dangling"}
"""A rewrite lands beside these always."""
LOST = {"spark_overwrite", "spark_rewrite"}
"""What a rewrite always loses to: the files that it read are gone."""


MEANWHILE = {
    2: ("spark_insert", "spark_delete", "spark_rewrite", "spark_partition", "python_append", "python_delete"),
    3: ("spark_delete", "spark_update", "spark_overwrite", "spark_rewrite", "ours_expire", "ours_manifests"),
}


@pytest.mark.parametrize("version", some([3], [2], "the same with version 3, and any history in both versions"))
def test_each_interleaving(rivals: Rivals, version: int) -> None:
    """Each write of each writer while a rewrite is under way, on one table that Spark has deleted from."""
    history = History(rivals, version)
    history.spark_delete(10)
    for number, write in enumerate(WRITES if FULL else MEANWHILE[version]):
        history.spark_insert(number)
        kind = ("all", "sort", "pack")[number % 3]
        landed = history.rewrite(kind, lambda write=write: getattr(history, write)(30))
        assert landed or write not in HARMLESS, write
        assert not landed or write not in LOST, write
        history.check()
    history.settle()


STEP = st.tuples(st.sampled_from([*WRITES, *REWRITES]), st.sampled_from([None, *WRITES]), st.integers(0, 99))


@settings(
    max_examples=25 if FULL else 2,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(version=st.sampled_from([2, 3]), steps=st.lists(STEP, min_size=4, max_size=8 if FULL else 5))
def test_any_history(
    rivals: Rivals, steps_of_large_groups: None, version: int, steps: list[tuple[str, str | None, int]]
) -> None:
    history = History(rivals, version)
    for action, meanwhile, seed in steps:
        if action in WRITES:
            getattr(history, action)(seed)
        elif meanwhile is None:
            history.rewrite(action)
        else:
            history.rewrite(action, lambda name=meanwhile, seed=seed: getattr(history, name)(seed))
        history.check()
    history.settle()

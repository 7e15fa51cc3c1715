"""Steps of an operation that a harm waits for: told by the journal, by the catalog and by the files of the table."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from pyiceberg.table import Table

from benchmarks.chaos.ledger import files_under
from tests.e2e.service import Service

_LOOK_SECONDS = 0.003
_PATIENCE_SECONDS = 60.0
REWRITE_STEPS = ("begun", "writing", "committing", "manifests", "landed")
CHANGES, ON_SPARK = ("merge", "update", "delete"), " on spark"
"""Operations that are there twice."""
STEPS: Mapping[str, tuple[str, ...]] = {
    "rewrite": REWRITE_STEPS,
    "sort": REWRITE_STEPS,
    "partial progress": REWRITE_STEPS,
    **dict.fromkeys(
        ("insert", *CHANGES, *(name + ON_SPARK for name in CHANGES), "replace", "bulk"),
        ("recorded", "writing", "manifests", "landed"),
    ),
    "few": ("recorded", "writing", "landed"),
    "ctas": ("unfinished", "filled"),
    "late": ("running",),
    "late scan": ("running",),
    "expire": ("deleting",),
    "orphans": ("deleting",),
}
"""By operation, in their order; an operation without any is met by chance."""


@dataclass(frozen=True)
class Place:
    """A table of a round, as it was before its operation."""

    service: Service
    catalog: str
    table: Table
    snapshots: frozenset[int]
    files: frozenset[str]
    records: frozenset[tuple[str, str]]

    def reached(self, step: str) -> bool:
        """Whether the operation is at ``step``, or beyond it."""
        match step:
            case "begun" | "committing" | "recorded" | "unfinished":
                return any(state == step for _, state in records(self.service, self.catalog) - self.records)
            case "writing":
                return any(self._by_the_operation(file) for file in files_under(self.table, "data") - self.files)
            case "filled":
                made = f"/{self.table.name()[-1]}_made"
                return any(made in file and file.endswith(".parquet") for file in files_under(self.table, ".."))
            case "manifests":
                return any(file.endswith(".avro") and self._by_the_operation(file) for file in self._metadata())
            case "landed":
                return bool(self._own_snapshots())
            case "deleting":
                return bool(self.files - files_under(self.table, "data") - files_under(self.table, "metadata"))
            case "running":
                name = self.table.name()[-1]
                return any(q["state"] == "RUNNING" and name in q["query"] for q in self.service.get("/v1/query"))
            case other:
                raise ValueError(other)

    def _metadata(self) -> set[str]:
        return files_under(self.table, "metadata") - self.files

    def _by_the_operation(self, file: str) -> bool:
        return any(one in file for one, _ in records(self.service, self.catalog) - self.records)

    def _own_snapshots(self) -> list[int]:
        fresh = self.table.catalog.load_table(self.table.name()).metadata.snapshots
        new = (s for s in fresh if s.snapshot_id not in self.snapshots and s.summary is not None)
        return [s.snapshot_id for s in new if "procession.query-id" in s.summary.additional_properties]  # type: ignore[union-attr]


def place_of(service: Service, catalog: str, table: Table) -> Place:
    """The table as it is now."""
    files = files_under(table, "data") | files_under(table, "metadata")
    snapshots = frozenset(s.snapshot_id for s in table.refresh().metadata.snapshots)
    return Place(service, catalog, table, snapshots, frozenset(files), frozenset(records(service, catalog)))


def wait_for(place: Place, step: str, over: threading.Event) -> float | None:
    """Seconds until the operation was at ``step``; None when it was ``over`` before that, or nothing came of it."""
    begun = time.monotonic()
    while time.monotonic() - begun < _PATIENCE_SECONDS:
        ended = over.is_set()
        if _quietly(lambda: place.reached(step)):
            return time.monotonic() - begun
        if ended:
            return None
        time.sleep(_LOOK_SECONDS)
    return None


def records(service: Service, catalog: str) -> set[tuple[str, str]]:
    """What the journal has: an id, and how far what it stands for is."""
    file = service.data_dir / catalog / f"{catalog}.journal.db"
    if not file.exists():
        return set()
    found: set[tuple[str, str]] = set()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "rewrite_calls" in tables:
            rows = connection.execute("SELECT call_id, state FROM rewrite_calls")
            found |= {(call, state.lower()) for call, state in rows}
        if "open_writes" in tables:
            found |= {(write, "recorded") for (write,) in connection.execute("SELECT write_id FROM open_writes")}
        if "unfinished_tables" in tables:
            rows = connection.execute("SELECT table_name FROM unfinished_tables")
            found |= {(name, "unfinished") for (name,) in rows}
    return found


def _quietly(condition: Callable[[], bool]) -> bool:
    """False where storage or catalog do not answer just now."""
    try:
        return condition()
    except Exception:
        return False

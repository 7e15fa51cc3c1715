"""Tables that a maintenance service looks after: what a connector tells of them, and nothing that it decides.

The numbers come from metadata alone; no data file is read. The procedures that do the work are in
``shared.spi.procedure``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition at the table's current snapshot; sizes in bytes.

    A file is small below three quarters of the target size. ``predicate`` is a filter in Presto's SQL that selects the
    partition and no other; None where its transforms have none. ``last_change`` is when a file last came or went.

    Of tables with a sort order: ``overlap_depth`` files or sorted runs at most have one key, ``average_depth`` is the
    mean over the files, and ``overlap_size`` are the bytes that share keys, but for the largest run. ``stale`` files
    do not say that they are in this order.
    """

    name: str
    files: int
    size: int
    records: int
    small_files: int
    small_size: int
    position_deletes: int = 0
    equality_deletes: int = 0
    delete_files: int = 0
    equality_files: int = 0
    last_change: datetime | None = None
    predicate: str | None = None
    overlap_depth: int = 0
    average_depth: float = 0.0
    overlap_size: int = 0
    stale_files: int = 0
    stale_size: int = 0


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Commits of other programs that named data files, to delete rows in them or to replace them.

    They fail where a rewrite takes these files meanwhile. One gap in twenty between two of them is shorter than
    ``short_gap_seconds``.
    """

    last: datetime
    median_gap_seconds: float
    short_gap_seconds: float


@dataclass(frozen=True, slots=True)
class CommitRates:
    """What the snapshots of the last seven days say; ``median_gap_seconds`` lies between two commits of writers."""

    commits: int = 0
    appended: int = 0
    rewritten: int = 0
    median_gap_seconds: float | None = None
    foreign_rewriter: str | None = None
    """Another program that rewrote the table at least twice within a day."""
    row_changes: RowChanges | None = None
    """None where there were fewer than two."""


@dataclass(frozen=True, slots=True)
class SnapshotRetention:
    """How long a policy keeps snapshots; None leaves it to the table and to Iceberg's defaults."""

    max_age: timedelta | None = None
    min_kept: int | None = None


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as one look finds it.

    ``marker`` changes with every change of the table. ``obstacle`` says why it must be left alone altogether, and
    ``keeps_files`` that nothing of it may be deleted.
    """

    catalog: str
    schema: str
    table: str
    uuid: str
    marker: str
    target_size: int
    partitions: Sequence[PartitionState] = ()
    snapshots: int = 0
    expirable_snapshots: int = 0
    manifests: int = 0
    small_manifests: int = 0
    small_manifest_size: int = 0
    dangling_deletes: int = 0
    rates: CommitRates = field(default_factory=CommitRates)
    stale_statistics: Mapping[str, float] = field(default_factory=dict)
    """Procedures that would bring statistics up to date, with the share of rows that changed since."""
    sorted: bool = False
    divided_by_time: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    obstacle: str | None = None
    keeps_files: str | None = None

    @property
    def files(self) -> int:
        return sum(partition.files for partition in self.partitions)

    @property
    def size(self) -> int:
        return sum(partition.size for partition in self.partitions)


@dataclass(frozen=True, slots=True)
class AttachedPolicy:
    """What a catalog's server says of how a table is to be looked after: ``content`` is JSON, as it came."""

    name: str
    kind: str
    content: str
    inherited: bool = False


class MaintainedTables(Protocol):
    """A connector whose tables need looking after. Thread-safe; raises ProcessionError."""

    def marker(self, schema: str, table: str) -> str | None:
        """What changes with every change of a table, as cheaply as can be; None when there is no such table."""
        ...

    def markers(self, schema: str) -> Mapping[str, str]:
        """What ``marker`` tells of the tables of a schema, as far as one question tells it of all; else nothing."""
        ...

    def markers_at_once(self) -> Mapping[tuple[str, str], str] | None:
        """What ``marker`` tells of all tables, by schema and name; None where that is more than one question."""
        ...

    def marker_if_cheap(self, schema: str, table: str) -> str | None:
        """What ``marker`` tells, where nobody reads the table's metadata for it; None where somebody would."""
        ...

    def table_state(self, schema: str, table: str, now: datetime, retention: SnapshotRetention) -> TableState | None:
        """A look at a table, ``retention`` where the table says nothing of its own; None when there is no such one."""
        ...

    def attached_policies(self, schema: str, table: str) -> Sequence[AttachedPolicy]:
        """Those of a table that its catalog's server keeps; none where it keeps none."""
        ...

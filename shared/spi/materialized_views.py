"""Materialized views: what a catalog keeps of one, and what it can tell of the tables below it.

The rows of such a view are in a table of their own, its storage table, as its query gave them over known snapshots of
the tables that it reads. Names and meanings of the stored parts are those of Presto's Iceberg connector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from shared.spi.catalog_changes import PropertyDeclaration
    from shared.spi.connector import TableMetadata, ViewMetadata

StaleReads = Literal["USE_VIEW_QUERY", "FAIL"]
RefreshType = Literal["INCREMENTAL", "FULL"]
NO_SNAPSHOT = 0
"""In place of a snapshot's id, for a table that has none."""


@dataclass(frozen=True, slots=True)
class BaseTable:
    """A table of the view's own catalog that its query reads, and the snapshot that the last refresh read of it."""

    schema: str
    table: str
    snapshot_id: int = NO_SNAPSHOT


@dataclass(frozen=True, slots=True)
class Materialization:
    """Of one view. ``refreshed`` is the snapshot of the storage table that is read, None before the first refresh.

    ``meaning`` is a digest of what the view's query meant then, ``read_ms`` when its tables were looked at; both are
    None where another program refreshed it.
    """

    storage_schema: str
    storage_table: str
    base_tables: tuple[BaseTable, ...]
    refreshed: int | None = None
    meaning: str | None = None
    read_ms: int | None = None
    stale_reads: StaleReads | None = None
    staleness_window: float | None = None
    """Seconds for which rows that are not up to date may be read."""
    refresh_type: RefreshType | None = None
    automatic_refresh: bool = False
    others: Mapping[str, str] = field(default_factory=dict)
    """What other programs keep of it."""


@dataclass(frozen=True, slots=True)
class BaseChanges:
    """What became of a table's rows since a snapshot. ``why`` says it for people.

    ``appended``: rows were added and nothing else. ``first_ms`` is when they changed first, None where nobody knows.
    """

    changed: bool
    appended: bool = False
    first_ms: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a write to a storage table has to account for: which view it refreshes, from what, and how.

    ``how``: ``whole`` replaces all rows, ``append`` adds those of new rows, ``merge`` brings groups up to date.
    """

    view: ViewMetadata
    base_tables: tuple[BaseTable, ...]
    meaning: str | None
    read_ms: int
    how: Literal["whole", "append", "merge"]


class MaterializedViews(Protocol):
    """A catalog with materialized views. Methods raise ProcessionError."""

    def materialized_view_properties(self) -> Sequence[PropertyDeclaration]: ...

    def storage_name(self, view: str) -> str:
        """The usual name of a view's storage table."""
        ...

    def is_storage(self, name: str) -> bool:
        """Whether a name is that of a storage table: such tables are not listed."""
        ...

    def storage(self, schema: str, name: str, version: int | None = None) -> TableMetadata | None:
        """A storage table, which no statement can name."""
        ...

    def stored_rows(self, view: ViewMetadata) -> TableMetadata | None:
        """The storage table of a view at what was last refreshed; None when that is not there any more."""
        ...

    def can_continue(self, view: ViewMetadata) -> bool:
        """Whether the storage table's newest rows are those of the last refresh, so that others can be added."""
        ...

    def base_changes(self, base: BaseTable) -> BaseChanges:
        """Since the snapshot that is recorded."""
        ...

"""Writing rows into a table: what planning says, and what the connector is given to do it with.

The engine computes and writes rows and commits once; the connector says where to, prepares, and accounts for what was
committed. The statement's text is the engine's, made by planning; only the target is left for the connector to name,
since a new table is filled under another name before it appears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from shared.errors import ProcessionError
from shared.plan.expressions import RowExpression
from shared.spi.catalog_changes import TableCreation
from shared.spi.materialized_views import Refresh
from shared.spi.procedure import ProcedureContext

WriteKind = Literal["INSERT", "DELETE", "UPDATE", "MERGE"]


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows are changed, when the table's own columns say it all: column names by variable."""

    predicate: RowExpression
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableWrite:
    """One write. The engine's statement is ``before``, the target's quoted name, ``after``.

    ``snapshot_id`` is that of the target as planned. ``creation`` is the table to be made first (CTAS); ``no_rows``
    tells that nothing is written into it. ``row_filter`` is given for a DELETE, which the connector may answer from
    metadata alone, and for an UPDATE; a DELETE of every row has ``all_rows``. ``by_position`` tells that rows of the
    target were chosen by file and position at ``snapshot_id``, ``reads_target`` that the query which replaces the
    target reads it as it is then.
    """

    catalog: str
    schema: str
    table: str
    kind: WriteKind
    before: str
    after: str
    snapshot_id: int | None = None
    creation: TableCreation | None = None
    no_rows: bool = False
    row_filter: RowFilter | None = None
    all_rows: bool = False
    by_position: bool = False
    reads_target: bool = False
    refresh: Refresh | None = None
    """The target is a storage table, and this the refresh of its view."""
    location: str | None = None
    """The target's folder, where it is known."""


class RunStatement(Protocol):
    """Gives one statement to the engine; what it commits carries the property ``procession.query-id``."""

    def __call__(
        self, sql: str, write_id: str | None = None, settings: Mapping[str, str] = ..., /
    ) -> Sequence[Mapping[str, Any]]:
        """Its rows. The names of all files that it writes hold ``write_id``; ``settings`` are the engine's, for it."""
        ...


class LeftToEngineError(ProcessionError):
    """The connector's own way of a write goes no further: its statement is for the engine. Nothing was committed."""


RowsOfQuery = Callable[[], Iterator[object]]
"""Runs the query of a write; its record batches, of pyarrow. Raises LeftToEngineError where it is too much."""


@dataclass(frozen=True, slots=True)
class WriteContext:
    """``run`` gives one statement to the engine.

    ``new_write_id`` gives a new id for the names of a write's files, or None where the engine names them as it likes.
    ``end_write`` tells whether the write of that id, which failed, commits nothing from now on; False: ask again.
    ``rows`` computes what is to be inserted, where the connector may write it: batches of all visible columns in order.
    Of a DELETE, UPDATE or MERGE they begin with the places of rows (``coordinator.unparser.own_changes``). Where the
    write has a text for the engine, ``rows`` are few, and who writes them is the connector's choice.
    """

    procedure: ProcedureContext
    run: RunStatement
    new_write_id: Callable[[], str | None] = lambda: None
    end_write: Callable[[str], bool] = lambda _write_id: True
    rows: RowsOfQuery | None = None

    @property
    def query_id(self) -> str:
        return self.procedure.session.query_id


class WritableCatalog(Protocol):
    """A connector that rows can be written to."""

    def write(self, write: TableWrite, context: WriteContext) -> int:
        """Rows written, deleted or changed, exactly. All or nothing; raises ProcessionError."""
        ...


class CommittedSnapshots(Protocol):
    """A connector whose tables tell which of their snapshots a statement committed."""

    def committed_snapshot(self, schema: str, table: str, query_id: str) -> int | None:
        """The newest one; None where the statement changed nothing. Raises ProcessionError."""
        ...

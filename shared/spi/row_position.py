"""How a connector finds a row again: what late materialization needs of a table (DESIGN §7).

A first pass reads only the columns that decide which rows survive, and with each row its position. A position is one
or more columns that the table's reader makes up; with them a look-up reads the other columns of just those rows.
Iceberg: the data file and the row's number in it, in the pinned snapshot. A source with a primary key may give its key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from shared.plan.nodes import TableHandle, TableScanNode
from shared.spi.connector import ColumnMetadata


@dataclass(frozen=True, slots=True)
class RowPositionDescriptor:
    """The position of a table's rows.

    ``row_source`` says where a row is, ``ref_columns`` which row it is there; both are columns that the engine's
    reader knows. ``deferrable`` are the columns (by the scan's column handles' names) that a look-up can read.
    ``row_count`` and ``size_bytes`` (as stored) are the table's, None when unknown. ``decoded_bytes`` tells what some
    columns of ``deferrable`` are once they are read, None when unknown; asking may read a few footers.
    """

    row_source: ColumnMetadata
    ref_columns: tuple[ColumnMetadata, ...]
    deferrable: frozenset[str]
    row_count: int | None = None
    size_bytes: int | None = None
    decoded_bytes: Callable[[Collection[str]], int | None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LookUpTemplate:
    """What every task of one look-up has in common.

    ``fields`` and ``name_mapping`` are in Iceberg's JSON; ``storage`` opens files. ``paths`` says in which file the
    rows of each row source are; one that is not there cannot be read by position.
    """

    fields: Sequence[Mapping[str, Any]] = ()
    storage: Mapping[str, str] = field(default_factory=dict)
    name_mapping: Sequence[Mapping[str, object]] | None = None
    paths: Mapping[int | str, str] = field(default_factory=dict)
    snapshot_id: int | None = None


@runtime_checkable
class RowPositions(Protocol):
    """A connector whose tables' rows can be found again."""

    def row_position(self, scan: TableScanNode) -> RowPositionDescriptor | str:
        """The position of the scanned table's rows, or the reason why there is none."""
        ...

    def look_up(
        self, table: TableHandle, columns: Sequence[Mapping[str, object]], sources: Sequence[int | str]
    ) -> LookUpTemplate:
        """How to read ``columns`` (column handles) of the table at the pinned snapshot, when the query runs.

        ``sources`` are the distinct values of the row source that the first pass gave.
        Raises ProcessionError when the table cannot be read any more.
        """
        ...

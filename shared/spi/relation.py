"""What an engine reads for one table scan: connectors describe, engines read, with one reader a kind.

So no connector imports an engine, and a new source is a relation and a reader. Relations are made while planning and
cross processes: they hold no credentials, only names by which the catalog finds them when the query runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.errors import ProcessionError
from shared.plan.nodes import TableHandle


@dataclass(frozen=True, slots=True)
class ParquetRelation:
    """Parquet files with the columns of the scan, and their total size in bytes.

    ``made_by`` is the table whose connector makes the files when the query runs (``FileSource``); None when they are
    there.
    """

    paths: tuple[str, ...]
    size_bytes: int
    made_by: TableHandle | None = None


@dataclass(frozen=True, slots=True)
class RowsRelation:
    """Rows that the connector itself makes in the coordinator when the query runs (``RowSource.rows``).

    ``columns`` are the names that the scan reads, in its order.
    """

    catalog: str
    handle: TableHandle
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadHere:
    """A scan that the connector can read in the coordinator too: what it reads, by the metadata of its files."""

    relation: RowsRelation
    size_bytes: int
    rows: int
    files: int
    decoded_bytes: int | None = None
    """An estimate; None where the footers do not tell."""
    direct: bool = False
    """Whether an engine reads the columns by itself, as they are stored."""
    only: bool = False
    """Whether Spark cannot read the table at all."""
    held_bytes: int = 0
    """An estimate of what a task of Spark's own reader would have in memory; 0 where nothing tells."""
    too_wide: bool = False
    """Whether that is too much: the kernels read the files for Spark."""
    decoded_here: str = ""
    """The column, with its type, whose values the kernels alone give as SQL has them; they read the files for Spark."""
    page_bytes: int = 0
    """An estimate of the largest Parquet page, decoded; 0 where nothing tells."""
    refused: str = ""
    """Why neither Spark nor the kernels for it may read the table; empty: they may."""

    @property
    def by_kernels(self) -> bool:
        """Whether Spark does not read the files by itself."""
        return self.only or self.too_wide or bool(self.decoded_here)


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table that Spark knows by name, under the catalog's own name; the snapshot is the one pinned at planning.

    ``here``: how it is read without Spark, or why it is not. ``options`` are names and values for Spark's reader, of
    the connector's own words.
    """

    parts: tuple[str, ...]
    snapshot_id: int | None = None
    here: ReadHere | str = "it is a table of Spark's alone"
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """The rows that snapshots of one table added, after one and up to another; for Spark alone."""

    parts: tuple[str, ...]
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class JdbcPartitioning:
    """How a remote query may be read by several tasks: ``sql`` is the query with ``column`` among its columns.

    ``bounds`` is remote SQL for the least and the greatest value of the column.
    """

    sql: str
    column: str
    bounds: str


@dataclass(frozen=True, slots=True)
class JdbcRelation:
    """A query in the remote database's own SQL, its columns and their Presto types.

    ``size_bytes`` and ``row_count`` are estimates of its result, None when unknown.
    """

    catalog: str
    sql: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    size_bytes: int | None = None
    row_count: int | None = None
    partitioning: JdbcPartitioning | None = None


@dataclass(frozen=True, slots=True)
class SentRelation:
    """The rows that the statement's own client sends along with it; they are there when it runs."""

    columns: tuple[str, ...]


Relation = CatalogTable | ParquetRelation | RowsRelation | JdbcRelation | AppendedRows | SentRelation


@dataclass(frozen=True, slots=True)
class Input:
    """A relation that the engine must put under ``name`` before it runs a statement.

    ``by_kernels``: executors read the files of the table by the kernels, however many they are. ``first_rows``: the
    statement wants some first rows and may well stop reading then.
    """

    name: str
    relation: ParquetRelation | RowsRelation | JdbcRelation | AppendedRows | SentRelation
    by_kernels: bool = False
    first_rows: bool = False


class ArrowStream(Protocol):
    """Rows as an Arrow C stream (the PyCapsule protocol): pyarrow's tables and readers are such."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class RowSource(Protocol):
    """A connector that delivers rows in the coordinator."""

    def read(self, relation: RowsRelation | JdbcRelation) -> ArrowStream:
        """The rows, columns named as in ``relation.columns``; blocks. Raises ProcessionError."""
        ...


class FileSource(Protocol):
    """A connector whose files are made when they are first read."""

    def make_files(self, handle: TableHandle, check_cancelled: Callable[[], None]) -> None:
        """Make the files of a table that are missing; blocks, in any process. Raises ProcessionError."""
        ...


class RemoteReads(Protocol):
    """What one statement reads from one database, from its first connection to its last. Methods block."""

    def rows(self, relation: JdbcRelation) -> ArrowStream:
        """The rows in the coordinator. Raises ProcessionError, also while they stream."""
        ...

    def options(self, relation: JdbcRelation) -> Mapping[str, str]:
        """Spark's options to read ``relation``, secrets among them: for the engine alone, never logged."""
        ...

    def failure(self, error: ProcessionError) -> ProcessionError:
        """The database's own error behind what an engine told; ``error`` itself when there is none."""
        ...

    def cancel(self) -> None:
        """End the remote queries of the statement, wherever they run."""
        ...

    def close(self) -> None:
        """Give all connections back. Called once, after the statement ended."""
        ...


class RemoteSource(Protocol):
    """A connector over a database."""

    def reads(self, query_id: str, relations: Sequence[JdbcRelation]) -> RemoteReads:
        """The reads of one statement; opens nothing yet."""
        ...

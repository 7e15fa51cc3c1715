"""What a database is to the connector: names, drivers, types, what it computes as Presto does, its metadata's SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.syntax import Syntax
from coordinator.connectors.jdbc.dialects.url import RemoteAddress, standard_url


@dataclass(frozen=True, slots=True)
class Collation:
    """How a text column compares. ``binary`` is by code point; ``deterministic`` means that only equal bytes are equal.

    ``pads`` says that trailing spaces do not count.
    """

    name: str
    deterministic: bool
    binary: bool
    pads: bool = False


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Estimates that the database keeps, None where it has none; widths are in bytes, ``widths`` by column."""

    rows: int | None = None
    row_width: int | None = None
    widths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MappedType:
    """A remote type as Presto's. ``read`` is SQL with ``{}`` for the column, where it is read in another form."""

    presto: str
    read: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the database expects of a query: rows, bytes a row, and its own measure of the work, None without."""

    rows: int
    row_width: int
    cost: float | None = None

    @property
    def size(self) -> int:
        return self.rows * self.row_width


@dataclass(frozen=True, slots=True)
class Semantics:
    """What the database computes with Presto's meaning (facts/jdbc_pushdown.md F4)."""

    binary_text: Callable[[str], str] | None = None
    """Text made to compare by its bytes whatever its collation, None where that cannot be had."""
    wider_equality: bool = False
    """Whether text that is equal by its bytes is equal there too, under every collation and for every type of text."""
    char_equality: bool = False
    """Whether char(n) compares without trailing spaces against char(n), as Presto's does."""
    empty_text: bool = True
    """Whether '' is text; in Oracle it is NULL."""
    arithmetic: frozenset[str] = frozenset()
    """Integer types of whose + - * an overflow is an error, as in Presto."""
    sums: Callable[[str, int], bool] = lambda _base, _precision: True
    """Whether a sum of that type tells of an overflow, or cannot have one, where Presto refuses it."""
    full_joins: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """``name`` is the value of ``connector.name``; ``sqlglot`` a parser's name of the SQL that ``syntax`` writes.

    ``map_type`` gives None for a type that Presto cannot hold. ``driver_package`` is a Maven coordinate,
    ``python_package`` what the coordinator itself needs, as an extra of this package where it is not always there.
    """

    name: str
    scheme: str
    sqlalchemy_driver: str
    sqlglot: str
    driver_class: str
    driver_package: str
    syntax: Syntax
    semantics: Semantics
    map_type: Callable[[TypeEngine[object]], MappedType | None]
    as_text: str
    collations: Callable[[Connection, str, str], Mapping[str, Collation]]
    statistics: Callable[[Connection, str, str], TableStatistics]
    hidden_schemas: frozenset[str] = frozenset()
    parse_url: Callable[[str], RemoteAddress] = standard_url
    """The parts of what follows ``jdbc:``; raises ValueError."""
    connect_arguments: Callable[[int, Mapping[str, str]], Mapping[str, object]] = lambda _seconds, _parameters: {}
    """The Python driver's arguments for a time limit and the URL's parameters; raises ValueError for a wrong one."""
    connected: Callable[[object, Mapping[str, str]], None] = lambda _connection, _parameters: None
    """What a new connection of the Python driver still needs; raises ValueError when it may not be used."""
    spark_options: Mapping[str, str] = field(default_factory=dict)
    spark_knows_types: bool = False
    """Whether what Spark makes of the driver's types is what Presto's types are to Spark; else it is told."""
    driver_failure: str = r"java\.sql\.SQL\w*Exception: (?P<reason>.*)"
    """A pattern of the driver's own exceptions among Spark's words; ``reason`` is what the database said."""
    session_name: Callable[[str], Mapping[str, str]] = lambda _name: {}
    """Spark's options that give the remote session a name."""
    read_isolation: str | None = "REPEATABLE READ"
    """SQLAlchemy's isolation level of reads, None where the session's own is taken."""
    begin_reads: Callable[[Connection, str], None] = lambda _connection, _name: None
    """Begins a read-only transaction of that name on a connection at ``read_isolation``."""
    end_queries: Callable[[Connection, str], int] | None = None
    """Ends the running queries of sessions, or of queries with a comment, of that name; how many there were."""
    export_snapshot: str | None = None
    """SQL that gives the snapshot of its transaction a name, None where sessions cannot share one."""
    import_snapshot: Callable[[str], str] | None = None
    """SQL that makes a new transaction read that snapshot."""
    explain: Callable[[Connection, str, int], Estimate | None] | None = None
    """The estimate of a query, by EXPLAIN and without running it, given the width of its rows where it is not told."""
    adbc: bool = False
    """Whether an ADBC driver reads this database."""

    def quote(self, name: str) -> str:
        """``name`` as a delimited identifier."""
        return self.syntax.quote(name)

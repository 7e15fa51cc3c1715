"""What a database is to the connector: names, drivers, types and the SQL that asks for its metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection
from sqlalchemy.types import TypeEngine


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
    """A remote type as Presto's. ``read`` wraps the quoted column where it must be read in another form."""

    presto: str
    read: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """``name`` is the value of ``connector.name``; ``sqlglot`` the dialect that the remote SQL is written in.

    ``map_type`` gives None for a type that Presto cannot hold. ``driver_package`` is a Maven coordinate.
    """

    name: str
    scheme: str
    sqlalchemy_driver: str
    sqlglot: str
    driver_class: str
    driver_package: str
    map_type: Callable[[TypeEngine[object]], MappedType | None]
    as_text: Callable[[str], str]
    collations: Callable[[Connection, str, str], Mapping[str, Collation]]
    statistics: Callable[[Connection, str, str], TableStatistics]
    hidden_schemas: frozenset[str] = frozenset()
    quote_character: str = '"'
    connect_arguments: Callable[[int], Mapping[str, object]] = lambda _seconds: {}
    spark_options: Mapping[str, str] = field(default_factory=dict)
    driver_failure: str = r"java\.sql\.SQL\w*Exception: (?P<reason>.*)"
    """A pattern of the driver's own exceptions among Spark's words; ``reason`` is what the database said."""
    session_name: Callable[[str], Mapping[str, str]] = lambda _name: {}
    """Spark's options that give the remote session a name."""
    begin_reads: Callable[[Connection, str], None] = lambda _connection, _name: None
    """Begins a read-only transaction of that name on a connection at isolation level REPEATABLE READ."""
    end_queries: Callable[[Connection, str], int] = lambda _connection, _name: 0
    """Ends the running queries of sessions, or of queries with a comment, of that name; how many there were."""
    export_snapshot: str | None = None
    """SQL that gives the snapshot of its transaction a name, None where sessions cannot share one."""
    import_snapshot: Callable[[str], str] | None = None
    """SQL that makes a new transaction read that snapshot."""
    cast_names: Mapping[str, str] = field(default_factory=dict)
    """The dialect's names of Presto types in CAST, where they are others."""
    sums: Callable[[str, int], bool] = lambda _base, _precision: True
    """Whether a sum of that type tells of an overflow, or cannot have one, where Presto refuses it."""
    adbc: bool = False
    """Whether an ADBC driver reads this database."""

    def quote(self, name: str) -> str:
        """``name`` as a delimited identifier."""
        mark = self.quote_character
        return f"{mark}{name.replace(mark, mark * 2)}{mark}"

"""What Flight SQL's clients ask for, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from coordinator.flight.messages import unpacked
from coordinator.flight.wire import Fields, WireError

IfMissing = Literal["create", "fail"]
IfExists = Literal["fail", "append", "replace"]
_IF_MISSING: Mapping[int | None, IfMissing] = {1: "create", 2: "fail"}
_IF_EXISTS: Mapping[int | None, IfExists] = {1: "fail", 2: "append", 3: "replace"}


@dataclass(frozen=True, slots=True)
class StatementQuery:
    """A statement whose rows are wanted."""

    text: str


@dataclass(frozen=True, slots=True)
class StatementUpdate:
    """A statement of which only the number of rows is wanted."""

    text: str


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """Rows of a prepared statement, or its parameters."""

    handle: bytes


@dataclass(frozen=True, slots=True)
class PreparedUpdate:
    """A prepared statement of which only the number of rows is wanted."""

    handle: bytes


@dataclass(frozen=True, slots=True)
class StatementTicket:
    """Rows of a statement that runs."""

    handle: bytes


@dataclass(frozen=True, slots=True)
class GetCatalogs:
    """All catalogs."""


@dataclass(frozen=True, slots=True)
class GetDbSchemas:
    """Schemas; ``pattern`` as in LIKE."""

    catalog: str | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class GetTables:
    """Tables; patterns as in LIKE, ``types`` empty for all."""

    catalog: str | None
    schema_pattern: str | None
    table_pattern: str | None
    types: tuple[str, ...]
    include_schema: bool


@dataclass(frozen=True, slots=True)
class GetTableTypes:
    """The types of tables that there are."""


@dataclass(frozen=True, slots=True)
class GetSqlInfo:
    """What this server can do; ``codes`` empty for all."""

    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GetXdbcTypeInfo:
    """Types of values; all of them, or one of ODBC's numbers."""

    data_type: int | None


@dataclass(frozen=True, slots=True)
class GetPrimaryKeys:
    """Of a table; there are none."""


@dataclass(frozen=True, slots=True)
class GetForeignKeys:
    """Exported, imported or between two tables; there are none."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that Flight SQL has and this server has not."""

    name: str


@dataclass(frozen=True, slots=True)
class Ingest:
    """Rows for a table, which follow; what is None or empty is the session's, or nothing."""

    table: str
    schema: str | None
    catalog: str | None
    if_missing: IfMissing
    if_exists: IfExists
    options: tuple[str, ...] = ()
    """Their names."""


Metadata = (
    GetCatalogs
    | GetDbSchemas
    | GetTables
    | GetTableTypes
    | GetSqlInfo
    | GetXdbcTypeInfo
    | GetPrimaryKeys
    | GetForeignKeys
)
Updating = StatementUpdate | PreparedUpdate | Ingest
Command = StatementQuery | PreparedQuery | StatementTicket | Updating | Metadata | Unsupported


def read_command(data: bytes) -> Command:  # noqa: C901 - one case a command
    """Raises WireError for what is none."""
    name, fields = unpacked(data)
    match name:
        case "CommandStatementQuery" | "CommandStatementUpdate" if fields.data(2):
            return Unsupported("transactions")
        case "CommandStatementQuery":
            return StatementQuery(fields.text(1))
        case "CommandStatementUpdate":
            return StatementUpdate(fields.text(1))
        case "CommandPreparedStatementQuery":
            return PreparedQuery(fields.data(1))
        case "CommandPreparedStatementUpdate":
            return PreparedUpdate(fields.data(1))
        case "TicketStatementQuery":
            return StatementTicket(fields.data(1))
        case "CommandStatementIngest":
            return _ingest(fields)
        case "CommandGetCatalogs":
            return GetCatalogs()
        case "CommandGetDbSchemas":
            return GetDbSchemas(fields.optional_text(1), fields.optional_text(2))
        case "CommandGetTables":
            return _tables(fields)
        case "CommandGetTableTypes":
            return GetTableTypes()
        case "CommandGetSqlInfo":
            return GetSqlInfo(fields.integers(1))
        case "CommandGetXdbcTypeInfo":
            return GetXdbcTypeInfo(_signed(fields.integer(1)))
        case "CommandGetPrimaryKeys":
            return GetPrimaryKeys()
        case "CommandGetExportedKeys" | "CommandGetImportedKeys" | "CommandGetCrossReference":
            return GetForeignKeys()
        case _:
            return Unsupported(name)


def _ingest(fields: Fields) -> Ingest | Unsupported:
    if fields.integer(5):
        return Unsupported("temporary tables")
    if fields.data(6):
        return Unsupported("transactions")
    definition = Fields(fields.data(1))
    if_missing, if_exists = _IF_MISSING.get(definition.integer(1)), _IF_EXISTS.get(definition.integer(2))
    if if_missing is None or if_exists is None:
        raise WireError("the command does not say what to do with a table that is there, or is not there")
    options = tuple(Fields(each).text(1) for each in fields.messages(1000))
    return Ingest(fields.text(2), fields.optional_text(3), fields.optional_text(4), if_missing, if_exists, options)


def _tables(fields: Fields) -> GetTables:
    patterns = fields.optional_text(2), fields.optional_text(3)
    return GetTables(fields.optional_text(1), *patterns, fields.texts(4), bool(fields.integer(5)))


def _signed(value: int | None) -> int | None:
    return value if value is None or value < 1 << 63 else value - (1 << 64)

"""What Flight SQL's clients ask for, as records."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.flight.messages import unpacked
from coordinator.flight.wire import Fields


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
Command = StatementQuery | StatementUpdate | PreparedQuery | PreparedUpdate | StatementTicket | Metadata | Unsupported


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


def _tables(fields: Fields) -> GetTables:
    patterns = fields.optional_text(2), fields.optional_text(3)
    return GetTables(fields.optional_text(1), *patterns, fields.texts(4), bool(fields.integer(5)))


def _signed(value: int | None) -> int | None:
    return value if value is None or value < 1 << 63 else value - (1 << 64)

"""What a statement is after parsing: frozen dataclasses, one a kind.

Names are lower case. Expressions and queries are nodes of ``coordinator.sql.tree`` with places in the statement's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.ddl_statements import DdlStatement
from coordinator.sql.dml_statements import DmlStatement
from coordinator.sql.function_statements import FunctionStatement
from coordinator.sql.role_statements import RoleStatement
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorLocation


class ExplainType(Enum):
    """What EXPLAIN shows. NATIVE is the plan that the sidecar makes of each worker fragment (Presto RFC-0008)."""

    LOGICAL = "LOGICAL"
    DISTRIBUTED = "DISTRIBUTED"
    VALIDATE = "VALIDATE"
    IO = "IO"
    NATIVE = "NATIVE"


class ExplainFormat(Enum):
    TEXT = "TEXT"
    JSON = "JSON"
    GRAPHVIZ = "GRAPHVIZ"


@dataclass(frozen=True, slots=True)
class Call:
    name: tuple[str, ...]
    arguments: tuple[CallArgument, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Explain:
    """``text`` is the explained statement as written."""

    statement: Statement
    text: str
    analyze: bool
    verbose: bool
    type: ExplainType
    format: ExplainFormat
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Prepare:
    name: str
    statement: Statement
    text: str


@dataclass(frozen=True, slots=True)
class Execute:
    """``parameters`` are the texts of expressions."""

    name: str
    parameters: tuple[str, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ExecuteImmediate:
    text: str
    parameters: tuple[str, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Deallocate:
    name: str


@dataclass(frozen=True, slots=True)
class DescribeInput:
    name: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DescribeOutput:
    name: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class SetSession:
    """``name`` has one part, or two when the property belongs to a catalog."""

    name: tuple[str, ...]
    value: Expression
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ResetSession:
    name: tuple[str, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Use:
    catalog: str | None
    schema: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Like:
    """A LIKE pattern and its escape character."""

    pattern: str
    escape: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCatalogs:
    like: Like | None


@dataclass(frozen=True, slots=True)
class ShowSchemas:
    catalog: str | None
    like: Like | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowTables:
    """``schema`` is empty, ``(schema,)`` or ``(catalog, schema)``."""

    schema: tuple[str, ...]
    like: Like | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """Also DESCRIBE and DESC."""

    table: tuple[str, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    table: tuple[str, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    like: Like | None


@dataclass(frozen=True, slots=True)
class ShowSession:
    like: Like | None


@dataclass(frozen=True, slots=True)
class StartTransaction:
    isolation: str | None
    read_only: bool | None


@dataclass(frozen=True, slots=True)
class Commit:
    pass


@dataclass(frozen=True, slots=True)
class Rollback:
    pass


@dataclass(frozen=True, slots=True)
class OtherStatement:
    """A statement of Presto's grammar that has no dataclass of its own yet; ``kind`` is its leading words."""

    kind: str
    location: ErrorLocation


SessionStatement = (
    SetSession | ResetSession | Use | Prepare | Deallocate | FunctionStatement | StartTransaction | Commit | Rollback
)
ShowStatement = ShowCatalogs | ShowSchemas | ShowTables | ShowColumns | ShowSession | ShowFunctions | DescribeInput
Statement = (
    Call
    | Explain
    | Execute
    | ExecuteImmediate
    | ShowCreateTable
    | SessionStatement
    | ShowStatement
    | DescribeOutput
    | Query
    | DdlStatement
    | DmlStatement
    | RoleStatement
    | OtherStatement
)

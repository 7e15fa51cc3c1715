"""Statements that define: schemas, tables, views and what is said about them. One frozen dataclass a kind.

Names are lower case; ``location`` is where Presto points when the statement as a whole is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.sql.call_argument import CallArgument
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorLocation
from shared.spi.grants import Principal

Name = tuple[str, ...]
"""A name as written: one to three parts, the catalog first."""


@dataclass(frozen=True, slots=True)
class PropertyAssignment:
    """``name = expression`` of a WITH clause; ``text`` is the expression as written, ``value`` None for DEFAULT."""

    name: str
    value: Expression | None
    text: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as written; ``type`` is the text of its type."""

    name: str
    type: str
    location: ErrorLocation
    nullable: bool = True
    comment: str | None = None
    properties: tuple[PropertyAssignment, ...] = ()


@dataclass(frozen=True, slots=True)
class LikeClause:
    """``LIKE table [INCLUDING PROPERTIES]`` among the columns of a table."""

    table: Name
    including_properties: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """Trino's ``CREATE CATALOG name USING connector WITH (…)``."""

    name: str
    connector: str
    if_not_exists: bool
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class AlterCatalog:
    """``ALTER CATALOG name SET PROPERTIES a = 'x', b = NULL``, in Trino's manner."""

    name: str
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropCatalog:
    name: str
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateSchema:
    name: Name
    if_not_exists: bool
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropSchema:
    name: Name
    if_exists: bool
    cascade: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RenameSchema:
    name: Name
    new_name: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: Name
    elements: tuple[ColumnDefinition | LikeClause, ...]
    if_not_exists: bool
    comment: str | None
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    name: Name
    columns: tuple[str, ...]
    query: Query
    if_not_exists: bool
    with_data: bool
    comment: str | None
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class TruncateTable:
    name: Name
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RenameTable:
    name: Name
    new_name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class AddColumn:
    table: Name
    column: ColumnDefinition
    if_table_exists: bool
    if_not_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropColumn:
    table: Name
    column: str
    if_table_exists: bool
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RenameColumn:
    table: Name
    column: str
    new_name: str
    if_table_exists: bool
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """``ALTER COLUMN c``: ``type`` is the text of a new type, else ``nullable`` says SET (False) or DROP NOT NULL."""

    table: Name
    column: str
    type: str | None
    nullable: bool | None
    if_table_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class SetTableProperties:
    table: Name
    properties: tuple[PropertyAssignment, ...]
    if_table_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ExecuteTableProcedure:
    """``ALTER TABLE t EXECUTE procedure(arguments) [WHERE predicate]``; ``where_text`` is the predicate as written."""

    table: Name
    procedure: str
    arguments: tuple[CallArgument, ...]
    where: Expression | None
    where_text: str
    location: ErrorLocation
    where_location: ErrorLocation | None = None


@dataclass(frozen=True, slots=True)
class CreateView:
    """``query`` is the text of the view's query, ``query_tree`` what it says."""

    name: Name
    or_replace: bool
    security: Literal["DEFINER", "INVOKER"] | None
    query: str
    query_tree: Query
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropView:
    name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RenameView:
    name: Name
    new_name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateMaterializedView:
    """``grace_period`` and ``when_stale`` are Trino's clauses for what Presto says with properties."""

    name: Name
    or_replace: bool
    if_not_exists: bool
    security: Literal["DEFINER", "INVOKER"] | None
    comment: str | None
    grace_period: Expression | None
    when_stale: Literal["INLINE", "FAIL"] | None
    properties: tuple[PropertyAssignment, ...]
    query: str
    query_tree: Query
    location: ErrorLocation
    query_tree_start: ErrorLocation
    """Where the query begins in the statement's text."""


@dataclass(frozen=True, slots=True)
class RefreshMaterializedView:
    """``filtered``: a WHERE says which partitions, as Presto's Hive connector wants it."""

    name: Name
    filtered: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropMaterializedView:
    name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RenameMaterializedView:
    name: Name
    new_name: Name
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class SetMaterializedViewProperties:
    name: Name
    properties: tuple[PropertyAssignment, ...]
    if_exists: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowCreateMaterializedView:
    name: Name
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class SetAuthorization:
    """``ALTER SCHEMA | TABLE | VIEW name SET AUTHORIZATION principal``, Trino's."""

    kind: Literal["SCHEMA", "TABLE", "VIEW"]
    name: Name
    principal: Principal
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CommentOn:
    """COMMENT ON TABLE, VIEW or COLUMN; for a column its own name is the last part."""

    kind: Literal["TABLE", "VIEW", "COLUMN"]
    name: Name
    comment: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Analyze:
    table: Name
    properties: tuple[PropertyAssignment, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowStats:
    """Of a table, or of a query."""

    table: Name
    query: Query | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowCreateView:
    name: Name
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowCreateSchema:
    name: Name
    location: ErrorLocation


DdlStatement = (
    CreateCatalog
    | AlterCatalog
    | DropCatalog
    | CreateSchema
    | DropSchema
    | RenameSchema
    | CreateTable
    | CreateTableAs
    | DropTable
    | TruncateTable
    | RenameTable
    | AddColumn
    | DropColumn
    | RenameColumn
    | AlterColumn
    | SetTableProperties
    | ExecuteTableProcedure
    | CreateView
    | DropView
    | RenameView
    | CreateMaterializedView
    | RefreshMaterializedView
    | DropMaterializedView
    | RenameMaterializedView
    | SetMaterializedViewProperties
    | ShowCreateMaterializedView
    | SetAuthorization
    | CommentOn
    | Analyze
    | ShowStats
    | ShowCreateView
    | ShowCreateSchema
)

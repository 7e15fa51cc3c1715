"""What DDL asks of a connector, as data: planned in one process, carried out in another.

A change names objects of the connector's own catalog. Types are Presto type text; property values are Python values
as ``shared.spi.procedure.Arguments`` says, by lower case name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shared.spi.connector import ViewMetadata
from shared.spi.grants import Principal
from shared.spi.procedure import ProcedureContext


@dataclass(frozen=True, slots=True)
class PropertyDeclaration:
    """A property of schemas, tables or columns; ``type`` is Presto type text, ``default`` its text for the docs."""

    name: str
    type: str
    doc: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column to be made; ``properties`` are its own, evaluated."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SchemaCreation:
    schema: str
    properties: Mapping[str, Any]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class SchemaRemoval:
    """``cascade`` removes its tables and views first."""

    schema: str
    cascade: bool
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SchemaRename:
    schema: str
    new_name: str


@dataclass(frozen=True, slots=True)
class TableCreation:
    schema: str
    table: str
    columns: tuple[NewColumn, ...]
    properties: Mapping[str, Any]
    comment: str | None = None
    if_not_exists: bool = False
    replaces: bool = False
    """Whether it takes the place of a table that is there, in one commit."""


@dataclass(frozen=True, slots=True)
class TableRemoval:
    schema: str
    table: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TableTruncation:
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class TableRename:
    schema: str
    table: str
    new_schema: str
    new_table: str


@dataclass(frozen=True, slots=True)
class ColumnAddition:
    schema: str
    table: str
    column: NewColumn


@dataclass(frozen=True, slots=True)
class ColumnRemoval:
    schema: str
    table: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnRename:
    schema: str
    table: str
    column: str
    new_name: str


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A new type, or whether the column may be NULL; the other is None."""

    schema: str
    table: str
    column: str
    type: str | None = None
    nullable: bool | None = None


@dataclass(frozen=True, slots=True)
class TablePropertiesChange:
    """New values; None takes a property back to its default."""

    schema: str
    table: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CommentChange:
    """The comment of a table, or of one of its columns; None removes it."""

    schema: str
    table: str
    column: str | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class ViewCreation:
    """A new view, or with ``replace`` a new version of the one that has the name."""

    view: ViewMetadata
    replace: bool


@dataclass(frozen=True, slots=True)
class ViewRemoval:
    schema: str
    view: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ViewRename:
    schema: str
    view: str
    new_schema: str
    new_view: str


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """Of a table or view, or of a schema where ``name`` is empty. ``view`` is a view as it becomes.

    ``object_id`` says of which thing, where the catalog keeps grants and it has an id: another may get the name.
    """

    schema: str
    name: str
    owner: Principal
    view: ViewMetadata | None = None
    object_id: str | None = None


@dataclass(frozen=True, slots=True)
class MaterializedViewCreation:
    """A view whose rows will be in the table ``storage``; with ``replace`` in place of the one that has the name."""

    view: ViewMetadata
    storage: TableCreation
    replace: bool = False


@dataclass(frozen=True, slots=True)
class MaterializedViewRemoval:
    """With its storage table."""

    schema: str
    view: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class MaterializedViewChange:
    """``view`` as it becomes, but for what refreshes wrote of it; ``was`` is the one that was looked at."""

    view: ViewMetadata
    was: ViewMetadata


ViewChange = ViewCreation | ViewRemoval | ViewRename
MaterializedChange = MaterializedViewCreation | MaterializedViewRemoval | MaterializedViewChange

PlainChange = (
    SchemaCreation
    | SchemaRemoval
    | SchemaRename
    | TableCreation
    | TableRemoval
    | TableTruncation
    | TableRename
    | ColumnAddition
    | ColumnRemoval
    | ColumnRename
    | ColumnChange
    | TablePropertiesChange
    | CommentChange
    | OwnerChange
    | ViewChange
)
CatalogChange = PlainChange | MaterializedChange


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What CREATE TABLE would say to make the table again; property values as in TableCreation."""

    columns: tuple[NewColumn, ...]
    properties: Mapping[str, Any]
    comment: str | None = None


class EditableCatalog(Protocol):
    """A connector whose schemas and tables can be changed. All methods are optional to connectors as a whole."""

    def schema_properties(self) -> Sequence[PropertyDeclaration]: ...

    def table_properties(self) -> Sequence[PropertyDeclaration]: ...

    def column_properties(self) -> Sequence[PropertyDeclaration]: ...

    def definition(self, schema: str, table: str) -> TableDefinition | None:
        """For SHOW CREATE TABLE and LIKE; None when there is no such table."""
        ...

    def schema_definition(self, schema: str) -> Mapping[str, object] | None:
        """The properties of a schema; None when there is none of that name."""
        ...

    def validate(self, change: CatalogChange) -> None:
        """Refuse what can be told from the change alone, before the statement queues; raises ProcessionError."""
        ...

    def change(self, change: CatalogChange, context: ProcedureContext) -> None:
        """Carry it out, as one atomic step where the catalog has one. Raises ProcessionError."""
        ...

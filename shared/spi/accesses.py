"""What a statement does to objects of catalogs: one frozen record a kind of access, asked of the access control.

Names are those of Trino's ``SystemAccessControl`` and of the operations that OPA is asked about. Object names are in
small letters.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.spi.grants import Principal

INFORMATION_SCHEMA = "information_schema"


@dataclass(frozen=True, slots=True)
class SchemaName:
    catalog: str
    schema: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table or view."""

    catalog: str
    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class RoutineName:
    """A procedure."""

    catalog: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """By statement, while the coordinator runs."""

    catalog: str


@dataclass(frozen=True, slots=True)
class DropCatalog:
    catalog: str


@dataclass(frozen=True, slots=True)
class ShowSchemas:
    catalog: str


@dataclass(frozen=True, slots=True)
class ShowTables:
    schema: SchemaName


@dataclass(frozen=True, slots=True)
class ShowColumns:
    table: TableName


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """Also of a view."""

    table: TableName


@dataclass(frozen=True, slots=True)
class ShowCreateSchema:
    schema: SchemaName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    schema: SchemaName


@dataclass(frozen=True, slots=True)
class DropSchema:
    schema: SchemaName


@dataclass(frozen=True, slots=True)
class RenameSchema:
    schema: SchemaName
    new_name: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    table: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    table: TableName


@dataclass(frozen=True, slots=True)
class RenameTable:
    table: TableName
    new_name: TableName


@dataclass(frozen=True, slots=True)
class SetTableProperties:
    """``properties`` are their names."""

    table: TableName
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetTableComment:
    table: TableName


@dataclass(frozen=True, slots=True)
class SetColumnComment:
    table: TableName


@dataclass(frozen=True, slots=True)
class AddColumn:
    table: TableName


@dataclass(frozen=True, slots=True)
class AlterColumn:
    table: TableName


@dataclass(frozen=True, slots=True)
class DropColumn:
    table: TableName


@dataclass(frozen=True, slots=True)
class RenameColumn:
    table: TableName


@dataclass(frozen=True, slots=True)
class SelectFromColumns:
    """Of a table or view; without columns it is read all the same, as by ``count(*)``."""

    table: TableName
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InsertIntoTable:
    table: TableName


@dataclass(frozen=True, slots=True)
class DeleteFromTable:
    table: TableName


@dataclass(frozen=True, slots=True)
class TruncateTable:
    table: TableName


@dataclass(frozen=True, slots=True)
class UpdateTableColumns:
    table: TableName
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateView:
    view: TableName


@dataclass(frozen=True, slots=True)
class DropView:
    view: TableName


@dataclass(frozen=True, slots=True)
class RenameView:
    view: TableName
    new_name: TableName


@dataclass(frozen=True, slots=True)
class RefreshMaterializedView:
    view: TableName


@dataclass(frozen=True, slots=True)
class SetViewComment:
    view: TableName


@dataclass(frozen=True, slots=True)
class CreateViewWithSelectFromColumns:
    """Asked of a view's owner when another reads the view: may what the owner reads be handed on."""

    table: TableName
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecuteProcedure:
    procedure: RoutineName


@dataclass(frozen=True, slots=True)
class ExecuteTableProcedure:
    """``ALTER TABLE … EXECUTE``, beside the EXECUTE of the procedure itself."""

    table: TableName
    procedure: str


@dataclass(frozen=True, slots=True)
class CreateRole:
    catalog: str
    role: str


@dataclass(frozen=True, slots=True)
class DropRole:
    catalog: str
    role: str


@dataclass(frozen=True, slots=True)
class GrantRoles:
    catalog: str
    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]


@dataclass(frozen=True, slots=True)
class RevokeRoles:
    catalog: str
    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]


@dataclass(frozen=True, slots=True)
class SetRole:
    catalog: str
    role: str


@dataclass(frozen=True, slots=True)
class ShowRoles:
    """All of a catalog; everybody may see their own."""

    catalog: str


@dataclass(frozen=True, slots=True)
class GrantTablePrivilege:
    table: TableName
    privilege: str


@dataclass(frozen=True, slots=True)
class RevokeTablePrivilege:
    table: TableName
    privilege: str


@dataclass(frozen=True, slots=True)
class SetSchemaAuthorization:
    """``principal`` is to own it."""

    schema: SchemaName
    principal: Principal


@dataclass(frozen=True, slots=True)
class SetTableAuthorization:
    table: TableName
    principal: Principal


@dataclass(frozen=True, slots=True)
class SetViewAuthorization:
    """Whether the view may run as ``principal`` then is asked apart."""

    view: TableName
    principal: Principal


RoleAccess = CreateRole | DropRole | GrantRoles | RevokeRoles | SetRole | ShowRoles
PermissionManagement = RoleAccess | GrantTablePrivilege | RevokeTablePrivilege
CatalogManagement = CreateCatalog | DropCatalog
Access = (
    CatalogManagement
    | ShowSchemas
    | ShowTables
    | ShowColumns
    | ShowCreateTable
    | ShowCreateSchema
    | CreateSchema
    | DropSchema
    | RenameSchema
    | CreateTable
    | DropTable
    | RenameTable
    | SetTableProperties
    | SetTableComment
    | SetColumnComment
    | AddColumn
    | AlterColumn
    | DropColumn
    | RenameColumn
    | SelectFromColumns
    | InsertIntoTable
    | DeleteFromTable
    | TruncateTable
    | RefreshMaterializedView
    | UpdateTableColumns
    | CreateView
    | DropView
    | RenameView
    | SetViewComment
    | CreateViewWithSelectFromColumns
    | ExecuteProcedure
    | ExecuteTableProcedure
    | SetSchemaAuthorization
    | SetTableAuthorization
    | SetViewAuthorization
    | PermissionManagement
)


@dataclass(frozen=True, slots=True)
class AskedAccess:
    """An access that a statement needs; ``user`` is whom it is asked of: who sent it, or the owner of a view."""

    access: Access
    user: str


_OF_SCHEMAS = ShowTables | ShowCreateSchema | CreateSchema | DropSchema | RenameSchema | SetSchemaAuthorization
_OF_VIEWS = CreateView | DropView | RenameView | RefreshMaterializedView | SetViewComment | SetViewAuthorization


def object_of(access: Access) -> str:
    """The name of what the access is to."""
    if isinstance(access, CatalogManagement | ShowSchemas | ShowRoles):
        return access.catalog
    if isinstance(access, CreateRole | DropRole | SetRole):
        return access.role
    if isinstance(access, GrantRoles | RevokeRoles):
        return ", ".join(access.roles)
    if isinstance(access, _OF_SCHEMAS):
        return str(access.schema)
    if isinstance(access, _OF_VIEWS):
        return str(access.view)
    return str(access.procedure if isinstance(access, ExecuteProcedure) else access.table)


def catalog_of(access: Access) -> str:
    """The catalog that the access is to."""
    if isinstance(access, CatalogManagement | ShowSchemas | RoleAccess):
        return access.catalog
    if isinstance(access, _OF_SCHEMAS):
        return access.schema.catalog
    if isinstance(access, _OF_VIEWS):
        return access.view.catalog
    if isinstance(access, ExecuteProcedure):
        return access.procedure.catalog
    return access.table.catalog

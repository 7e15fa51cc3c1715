"""What a refused access is told, in Presto's words (Trino's where Presto has none), and which accesses only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from shared.spi import accesses as of
from shared.spi.access_control import AccessDeniedError
from shared.spi.accesses import object_of

_READS = (
    of.ShowSchemas
    | of.ShowTables
    | of.ShowColumns
    | of.ShowCreateTable
    | of.ShowCreateSchema
    | of.SelectFromColumns
    | of.CreateViewWithSelectFromColumns
    | of.SetRole
    | of.ShowRoles
)


def only_reads(access: of.Access) -> bool:
    """Whether nothing is changed by it. A call of a procedure counts as a change."""
    return isinstance(access, _READS)


def denied(access: of.Access, rule: str | None = None, owner: str | None = None) -> AccessDeniedError:
    """The error; ``rule`` says what decided, for the log, ``owner`` is the view's where one reads for others."""
    return AccessDeniedError(_text(access, owner), rule, type(access).__name__, object_of(access))


def _text(access: of.Access, owner: str | None) -> str:  # noqa: C901 - one case a kind of access
    match access:
        case of.CreateCatalog():
            return f"Cannot create catalog {access.catalog}"
        case of.DropCatalog():
            return f"Cannot drop catalog {access.catalog}"
        case of.SelectFromColumns():
            return _select(access.table, access.columns)
        case of.CreateViewWithSelectFromColumns():
            return f"View owner '{owner}' cannot create view that selects from {access.table}"
        case of.InsertIntoTable():
            return f"Cannot insert into table {access.table}"
        case of.DeleteFromTable():
            return f"Cannot delete from table {access.table}"  # noqa: S608 - no SQL
        case of.TruncateTable():
            return f"Cannot truncate table {access.table}"
        case of.UpdateTableColumns():
            return f"Cannot update columns [{_listed(access.columns)}] in table {access.table}"
        case of.ExecuteProcedure():
            return f"Cannot execute procedure {access.procedure}"
        case of.ExecuteTableProcedure():
            return f"Cannot execute table procedure {access.procedure} on {access.table}"
        case of.CreateView():
            return f"Cannot create view {access.view}"
        case of.DropView():
            return f"Cannot drop view {access.view}"
        case of.RenameView():
            return f"Cannot rename view from {access.view} to {access.new_name}"
        case of.RefreshMaterializedView():
            return f"Cannot refresh materialized view {access.view}"
        case of.SetViewComment():
            return f"Cannot comment view to {access.view}"
        case of.ShowSchemas() | of.ShowTables() | of.ShowColumns() | of.ShowCreateTable() | of.ShowCreateSchema():
            return _of_show(access)
        case of.CreateSchema() | of.DropSchema() | of.RenameSchema():
            return _of_schema(access)
        case of.SetSchemaAuthorization():
            return f"Cannot set authorization for schema {access.schema} to {access.principal}"
        case of.SetTableAuthorization():
            return f"Cannot set authorization for table {access.table} to {access.principal}"
        case of.SetViewAuthorization():
            return f"Cannot set authorization for view {access.view} to {access.principal}"
        case of.GrantTablePrivilege():
            return f"Cannot grant privilege {access.privilege} on table {access.table}"
        case of.RevokeTablePrivilege():
            return f"Cannot revoke privilege {access.privilege} on table {access.table}"
        case of.CreateRole() | of.DropRole() | of.GrantRoles() | of.RevokeRoles() | of.SetRole() | of.ShowRoles():
            return _of_roles(access)
        case _:
            return _of_table(access)


def _select(table: of.TableName, columns: Sequence[str]) -> str:
    return (
        f"Cannot select from columns {_listed(columns)} in table or view {table}"
        if columns
        else (f"Cannot select from table {table}")
    )


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _of_show(
    access: of.ShowSchemas | of.ShowTables | of.ShowColumns | of.ShowCreateTable | of.ShowCreateSchema,
) -> str:
    match access:
        case of.ShowSchemas():
            return "Cannot show schemas"
        case of.ShowTables():
            return f"Cannot show tables of schema {access.schema}"
        case of.ShowColumns():
            return f"Cannot show columns of table {access.table}"
        case of.ShowCreateTable():
            return f"Cannot show create table for {access.table}"
        case of.ShowCreateSchema():
            return f"Cannot show create schema for {access.schema}"
        case _:
            assert_never(access)


def _of_schema(access: of.CreateSchema | of.DropSchema | of.RenameSchema) -> str:
    match access:
        case of.CreateSchema():
            return f"Cannot create schema {access.schema}"
        case of.DropSchema():
            return f"Cannot drop schema {access.schema}"
        case of.RenameSchema():
            return f"Cannot rename schema from {access.schema} to {access.schema.catalog}.{access.new_name}"
        case _:
            assert_never(access)


def _of_table(
    access: of.CreateTable
    | of.DropTable
    | of.RenameTable
    | of.SetTableProperties
    | of.SetTableComment
    | of.SetColumnComment
    | of.AddColumn
    | of.AlterColumn
    | of.DropColumn
    | of.RenameColumn,
) -> str:
    match access:
        case of.CreateTable():
            return f"Cannot create table {access.table}"
        case of.DropTable():
            return f"Cannot drop table {access.table}"
        case of.RenameTable():
            return f"Cannot rename table from {access.table} to {access.new_name}"
        case of.SetTableProperties():
            return f"Cannot set table properties to {access.table}"
        case of.SetTableComment():
            return f"Cannot comment table to {access.table}"
        case of.SetColumnComment():
            return f"Cannot comment column to {access.table}"
        case of.AddColumn():
            return f"Cannot add a column to table {access.table}"
        case of.AlterColumn():
            return f"Cannot alter a column for table {access.table}"
        case of.DropColumn():
            return f"Cannot drop a column from table {access.table}"
        case of.RenameColumn():
            return f"Cannot rename a column in table {access.table}"
        case _:
            assert_never(access)


def _of_roles(access: of.RoleAccess) -> str:
    match access:
        case of.CreateRole():
            return f"Cannot create role {access.role}"
        case of.DropRole():
            return f"Cannot drop role {access.role}"
        case of.GrantRoles():
            return f"Cannot grant roles {_listed(access.roles)} to {_listed(list(map(str, access.grantees)))}"
        case of.RevokeRoles():
            return f"Cannot revoke roles {_listed(access.roles)} from {_listed(list(map(str, access.grantees)))}"
        case of.SetRole():
            return f"Cannot set role {access.role}"
        case of.ShowRoles():
            return f"Cannot show roles from catalog {access.catalog}"
        case _:
            assert_never(access)

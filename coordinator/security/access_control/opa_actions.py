"""Accesses as OPA's policies are asked about them. Source: Trino's plugin ``opa``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.spi import accesses as of
from shared.spi.accesses import SchemaName, TableName
from shared.spi.grants import Principal

Action = Mapping[str, object]


def action(operation: str, resource: Mapping[str, object] | None = None, **more: object) -> Action:
    """An action; parts that are None are left out."""
    given = {"operation": operation, "resource": resource, **more}
    return {key: value for key, value in given.items() if value is not None}


def catalog(name: str) -> Mapping[str, object]:
    return {"catalog": {"name": name}}


def schema(name: SchemaName) -> Mapping[str, object]:
    return {"schema": {"catalogName": name.catalog, "schemaName": name.schema}}


def table(name: TableName, columns: tuple[str, ...] | None = None) -> Mapping[str, Any]:
    described: dict[str, object] = {"catalogName": name.catalog, "schemaName": name.schema, "tableName": name.table}
    return {"table": described if columns is None else {**described, "columns": list(columns)}}


def _owned(access: of.SetSchemaAuthorization | of.SetTableAuthorization | of.SetViewAuthorization) -> Mapping[str, Any]:
    if isinstance(access, of.SetSchemaAuthorization):
        return schema(access.schema)
    return table(access.table if isinstance(access, of.SetTableAuthorization) else access.view)


def _grantee(principal: Principal) -> Mapping[str, str]:
    return {"principalType": principal.kind, "name": principal.name}


def action_of(access: of.Access) -> Action:  # noqa: C901 - one case a kind of access
    """The operation has the name of the access, but where Trino has another."""
    operation = type(access).__name__
    match access:
        case of.CreateCatalog() | of.DropCatalog() | of.ShowSchemas():
            return action(operation, catalog(access.catalog))
        case of.ShowTables() | of.ShowCreateSchema() | of.CreateSchema() | of.DropSchema():
            return action(operation, schema(access.schema))
        case of.RenameSchema():
            renamed = SchemaName(access.schema.catalog, access.new_name)
            return action(operation, schema(access.schema), targetResource=schema(renamed))
        case of.RenameTable():
            return action(operation, table(access.table), targetResource=table(access.new_name))
        case of.RenameView():
            return action(operation, table(access.view), targetResource=table(access.new_name))
        case of.SelectFromColumns() | of.UpdateTableColumns() | of.CreateViewWithSelectFromColumns():
            return action(operation, table(access.table, access.columns))
        case of.CreateView() | of.DropView() | of.SetViewComment() | of.RefreshMaterializedView():
            return action(operation, table(access.view))
        case of.ExecuteProcedure():
            name = access.procedure
            described = {"catalogName": name.catalog, "schemaName": name.schema, "functionName": name.name}
            return action(operation, {"function": described})
        case of.ExecuteTableProcedure():
            return action(operation, {**table(access.table), "function": {"functionName": access.procedure}})
        case of.SetSchemaAuthorization() | of.SetTableAuthorization() | of.SetViewAuthorization():
            return action(operation, _owned(access), grantee=_grantee(access.principal))
        case of.CreateRole() | of.DropRole() | of.GrantRoles() | of.RevokeRoles() | of.SetRole() | of.ShowRoles():
            raise AssertionError("a setting decides over roles")
        case of.SetTableProperties():
            properties = dict.fromkeys(access.properties)
            return action(operation, {"table": {**table(access.table)["table"], "properties": properties}})
        case _:
            return action(operation, table(access.table))

"""What rules of a file let one identity do to objects. Source: Trino's FileBasedSystemAccessControl.

The first rule that matches an object decides. Every privilege needs the catalog too: reading ``read-only``, the rest
``all``. Lists (``information_schema``, the catalog ``system``) are never refused: their rows are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, assert_never

from coordinator.security.access_control.denials import denied
from coordinator.security.access_control.object_rules import Privilege, TableRule, matches
from coordinator.security.access_control.patterns import Rule
from coordinator.security.access_control.rules import CatalogAccess, Rules
from shared.spi import accesses as of
from shared.spi.access_control import Identity, ViewExpression
from shared.spi.grants import Principal

INFORMATION_SCHEMA = "information_schema"
SYSTEM = "system"
_READ: tuple[Privilege, ...] = ("SELECT", "GRANT_SELECT")
_UPDATE: tuple[Privilege, ...] = ("UPDATE",)
R = TypeVar("R", bound=Rule)
_MOST_KEPT = 10_000
_OfTable = (
    of.DropTable
    | of.CreateTable
    | of.SetTableProperties
    | of.SetTableComment
    | of.SetColumnComment
    | of.AddColumn
    | of.AlterColumn
    | of.DropColumn
    | of.RenameColumn
    | of.InsertIntoTable
    | of.DeleteFromTable
    | of.TruncateTable
    | of.ShowCreateTable
)


class ObjectDecisions:
    """Rules of one file at one time, for one identity."""

    def __init__(
        self,
        rules: Rules,
        identity: Identity,
        catalog_access: Callable[[str], CatalogAccess],
        roles: frozenset[str] = frozenset(),
    ) -> None:
        """``roles`` are those that the identity uses in the one catalog that is asked about."""
        self._catalog_access = catalog_access
        self._user = identity.user
        self._of_catalog = rules.of_catalog
        self._schemas = None if rules.schemas is None else [rule for _, rule in _mine(rules.schemas, identity, roles)]
        self._tables = None if rules.tables is None else _mine(rules.tables, identity, roles)
        self._procedures = None if rules.procedures is None else _mine(rules.procedures, identity, roles)
        self._authorization = [rule for rule in rules.authorization or () if rule.is_for(identity, roles)]
        self._first: dict[of.TableName, tuple[int, TableRule] | None] = {}
        self._seen_schemas: dict[tuple[str, str], bool] = {}

    def check(self, access: of.Access) -> None:
        """Raises AccessDeniedError."""
        rule = self._refusing(access)
        if rule is not None:
            raise denied(access, rule, self._user)

    def sees_schema(self, catalog: str, schema: str) -> bool:
        """Whether there may be something in it for the identity."""
        if self._catalog_access(catalog) == "none":
            return False
        known = self._seen_schemas.get((catalog, schema))
        if known is None:
            known = self._seen_schemas[catalog, schema] = self._may_hold(catalog, schema)
            _bound(self._seen_schemas)
        return known

    def sees_table(self, table: of.TableName) -> bool:
        if self._catalog_access(table.catalog) == "none":
            return False
        if self._tables is None or _is_list(table):
            return True
        found = self._rule(table)
        return found is not None and bool(found[1].privileges)

    def hidden_columns(self, table: of.TableName) -> frozenset[str]:
        found = None if _is_list(table) else self._rule(table)
        columns = () if found is None else found[1].columns
        return frozenset(column.name.lower() for column in columns if not column.allow)

    def row_filters(self, table: of.TableName) -> Sequence[ViewExpression]:
        found = None if _is_list(table) else self._rule(table)
        if found is None or found[1].filter is None:
            return ()
        return (ViewExpression(found[1].filter, found[1].filter_environment.user, table.catalog, table.schema),)

    def column_masks(self, table: of.TableName) -> Mapping[str, ViewExpression]:
        found = None if _is_list(table) else self._rule(table)
        if found is None:
            return {}
        return {
            column.name.lower(): ViewExpression(column.mask, column.mask_environment.user, table.catalog, table.schema)
            for column in found[1].columns
            if column.mask is not None
        }

    def _refusing(self, access: of.Access) -> str | None:  # noqa: C901 - one case a kind of access
        """What refuses the access; None when it is allowed."""
        match access:
            case of.CreateCatalog() | of.DropCatalog():
                return self._catalog(access.catalog, changes=True)
            case of.ShowSchemas():
                return self._catalog(access.catalog, changes=False)
            case of.ShowTables():
                schema = access.schema
                return None if self.sees_schema(schema.catalog, schema.schema) else "no rule shows the schema"
            case of.ShowColumns() | of.ExecuteTableProcedure():
                return None if self.sees_table(access.table) else self._named(access.table)
            case of.ShowCreateSchema() | of.CreateSchema() | of.DropSchema():
                return self._owned(access.schema)
            case of.CreateTable() if self._of_catalog and self._schemas is not None:
                return self._owned(of.SchemaName(access.table.catalog, access.table.schema))
            case of.CreateView() if self._of_catalog and self._schemas is not None:
                return self._owned(of.SchemaName(access.view.catalog, access.view.schema))
            case of.RenameSchema():
                return self._owned(access.schema) or self._owned(of.SchemaName(access.schema.catalog, access.new_name))
            case of.SelectFromColumns():
                return self._reading(access.table, access.columns, _READ)
            case of.CreateViewWithSelectFromColumns():
                return self._reading(access.table, access.columns, ("GRANT_SELECT",))
            case of.UpdateTableColumns():
                return self._updating(access)
            case of.CreateView() | of.DropView() | of.SetViewComment():
                return self._having(access.view, "OWNERSHIP")
            case of.RefreshMaterializedView():
                return self._having(access.view, "UPDATE")
            case of.RenameView():
                return self._having(access.view, "OWNERSHIP") or self._having(access.new_name, "OWNERSHIP")
            case of.RenameTable():
                return self._having(access.table, "OWNERSHIP") or self._having(access.new_name, "OWNERSHIP")
            case of.ExecuteProcedure():
                return self._executing(access.procedure)
            case of.SetSchemaAuthorization():
                return self._owned(access.schema) or self._authorizing(access.principal)
            case of.SetTableAuthorization():
                return self._having(access.table, "OWNERSHIP") or self._authorizing(access.principal)
            case of.SetViewAuthorization():
                return self._having(access.view, "OWNERSHIP") or self._authorizing(access.principal)
            case of.GrantTablePrivilege() | of.RevokeTablePrivilege():
                return self._having(access.table, "OWNERSHIP")
            case of.SetRole() | of.ShowRoles():
                return self._catalog(access.catalog, changes=False)
            case of.CreateRole() | of.DropRole() | of.GrantRoles() | of.RevokeRoles():
                return self._catalog(access.catalog, changes=True)
            case _:
                return self._having(access.table, _needed(access))

    def _may_hold(self, catalog: str, schema: str) -> bool:
        if schema == INFORMATION_SCHEMA or catalog == SYSTEM or self._schemas is None or self._tables is None:
            return True
        owned = any(
            rule.owner for rule in self._schemas if matches(rule.catalog, catalog) and matches(rule.schema, schema)
        )
        return owned or any(
            rule.privileges and matches(rule.catalog, catalog) and matches(rule.schema, schema)
            for _, rule in self._tables
        )

    def _catalog(self, catalog: str, *, changes: bool) -> str | None:
        access = self._catalog_access(catalog)
        return f"catalogs: {access}" if access == "none" or (changes and access != "all") else None

    def _owned(self, schema: of.SchemaName) -> str | None:
        refused = self._catalog(schema.catalog, changes=True)
        if refused is not None:
            return refused
        if self._schemas is None:
            # Presto's catalog rules let nobody change schemas.
            return "schemas: the section is absent" if self._of_catalog else None
        for rule in self._schemas:
            if matches(rule.catalog, schema.catalog) and matches(rule.schema, schema.schema):
                return None if rule.owner else "schemas: not the owner"
        return "schemas: no rule"

    def _reading(self, table: of.TableName, columns: Sequence[str], privileges: Sequence[Privilege]) -> str | None:
        refused = self._catalog(table.catalog, changes=False)
        if refused is not None or self._tables is None or _is_list(table):
            return refused
        found = self._rule(table)
        return None if found is not None and found[1].may_read(columns, privileges) else self._named(table)

    def _updating(self, access: of.UpdateTableColumns) -> str | None:
        refused = self._catalog(access.table.catalog, changes=True)
        if refused is not None or self._tables is None:
            return refused
        found = self._rule(access.table)
        allowed = found is not None and found[1].may_read(access.columns, _UPDATE)
        return None if allowed else self._named(access.table)

    def _having(self, table: of.TableName, privilege: Privilege) -> str | None:
        refused = self._catalog(table.catalog, changes=privilege not in _READ)
        if refused is not None or self._tables is None:
            return refused
        found = self._rule(table)
        return None if found is not None and privilege in found[1].privileges else self._named(table)

    def _authorizing(self, principal: Principal) -> str | None:
        """As in Trino, nobody may where no rule says so."""
        for rule in self._authorization:
            if rule.names(principal):
                return None if rule.allow else "authorization: not allowed"
        return "authorization: no rule"

    def _executing(self, procedure: of.RoutineName) -> str | None:
        refused = self._catalog(procedure.catalog, changes=True)
        if refused is not None:
            return refused
        if self._procedures is None:
            # As in Trino; Presto's system rules, which know neither tables nor procedures, let everybody call.
            silent = self._tables is None or procedure.catalog == SYSTEM
            return None if silent else "procedures: the section is absent"
        for number, rule in self._procedures:
            names = (
                (rule.catalog, procedure.catalog),
                (rule.schema, procedure.schema),
                (rule.procedure, procedure.name),
            )
            if all(matches(pattern, name) for pattern, name in names):
                return f"procedures[{number}]" if "EXECUTE" not in rule.privileges else None
        return "procedures: no rule"

    def _rule(self, table: of.TableName) -> tuple[int, TableRule] | None:
        """The rule that decides over a table, with its number."""
        if self._tables is None:
            return None
        if table in self._first:
            return self._first[table]
        found = next(
            (
                (number, rule)
                for number, rule in self._tables
                if matches(rule.catalog, table.catalog)
                and matches(rule.schema, table.schema)
                and matches(rule.table, table.table)
            ),
            None,
        )
        _bound(self._first)
        self._first[table] = found
        return found

    def _named(self, table: of.TableName) -> str:
        found = self._rule(table)
        return "tables: no rule" if found is None else f"tables[{found[0]}]"


def _mine(rules: Sequence[R], identity: Identity, roles: frozenset[str]) -> list[tuple[int, R]]:
    """Those for the identity, with their numbers."""
    return [(number, rule) for number, rule in enumerate(rules) if rule.is_for(identity, roles)]


def _is_list(table: of.TableName) -> bool:
    return table.schema == INFORMATION_SCHEMA or table.catalog == SYSTEM


def _bound(kept: dict[of.TableName, tuple[int, TableRule] | None] | dict[tuple[str, str], bool]) -> None:
    if len(kept) >= _MOST_KEPT:
        kept.clear()


def _needed(access: _OfTable) -> Privilege:
    match access:
        case of.InsertIntoTable():
            return "INSERT"
        case of.DeleteFromTable() | of.TruncateTable():
            return "DELETE"
        case (
            of.DropTable()
            | of.CreateTable()
            | of.SetTableProperties()
            | of.SetTableComment()
            | of.SetColumnComment()
            | of.AddColumn()
            | of.AlterColumn()
            | of.DropColumn()
            | of.RenameColumn()
            | of.ShowCreateTable()
        ):
            return "OWNERSHIP"
        case _:
            assert_never(access)

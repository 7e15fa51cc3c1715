"""iceberg.security=sql-standard: roles and privileges that the catalog keeps. Source: Presto's class of that name.

Whoever makes a table or schema owns it; the owner of a schema owns those of its tables that nobody is known to own.
Nothing is kept here: what is granted or revoked counts for the next statement of every process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.access_control.denials import denied
from coordinator.security.access_control.enabled_roles import applicable_grants, enabled_roles
from shared.spi import accesses as of
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.accesses import INFORMATION_SCHEMA
from shared.spi.grants import ADMIN_ROLE, OWNERSHIP, PUBLIC_ROLE, Grants, GrantStore, Principal, TableGrant

_RULE = "sql-standard"
_NEEDED: Mapping[type[of.Access], str] = {
    of.InsertIntoTable: "INSERT",
    of.DeleteFromTable: "DELETE",
    of.TruncateTable: "DELETE",
    of.UpdateTableColumns: "UPDATE",
}


@dataclass(frozen=True)
class Holder:
    """What one identity has at one time."""

    grants: Grants
    identity: Identity
    roles: frozenset[str]
    by_table: Mapping[tuple[str, str], Sequence[TableGrant]] = field(repr=False)
    object_id: Callable[[str, str], str | None] = field(repr=False)
    """Of what has a name now, looked up once."""

    @property
    def is_admin(self) -> bool:
        return ADMIN_ROLE in self.roles

    def has(self, schema: str, table: str, privilege: str, *, grantable: bool = False) -> bool:
        """By a grant to the user or an enabled role, or as its owner."""
        if self.is_admin or self._owns(schema, table):
            return True
        return any(
            grant.privilege == privilege and (grant.grantable or not grantable) for grant in self._mine(schema, table)
        )

    def sees(self, schema: str, table: str) -> bool:
        return self.is_admin or self._owns(schema, table) or bool(self._mine(schema, table))

    def lists(self, schema: str, table: str) -> bool:
        """Whether the name may stand in a list. Whose table it is now is not looked up: there may be thousands."""
        if self.is_admin or self._owns(schema, ""):
            return True
        return any(map(self._is_mine, self.by_table.get((schema, table), ())))

    def sees_schema(self, schema: str) -> bool:
        if self.is_admin or self._owns(schema, ""):
            return True
        return any(self.lists(*name) for name in self.by_table if name[0] == schema and name[1])

    def owns_schema(self, schema: str) -> bool:
        return self.is_admin or self._owns(schema, "")

    def _owns(self, schema: str, table: str) -> bool:
        owners = [grant for grant in self._standing(schema, table) if grant.privilege == OWNERSHIP]
        if not owners and table:
            return self._owns(schema, "")
        return any(self._is_mine(grant) for grant in owners)

    def _mine(self, schema: str, table: str) -> list[TableGrant]:
        return [grant for grant in self._standing(schema, table) if self._is_mine(grant)]

    def _standing(self, schema: str, table: str) -> Sequence[TableGrant]:
        """The grants on what has the name now: a table made anew, by whichever program, begins without any."""
        known = self.by_table.get((schema, table), ())
        current = self.object_id(schema, table) if known else None
        return [grant for grant in known if grant.object_id == current]

    def _is_mine(self, grant: TableGrant) -> bool:
        grantee = grant.grantee
        return grantee.name in self.roles if grantee.kind == "ROLE" else grantee.name == self.identity.user


class SqlStandard(AllowAll):
    """Of one catalog; what is not an object's is the system's to decide."""

    def __init__(self, catalog: str, store: Callable[[], GrantStore], *, restrict_calls: bool = True) -> None:
        """``restrict_calls``: procedures are the admin's."""
        self._catalog, self._store, self._restrict_calls = catalog, store, restrict_calls
        self._indexed: tuple[Grants | None, Mapping[tuple[str, str], Sequence[TableGrant]]] = (None, {})

    @property
    def rules_version(self) -> str | None:
        return None

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None:
        grants = self._store().read()
        if ADMIN_ROLE not in {grant.role for grant in applicable_grants(grants, Principal("USER", identity.user))}:
            raise AccessDeniedError(f"Cannot set catalog session property {catalog}.{name}", _RULE)

    def check_access(self, identity: Identity, access: of.Access) -> None:
        if not self._allows(self._holder(identity), access):
            raise denied(access, _RULE, identity.user)

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:  # noqa: ARG002
        holder = self._holder(identity)
        return frozenset(s for s in schemas if s == INFORMATION_SCHEMA or holder.sees_schema(s.lower()))

    def filter_tables(
        self,
        identity: Identity,
        catalog: str,  # noqa: ARG002
        tables: Collection[tuple[str, str]],
    ) -> frozenset[tuple[str, str]]:
        holder = self._holder(identity)
        return frozenset(each for each in tables if each[0] == INFORMATION_SCHEMA or holder.lists(*each))

    def filter_columns(self, identity: Identity, table: of.TableName, columns: Collection[str]) -> frozenset[str]:
        seen = _is_list(table) or self._holder(identity).sees(table.schema, table.table)
        return frozenset(columns) if seen else frozenset()

    def _holder(self, identity: Identity) -> Holder:
        store = self._store()
        grants = store.read()
        indexed = self._indexed
        if indexed[0] is not grants:
            by_table: dict[tuple[str, str], list[TableGrant]] = {}
            for grant in grants.table_grants:
                by_table.setdefault((grant.schema, grant.table), []).append(grant)
            indexed = self._indexed = (grants, by_table)
        roles = enabled_roles(grants, identity, self._catalog)
        return Holder(grants, identity, roles, indexed[1], cache(store.object_id))

    def _allows(self, holder: Holder, access: of.Access) -> bool:  # noqa: C901 - one case a kind of access
        match access:
            case of.CreateCatalog() | of.DropCatalog() | of.ShowSchemas():
                return True
            case of.ShowTables():
                return access.schema.schema == INFORMATION_SCHEMA or holder.sees_schema(access.schema.schema)
            case of.ShowColumns() | of.ExecuteTableProcedure():
                return _is_list(access.table) or holder.sees(access.table.schema, access.table.table)
            case of.SelectFromColumns():
                return _is_list(access.table) or _has(holder, access.table, "SELECT")
            case of.CreateViewWithSelectFromColumns():
                return _is_list(access.table) or _has(holder, access.table, "SELECT", grantable=True)
            case of.CreateSchema() | of.RenameSchema():
                return holder.is_admin
            case of.DropSchema() | of.ShowCreateSchema() | of.SetSchemaAuthorization():
                return holder.owns_schema(access.schema.schema)
            case of.CreateTable():
                return holder.owns_schema(access.table.schema)
            case of.CreateView():
                return holder.owns_schema(access.view.schema)
            case of.DropView() | of.SetViewComment() | of.SetViewAuthorization():
                return _has(holder, access.view, OWNERSHIP)
            case of.RefreshMaterializedView():
                return _has(holder, access.view, "UPDATE")
            case of.RenameTable():
                return _may_move(holder, access.table, access.new_name)
            case of.RenameView():
                return _may_move(holder, access.view, access.new_name)
            case of.ExecuteProcedure():
                return holder.is_admin or not self._restrict_calls
            case of.GrantTablePrivilege() | of.RevokeTablePrivilege():
                return _has(holder, access.table, OWNERSHIP) or _has(
                    holder, access.table, access.privilege, grantable=True
                )
            case of.CreateRole() | of.DropRole() | of.GrantRoles() | of.RevokeRoles() | of.SetRole() | of.ShowRoles():
                return self._allows_of_roles(holder, access)
            case _:
                return _has(holder, access.table, _NEEDED.get(type(access), OWNERSHIP))

    def _allows_of_roles(self, holder: Holder, access: of.RoleAccess) -> bool:
        mine = applicable_grants(holder.grants, Principal("USER", holder.identity.user))
        if isinstance(access, of.SetRole):
            return access.role == PUBLIC_ROLE or access.role in {grant.role for grant in mine}
        if holder.is_admin:
            return True
        if isinstance(access, of.GrantRoles | of.RevokeRoles):
            return {grant.role for grant in mine if grant.grantable} >= set(access.roles)
        return False


def _has(holder: Holder, table: of.TableName, privilege: str, *, grantable: bool = False) -> bool:
    return holder.has(table.schema, table.table, privilege, grantable=grantable)


def _may_move(holder: Holder, old: of.TableName, new: of.TableName) -> bool:
    return _has(holder, old, OWNERSHIP) and (old.schema == new.schema or holder.owns_schema(new.schema))


def _is_list(table: of.TableName) -> bool:
    return table.schema == INFORMATION_SCHEMA

"""What ``information_schema`` and SHOW tell of roles and privileges: to each their own, to an admin all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from coordinator.security.access_control.enabled_roles import applicable_grants, enabled_roles
from shared.spi.access_control import Identity
from shared.spi.grants import ADMIN_ROLE, PRIVILEGES, Grants, Principal, TableGrant

GRANT_COLUMNS = (
    "Grantor", "Grantor Type", "Grantee", "Grantee Type", "Catalog", "Schema", "Table", "Privilege", "Grantable",
    "With Hierarchy",
)  # fmt: skip
Row = tuple[str | None, ...]


def standing(grants: Grants, object_id: Callable[[str, str], str | None]) -> Grants:
    """Without those on things that are no more, whose names others have now."""
    current = cache(object_id)
    kept = tuple(grant for grant in grants.table_grants if grant.object_id == current(grant.schema, grant.table))
    return replace(grants, table_grants=kept)


def shown_roles(grants: Grants, identity: Identity, catalog: str) -> Sequence[Row]:
    """Raises AccessDeniedError for a chosen role that the user does not have."""
    enabled = enabled_roles(grants, identity, catalog)
    return [(role,) for role in sorted(grants.roles if ADMIN_ROLE in enabled else enabled & grants.roles)]


def shown_enabled_roles(grants: Grants, identity: Identity, catalog: str) -> Sequence[Row]:
    """Raises AccessDeniedError."""
    return [(role,) for role in sorted(enabled_roles(grants, identity, catalog))]


def shown_applicable_roles(grants: Grants, identity: Identity, _catalog: str) -> Sequence[Row]:
    """Those of the user, by way of other roles too."""
    mine = applicable_grants(grants, Principal("USER", identity.user))
    return [(g.grantee.name, g.grantee.kind, g.role, "YES" if g.grantable else "NO") for g in mine]


def shown_grants(grants: Grants, identity: Identity, catalog: str) -> Sequence[Row]:
    """Privileges on tables and views; owning one shows as all of them. Raises AccessDeniedError."""
    enabled = enabled_roles(grants, identity, catalog)

    def is_mine(grant: TableGrant) -> bool:
        grantee = grant.grantee
        return grantee.name in enabled if grantee.kind == "ROLE" else grantee.name == identity.user

    return [
        (
            grant.grantor, "USER", grant.grantee.name, grant.grantee.kind, catalog, grant.schema, grant.table,
            privilege, "YES" if grant.grantable else "NO", None,
        )
        for grant in grants.table_grants
        if grant.table and (ADMIN_ROLE in enabled or is_mine(grant))
        for privilege in ([grant.privilege] if grant.privilege in PRIVILEGES else PRIVILEGES)
    ]  # fmt: skip

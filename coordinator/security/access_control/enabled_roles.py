"""Which roles somebody has and uses. Source: Presto's ``ThriftMetastoreUtil``.

Without a choice all roles of a user count but ``admin``, which must be chosen. A chosen role brings those that are
granted to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.grants import ADMIN_ROLE, PUBLIC_ROLE, Grants, Principal, RoleGrant

_CHOSEN = re.compile(r"ROLE\{(.+)\}")


def is_selected_role(text: str) -> bool:
    """Whether a client may send this as its choice."""
    return text in ("ALL", "NONE") or _CHOSEN.fullmatch(text) is not None


def role_text(kind: str, role: str | None) -> str:
    """The choice as clients keep it."""
    return kind if role is None else f"ROLE{{{role}}}"


def applicable_grants(grants: Grants, principal: Principal) -> Sequence[RoleGrant]:
    """The roles that are granted to a user or role, by way of other roles too."""
    found: dict[RoleGrant, None] = {}
    waiting = [principal]
    seen: set[Principal] = set()
    while waiting:
        grantee = waiting.pop()
        if grantee in seen:
            continue
        seen.add(grantee)
        for grant in grants.role_grants:
            if grant.grantee == grantee:
                found[grant] = None
                waiting.append(Principal("ROLE", grant.role))
    return tuple(found)


def enabled_roles(grants: Grants, identity: Identity, catalog: str) -> frozenset[str]:
    """Raises AccessDeniedError for a chosen role that the user does not have."""
    chosen = dict(identity.roles).get(catalog, "ALL")
    if chosen == "NONE":
        return frozenset({PUBLIC_ROLE})
    user = Principal("USER", identity.user)
    match = _CHOSEN.fullmatch(chosen)
    if match is None:
        return frozenset({PUBLIC_ROLE, *(grant.role for grant in applicable_grants(grants, user))} - {ADMIN_ROLE})
    role = match[1].lower()
    if role != PUBLIC_ROLE and role not in {grant.role for grant in applicable_grants(grants, user)}:
        raise AccessDeniedError(f"Cannot set role {role}", "sql-standard", "SetRole", role)
    below = {grant.role for grant in applicable_grants(grants, Principal("ROLE", role))} - {ADMIN_ROLE}
    return frozenset({PUBLIC_ROLE, role, *below})

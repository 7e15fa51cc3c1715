"""Roles and privileges that a catalog keeps. Source of their meaning: Presto's ``sql-standard`` for Hive.

Names of roles are in small letters; names of users are as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

PRIVILEGES = ("SELECT", "INSERT", "DELETE", "UPDATE")
"""What can be granted on a table."""
OWNERSHIP = "OWNERSHIP"
"""What whoever makes a table or schema has of it."""
ADMIN_ROLE = "admin"
PUBLIC_ROLE = "public"


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """A user or a role."""

    kind: Literal["USER", "ROLE"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, order=True)
class RoleGrant:
    """``grantable``: with the admin option."""

    role: str
    grantee: Principal
    grantable: bool = False


@dataclass(frozen=True, slots=True, order=True)
class TableGrant:
    """A privilege on a table or view; on a schema where ``table`` is empty (OWNERSHIP alone).

    ``object_id`` is of what had the name when it was granted: on anything else of that name nothing is granted.
    """

    schema: str
    table: str
    privilege: str
    grantee: Principal
    grantable: bool = False
    grantor: str = ""
    object_id: str = ""


@dataclass(frozen=True, slots=True)
class Grants:
    """All of one catalog at one time; ``roles`` without those that every catalog has."""

    roles: frozenset[str] = frozenset()
    role_grants: tuple[RoleGrant, ...] = ()
    table_grants: tuple[TableGrant, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleCreation:
    """``admin`` gets the role with the admin option."""

    role: str
    admin: Principal | None = None


@dataclass(frozen=True, slots=True)
class RoleRemoval:
    role: str


@dataclass(frozen=True, slots=True)
class RoleGranting:
    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]
    admin_option: bool


@dataclass(frozen=True, slots=True)
class RoleRevoking:
    """``admin_option_only``: the role stays."""

    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]
    admin_option_only: bool


@dataclass(frozen=True, slots=True)
class PrivilegeGranting:
    schema: str
    table: str
    privileges: tuple[str, ...]
    grantee: Principal
    grant_option: bool
    grantor: str
    object_id: str
    """Of what the grantor was asked about."""


@dataclass(frozen=True, slots=True)
class PrivilegeRevoking:
    """``grant_option_only``: the privilege stays."""

    schema: str
    table: str
    privileges: tuple[str, ...]
    grantee: Principal
    grant_option_only: bool


RoleChange = RoleCreation | RoleRemoval | RoleGranting | RoleRevoking | PrivilegeGranting | PrivilegeRevoking


class GrantStore(Protocol):
    """Thread-safe; what one process changes, others see at once."""

    def read(self) -> Grants:
        """All that is granted now. Raises ProcessionError."""
        ...

    def object_id(self, schema: str, table: str) -> str | None:
        """Of the table or view that has the name now, of the schema where ``table`` is empty; None without one.

        Raises ProcessionError.
        """
        ...

    def change(self, change: RoleChange) -> None:
        """Carry it out as one step. Raises ProcessionError for what is there already, or is not there."""
        ...

"""Statements about roles and privileges. Names of roles are in small letters, names of users as written."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import ErrorLocation
from shared.spi.grants import Principal


@dataclass(frozen=True, slots=True)
class Grantor:
    """``kind`` is CURRENT_USER, CURRENT_ROLE or PRINCIPAL."""

    kind: str
    principal: Principal | None = None


@dataclass(frozen=True, slots=True)
class CreateRole:
    role: str
    admin: Grantor | None
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropRole:
    role: str
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class GrantRoles:
    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]
    admin_option: bool
    grantor: Grantor | None
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RevokeRoles:
    roles: tuple[str, ...]
    grantees: tuple[Principal, ...]
    admin_option_only: bool
    grantor: Grantor | None
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class SetRole:
    """``kind`` is ALL, NONE or ROLE."""

    kind: str
    role: str | None
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class GrantPrivileges:
    """``privileges`` None: all."""

    privileges: tuple[str, ...] | None
    table: tuple[str, ...]
    grantee: Principal
    grant_option: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class RevokePrivileges:
    """``privileges`` None: all."""

    privileges: tuple[str, ...] | None
    table: tuple[str, ...]
    grantee: Principal
    grant_option_only: bool
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowRoles:
    """``current``: those that are enabled."""

    current: bool
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowRoleGrants:
    catalog: str | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ShowGrants:
    """``table`` is empty where none is named."""

    table: tuple[str, ...]
    location: ErrorLocation


RoleStatement = (
    CreateRole
    | DropRole
    | GrantRoles
    | RevokeRoles
    | SetRole
    | GrantPrivileges
    | RevokePrivileges
    | ShowRoles
    | ShowRoleGrants
    | ShowGrants
)

"""System rules as Presto and Trino write them in JSON; unknown keys and sections that nothing enforces are refused."""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from coordinator.security.access_control.object_rules import FunctionRule, ProcedureRule, SchemaRule, TableRule
from coordinator.security.access_control.patterns import Pattern, Rule
from coordinator.security.refreshed_file import read_text
from shared.properties import ConfigurationError
from shared.spi.access_control import Identity
from shared.spi.grants import Principal

CatalogAccess = Literal["all", "read-only", "none"]
_NOT_ENFORCED = ("roles",)


class CatalogRule(Rule, frozen=True, kw_only=True):
    catalog: Pattern | None = None
    allow: CatalogAccess | bool = "none"

    @property
    def access(self) -> CatalogAccess:
        if isinstance(self.allow, bool):
            return "all" if self.allow else "none"
        return self.allow


class QueryRule(Rule, frozen=True, kw_only=True):
    queryOwner: Pattern | None = None
    allow: frozenset[Literal["execute", "view", "kill"]] = frozenset()

    def __post_init__(self) -> None:
        if self.queryOwner is not None and "execute" in self.allow:
            raise ValueError("a rule with queryOwner cannot allow execute")


class InformationRule(Rule, frozen=True, kw_only=True):
    allow: frozenset[Literal["read", "write"]] = frozenset()


class PropertyRule(Rule, frozen=True, kw_only=True):
    property: Pattern | None = None
    allow: bool = False


class CatalogPropertyRule(PropertyRule, frozen=True, kw_only=True):
    catalog: Pattern | None = None


class ImpersonationRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    new_user: str
    original_user: Pattern | None = None
    original_role: Pattern | None = None
    allow: bool = True

    def __post_init__(self) -> None:
        groups = 0 if self.original_user is None else self.original_user.compiled.groups
        if any(int(number) > groups for number in re.findall(r"\$(\d)", self.new_user)):
            raise ValueError(f"'{self.new_user}' names a group that original_user does not have")
        Pattern(re.sub(r"\$\d", "x", self.new_user))


class PrincipalRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    principal: Pattern
    user: Pattern | None = None
    principal_to_user: str | None = None
    allow: bool = False

    def __post_init__(self) -> None:
        if self.user is None and self.principal_to_user is None:
            raise ValueError("a principal rule needs user or principal_to_user")


class AuthorizationRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Of ALTER … SET AUTHORIZATION: whom somebody may make the owner of what they own."""

    original_user: Pattern | None = None
    original_group: Pattern | None = None
    original_role: Pattern | None = None
    new_user: Pattern | None = None
    new_role: Pattern | None = None
    allow: bool = True

    def __post_init__(self) -> None:
        if self.new_user is None and self.new_role is None:
            raise ValueError("an authorization rule needs new_user or new_role")

    def is_for(self, identity: Identity, roles: Collection[str]) -> bool:
        if self.original_user is not None and not self.original_user.matches(identity.user):
            return False
        if self.original_group is not None and not any(map(self.original_group.matches, identity.groups)):
            return False
        return self.original_role is None or any(map(self.original_role.matches, roles))

    def names(self, principal: Principal) -> bool:
        """Whether it is about making this one the owner."""
        pattern = self.new_user if principal.kind == "USER" else self.new_role
        return pattern is not None and pattern.matches(principal.name)


class Rules(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A section that is absent is None, which is not the same as an empty one."""

    catalogs: tuple[CatalogRule, ...] | None = None
    schemas: tuple[SchemaRule, ...] | None = None
    tables: tuple[TableRule, ...] | None = None
    functions: tuple[FunctionRule, ...] | None = None
    procedures: tuple[ProcedureRule, ...] | None = None
    queries: tuple[QueryRule, ...] | None = None
    impersonation: tuple[ImpersonationRule, ...] | None = None
    principals: tuple[PrincipalRule, ...] | None = None
    system_information: tuple[InformationRule, ...] | None = None
    system_session_properties: tuple[PropertyRule, ...] | None = None
    catalog_session_properties: tuple[CatalogPropertyRule, ...] | None = None
    authorization: tuple[AuthorizationRule, ...] | None = None
    of_catalog: bool = False
    """Whether they are a catalog's own: then the owner of a schema makes its tables, as in Presto."""
    version: str = ""
    """A digest of the file, which does not hold it."""

    def __post_init__(self) -> None:
        for name, section in self._without_catalog().items():
            if any(rule.role is not None for rule in section or ()):
                raise ValueError(f"rules of '{name}' cannot name a role: roles belong to catalogs")
        if any(rule.original_role is not None for rule in self.impersonation or ()):
            raise ValueError("rules of 'impersonation' cannot name a role: roles belong to catalogs")

    def _without_catalog(self) -> dict[str, tuple[Rule, ...] | None]:
        return {
            "queries": self.queries,
            "system_information": self.system_information,
            "system_session_properties": self.system_session_properties,
        }

    @property
    def name_roles(self) -> bool:
        """Whether it matters which roles somebody uses."""
        sections: tuple[tuple[Rule, ...] | None, ...] = (
            self.catalogs, self.schemas, self.tables, self.procedures, self.catalog_session_properties,
        )  # fmt: skip
        if any(rule.role is not None for section in sections for rule in section or ()):
            return True
        return any(rule.original_role is not None for rule in self.authorization or ())


def read_rules(file: Path) -> Rules:
    """Raises ConfigurationError."""
    try:
        text = read_text(file)
        content = msgspec.json.decode(text)
        if isinstance(content, dict):
            unenforced = [name for name in _NOT_ENFORCED if name in content]
            if unenforced:
                raise ConfigurationError(f"{file}: section '{unenforced[0]}' is not enforced by this version")
            own = [name for name in ("version", "of_catalog") if name in content]
            if own:
                raise ConfigurationError(f"{file}: Object contains unknown field `{own[0]}`")
            content["version"] = blake2b(text.encode(), digest_size=12).hexdigest()
        return msgspec.convert(content, Rules, dec_hook=decoded)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{file}: {error}") from error


T = TypeVar("T")


def decoded(kind: type[T], value: object) -> object:
    """What msgspec does not know by itself."""
    if kind is Pattern and isinstance(value, str):
        return Pattern(value)
    raise ValueError(f"expected a text, got {type(value).__name__}")

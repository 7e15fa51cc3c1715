"""Rules of schemas, tables, functions and procedures as Presto and Trino write them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from coordinator.security.access_control.patterns import Pattern, Rule

Privilege = Literal["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]


class Environment(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """As whom an expression is analyzed."""

    user: str | None = None


class SchemaRule(Rule, frozen=True, kw_only=True):
    catalog: Pattern | None = None
    schema: Pattern | None = None
    owner: bool = False


class ColumnRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    name: str
    allow: bool = True
    mask: str | None = None
    mask_environment: Environment = Environment()

    def __post_init__(self) -> None:
        if self.mask_environment.user is not None and self.mask is None:
            raise ValueError("mask_environment without mask")


class TableRule(Rule, frozen=True, kw_only=True):
    privileges: frozenset[Privilege]
    catalog: Pattern | None = None
    schema: Pattern | None = None
    table: Pattern | None = None
    columns: tuple[ColumnRule, ...] = ()
    filter: str | None = None
    filter_environment: Environment = Environment()

    def __post_init__(self) -> None:
        if self.filter_environment.user is not None and self.filter is None:
            raise ValueError("filter_environment without filter")

    def may_read(self, columns: Collection[str], privileges: Collection[Privilege]) -> bool:
        """Whether one of the privileges is given, and none of the columns is withheld."""
        if self.privileges.isdisjoint(privileges):
            return False
        return not any(not column.allow and column.name.lower() in columns for column in self.columns)


class FunctionRule(Rule, frozen=True, kw_only=True):
    privileges: frozenset[Literal["EXECUTE", "GRANT_EXECUTE", "OWNERSHIP"]]
    catalog: Pattern | None = None
    schema: Pattern | None = None
    function: Pattern | None = None


class ProcedureRule(Rule, frozen=True, kw_only=True):
    privileges: frozenset[Literal["EXECUTE", "GRANT_EXECUTE"]]
    catalog: Pattern | None = None
    schema: Pattern | None = None
    procedure: Pattern | None = None


def matches(pattern: Pattern | None, text: str) -> bool:
    """An absent pattern matches everything."""
    return pattern is None or pattern.matches(text)

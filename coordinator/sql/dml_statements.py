"""Statements that write rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.sql.ddl_statements import Name
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Query, Relation
from shared.errors import ErrorLocation


@dataclass(frozen=True, slots=True)
class Insert:
    """``columns`` is None when none are listed; ``locations`` are those of the listed columns."""

    name: Name
    columns: tuple[str, ...] | None
    locations: tuple[ErrorLocation, ...]
    query: Query
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Delete:
    name: Name
    where: Expression | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """``column = expression`` of an UPDATE."""

    column: str
    value: Expression
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Update:
    name: Name
    alias: str | None
    assignments: tuple[ColumnValue, ...]
    where: Expression | None
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class MergeCase:
    """One WHEN. ``assignments`` belong to UPDATE; ``columns`` (empty for all) and ``values`` to INSERT."""

    matched: bool
    action: Literal["UPDATE", "DELETE", "INSERT"]
    condition: Expression | None
    assignments: tuple[ColumnValue, ...]
    columns: tuple[str, ...]
    values: tuple[Expression, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Merge:
    """``source`` is the relation after USING, alias included."""

    name: Name
    alias: str | None
    source: Relation
    on: Expression
    cases: tuple[MergeCase, ...]
    location: ErrorLocation


DmlStatement = Insert | Delete | Update | Merge

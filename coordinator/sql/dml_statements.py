"""Statements that write rows. Expressions and queries are kept as their tokens, which know their places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot.tokens import Token

from coordinator.sql.ddl_statements import Name
from shared.errors import ErrorLocation

Tokens = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """``columns`` is None when none are listed; ``locations`` are those of the listed columns."""

    name: Name
    columns: tuple[str, ...] | None
    locations: tuple[ErrorLocation, ...]
    tokens: Tokens
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Delete:
    name: Name
    where: Tokens | None
    location: ErrorLocation
    name_location: ErrorLocation


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """``column = expression`` of an UPDATE."""

    column: str
    tokens: Tokens
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Update:
    name: Name
    alias: str | None
    assignments: tuple[ColumnValue, ...]
    where: Tokens | None
    location: ErrorLocation
    name_location: ErrorLocation


@dataclass(frozen=True, slots=True)
class MergeCase:
    """One WHEN. ``assignments`` belong to UPDATE; ``columns`` (empty for all) and ``values`` to INSERT."""

    matched: bool
    action: Literal["UPDATE", "DELETE", "INSERT"]
    condition: Tokens | None
    assignments: tuple[ColumnValue, ...]
    columns: tuple[str, ...]
    values: tuple[Tokens, ...]
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class Merge:
    """``source`` are the tokens of the relation after USING, alias included."""

    name: Name
    alias: str | None
    source: Tokens
    on: Tokens
    cases: tuple[MergeCase, ...]
    location: ErrorLocation
    name_location: ErrorLocation


DmlStatement = Insert | Delete | Update | Merge

"""CREATE and DROP TEMPORARY FUNCTION after parsing."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.sql.tree.expressions import Expression
from shared.errors import ErrorLocation


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """``type`` is the text as written."""

    name: str
    type: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class CreateTemporaryFunction:
    """``body`` is the expression behind RETURN, ``body_text`` how it is written."""

    name: tuple[str, ...]
    parameters: tuple[ParameterDeclaration, ...]
    result: str
    result_location: ErrorLocation
    comment: str
    deterministic: bool
    null_on_null: bool
    body: Expression
    body_text: str
    location: ErrorLocation


@dataclass(frozen=True, slots=True)
class DropTemporaryFunction:
    """``types`` is None where none were written."""

    name: tuple[str, ...]
    types: tuple[str, ...] | None
    exists: bool
    location: ErrorLocation


FunctionStatement = CreateTemporaryFunction | DropTemporaryFunction

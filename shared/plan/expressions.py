"""RowExpressions and function handles, exactly as Presto writes them in plan JSON.

Source: presto_cpp ``presto_protocol_core.yml`` and captured fragments of a Presto 0.296 coordinator.
A field that is ``None`` is absent on the wire, as Jackson's ``NON_ABSENT`` writes it.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

import msgspec


class SourceLocation(msgspec.Struct, frozen=True, eq=False):
    """Where in the statement a node or expression comes from; line and column count from 1.

    It is no part of what the expression means: any two compare equal, and equal to none at all, so that expressions and
    nodes compare by the rest, as in Presto. Compare ``line`` and ``column`` where the place itself matters.
    """

    line: int
    column: int

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, SourceLocation)

    # That of None, which all are equal to; a variable is hashed some hundred times a statement, with its place.
    __hash__ = None.__hash__


class Variable(msgspec.Struct, frozen=True, tag_field="@type", tag="variable", omit_defaults=True, kw_only=True):
    """A typed column of an intermediate relation; ``type`` is Presto type text."""

    sourceLocation: SourceLocation | None = None
    name: str
    type: str

    @property
    def key(self) -> str:
        """The form in which a variable is a JSON object key: ``name<type>``."""
        return f"{self.name}<{self.type}>"


class Constant(msgspec.Struct, frozen=True, tag_field="@type", tag="constant", omit_defaults=True, kw_only=True):
    """A literal: ``valueBlock`` is the base64 of a one-row Presto block (see ``shared.plan.blocks``)."""

    sourceLocation: SourceLocation | None = None
    valueBlock: str
    type: str


class Signature(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A resolved function signature; ``name`` is qualified, as in ``presto.default.$operator$equal``."""

    name: str
    kind: str
    typeVariableConstraints: tuple[dict[str, Any], ...] | msgspec.UnsetType = msgspec.UNSET
    longVariableConstraints: tuple[dict[str, Any], ...] | msgspec.UnsetType = msgspec.UNSET
    returnType: str
    argumentTypes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    variableArity: bool | msgspec.UnsetType = msgspec.UNSET


class StaticFunctionHandle(
    msgspec.Struct, frozen=True, tag_field="@type", tag="$static", omit_defaults=True, kw_only=True
):
    """A built-in function or operator."""

    signature: Signature
    builtInFunctionKind: str | None = None


class SqlFunctionHandle(
    msgspec.Struct, frozen=True, tag_field="@type", tag="sql_function_handle", omit_defaults=True, kw_only=True
):
    """A function of a function namespace; ``functionId`` is ``catalog.schema.name;type;type``."""

    functionId: str
    version: str
    signature: Signature | None = None


class NativeFunctionHandle(
    msgspec.Struct, frozen=True, tag_field="@type", tag="native", omit_defaults=True, kw_only=True
):
    """A function of the native namespace, carried by signature."""

    signature: Signature
    functionId: str | None = None
    version: str | None = None


class JsonFileFunctionHandle(
    msgspec.Struct, frozen=True, tag_field="@type", tag="json_file", omit_defaults=True, kw_only=True
):
    """A function declared in a JSON file namespace."""

    functionId: str
    version: str


class RestFunctionHandle(msgspec.Struct, frozen=True, tag_field="@type", tag="rest", omit_defaults=True, kw_only=True):
    """A function evaluated by a remote REST server."""

    functionId: str
    version: str
    signature: Signature | None = None


FunctionHandle = (
    StaticFunctionHandle | SqlFunctionHandle | NativeFunctionHandle | JsonFileFunctionHandle | RestFunctionHandle
)


class Call(msgspec.Struct, frozen=True, tag_field="@type", tag="call", omit_defaults=True, kw_only=True):
    """A function or operator call."""

    sourceLocation: SourceLocation | None = None
    displayName: str
    functionHandle: FunctionHandle
    returnType: str
    arguments: tuple[RowExpression, ...]


SpecialFormName = Literal[
    "IF",
    "NULL_IF",
    "SWITCH",
    "WHEN",
    "IS_NULL",
    "COALESCE",
    "IN",
    "AND",
    "OR",
    "DEREFERENCE",
    "ROW_CONSTRUCTOR",
    "BIND",
]


class SpecialForm(msgspec.Struct, frozen=True, tag_field="@type", tag="special", omit_defaults=True, kw_only=True):
    """An expression whose arguments are not all evaluated first."""

    sourceLocation: SourceLocation | None = None
    form: SpecialFormName
    returnType: str
    arguments: tuple[RowExpression, ...]


class Lambda(msgspec.Struct, frozen=True, tag_field="@type", tag="lambda", omit_defaults=True, kw_only=True):
    """``(arguments) -> body``; captured variables appear by name in the body."""

    sourceLocation: SourceLocation | None = None
    argumentTypes: tuple[str, ...]
    arguments: tuple[str, ...]
    body: RowExpression


RowExpression = Variable | Constant | Call | SpecialForm | Lambda


def type_of(expression: RowExpression) -> str:
    """The Presto type text of an expression's value."""
    match expression:
        case Variable() | Constant():
            return expression.type
        case Call() | SpecialForm():
            return expression.returnType
        case Lambda():
            return f"function({','.join((*expression.argumentTypes, type_of(expression.body)))})"
        case _:
            assert_never(expression)

"""Short names for the sqlglot trees that the unparser builds: identifiers quoted, operators in parentheses."""

from __future__ import annotations

from sqlglot import exp

from coordinator.values.type_names import type_name
from shared.plan.kept import kept
from shared.plan.types import Type

DIALECTS = ("duckdb", "spark")


def name(text: str) -> exp.Expr:
    """A quoted identifier."""
    return exp.to_identifier(text, quoted=True)


def column(text: str) -> exp.Expr:
    """A column by name."""
    return exp.Column(this=name(text))


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of the engine, written as it is."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def text(value: str) -> exp.Expr:
    """A string literal."""
    return exp.Literal.string(value)


def number(value: int) -> exp.Expr:
    """An integer literal."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def binary(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``(left kind right)``."""
    return exp.Paren(this=kind(this=left, expression=right))


def case(branches: list[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None = None) -> exp.Expr:
    """``CASE WHEN … THEN … ELSE … END``."""
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=otherwise if otherwise is not None else exp.Null())


def is_null(value: exp.Expr) -> exp.Expr:
    """``(value IS NULL)``."""
    return binary(exp.Is, value, exp.Null())


@kept(4096)
def _data_type(type_text: str, dialect: str) -> exp.Expr:
    return exp.DataType.build(type_text, dialect=dialect)


def cast(value: exp.Expr, type_: Type, dialect: str, *, attempt: bool = False) -> exp.Expr:
    """``CAST(value AS kind)`` or TRY_CAST."""
    if attempt and dialect == "spark":
        # sqlglot writes TRY_CAST as CAST for Spark, which fails instead of giving NULL.
        return call("TRY_CAST", exp.Alias(this=value, alias=exp.Var(this=type_name(type_, dialect))))
    node = exp.TryCast if attempt else exp.Cast
    return node(this=value, to=_data_type(type_name(type_, dialect), dialect).copy())

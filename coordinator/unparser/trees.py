"""Short names for the sqlglot trees that the unparser builds: identifiers quoted, operators in parentheses."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlglot import exp

from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Type

DIALECTS = ("duckdb", "spark")
_BYTES = (
    "hyperloglog",
    "p4hyperloglog",
    "tdigest",
    "qdigest",
    "setdigest",
    "khyperloglog",
    "kllsketch",
    "sfmsketch",
)
_NAMES: dict[str, dict[str, str]] = {
    "duckdb": {
        "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT",
        "real": "REAL", "double": "DOUBLE", "varbinary": "BLOB", "date": "DATE", "time": "TIME",
        "timestamp": "TIMESTAMP", "timestamp with time zone": "TIMESTAMPTZ", "interval day to second": "BIGINT",
        "interval year to month": "INTEGER", "unknown": "INTEGER", "bingtile": "BIGINT", "color": "BIGINT",
        **dict.fromkeys(_BYTES, "BLOB"),
    },
    "spark": {
        "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INT", "bigint": "BIGINT",
        "real": "FLOAT", "double": "DOUBLE", "varbinary": "BINARY", "date": "DATE", "timestamp": "TIMESTAMP_NTZ",
        "timestamp with time zone": "TIMESTAMP", "interval day to second": "BIGINT", "interval year to month": "INT",
        "unknown": "INT", "time": "STRING", "bingtile": "BIGINT", "color": "BIGINT",
        **dict.fromkeys(_BYTES, "BINARY"),
    },
}  # fmt: skip
_TEXT = (
    "varchar",
    "char",
    "json",
    "uuid",
    "ipaddress",
    "ipprefix",
    "time with time zone",
    "kdbtree",
    "geometry",
    "sphericalgeography",
)


def name(text: str) -> Any:
    """A quoted identifier."""
    return exp.to_identifier(text, quoted=True)


def column(text: str) -> Any:
    """A column by name."""
    return exp.Column(this=name(text))


def call(function: str, *arguments: Any) -> Any:
    """A function of the engine, written as it is."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def text(value: str) -> Any:
    """A string literal."""
    return exp.Literal.string(value)


def number(value: int) -> Any:
    """An integer literal."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def binary(kind: Any, left: Any, right: Any) -> Any:
    """``(left kind right)``."""
    return exp.Paren(this=kind(this=left, expression=right))


def case(branches: list[tuple[Any, Any]], otherwise: Any = None) -> Any:
    """``CASE WHEN … THEN … ELSE … END``."""
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=otherwise if otherwise is not None else exp.Null())


def is_null(value: Any) -> Any:
    """``(value IS NULL)``."""
    return binary(exp.Is, value, exp.Null())


@lru_cache(maxsize=4096)
def type_name(kind: Type, dialect: str) -> str:
    """The engine's text of a Presto type; raises NOT_SUPPORTED for a type that the engine cannot hold."""
    names = _NAMES[dialect]
    if kind.base in names:
        return names[kind.base]
    if kind.base in _TEXT:
        return "VARCHAR" if dialect == "duckdb" else "STRING"
    if kind.base == "decimal":
        return f"DECIMAL({kind.numbers[0]}, {kind.numbers[1]})"
    inner = [type_name(a, dialect) for a in kind.arguments]
    if kind.base == "array":
        return f"{inner[0]}[]" if dialect == "duckdb" else f"ARRAY<{inner[0]}>"
    if kind.base == "map":
        return f"MAP({', '.join(inner)})" if dialect == "duckdb" else f"MAP<{', '.join(inner)}>"
    if kind.base == "row":
        return _row_name(kind, inner, dialect)
    raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Type {kind} is not supported by the engine")


def _row_name(kind: Type, inner: list[str], dialect: str) -> str:
    quote = '"' if dialect == "duckdb" else "`"
    names = [f"{quote}{field_name(kind, i).replace(quote, quote * 2)}{quote}" for i in range(len(inner))]
    if dialect == "duckdb":
        return f"STRUCT({', '.join(f'{n} {t}' for n, t in zip(names, inner, strict=True))})"
    return f"STRUCT<{', '.join(f'{n}: {t}' for n, t in zip(names, inner, strict=True))}>"


def field_name(kind: Type, position: int) -> str:
    """The engine's name of a row's field, as ``coordinator.engine.arrow_types`` names it."""
    return kind.fields[position].name or f"field{position}"


@lru_cache(maxsize=4096)
def _data_type(type_text: str, dialect: str) -> Any:
    return exp.DataType.build(type_text, dialect=dialect)


def cast(value: Any, kind: Type, dialect: str, *, attempt: bool = False) -> Any:
    """``CAST(value AS kind)`` or TRY_CAST."""
    if attempt and dialect == "spark":
        # sqlglot writes TRY_CAST as CAST for Spark, which fails instead of giving NULL.
        return call("TRY_CAST", exp.Alias(this=value, alias=exp.Var(this=type_name(kind, dialect))))
    node = exp.TryCast if attempt else exp.Cast
    return node(this=value, to=_data_type(type_name(kind, dialect), dialect).copy())

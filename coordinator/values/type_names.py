"""Presto types as DuckDB and Spark name them."""

from __future__ import annotations

from coordinator.kernels.functions.arrow_forms import field_name
from shared.errors import ErrorCode, ProcessionError
from shared.plan.kept import kept
from shared.plan.types import Type

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


@kept(4096)
def type_name(type_: Type, dialect: str) -> str:
    """The engine's text of a Presto type; raises NOT_SUPPORTED for a type that the engine cannot hold."""
    names = _NAMES[dialect]
    if type_.base in names:
        return names[type_.base]
    if type_.base in _TEXT:
        return "VARCHAR" if dialect == "duckdb" else "STRING"
    if type_.base == "decimal":
        return f"DECIMAL({type_.numbers[0]}, {type_.numbers[1]})"
    inner = [type_name(a, dialect) for a in type_.arguments]
    if type_.base == "array":
        return f"{inner[0]}[]" if dialect == "duckdb" else f"ARRAY<{inner[0]}>"
    if type_.base == "map":
        return f"MAP({', '.join(inner)})" if dialect == "duckdb" else f"MAP<{', '.join(inner)}>"
    if type_.base == "row":
        return _row_name(type_, inner, dialect)
    raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Type {type_} is not supported by the engine")


def _row_name(type_: Type, inner: list[str], dialect: str) -> str:
    quote = '"' if dialect == "duckdb" else "`"
    names = [f"{quote}{field_name(type_, i).replace(quote, quote * 2)}{quote}" for i in range(len(inner))]
    if dialect == "duckdb":
        return f"STRUCT({', '.join(f'{n} {t}' for n, t in zip(names, inner, strict=True))})"
    return f"STRUCT<{', '.join(f'{n}: {t}' for n, t in zip(names, inner, strict=True))}>"

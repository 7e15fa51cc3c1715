"""Rows of ``system.jdbc.types``: every type that a client may meet, as Presto 0.296 tells them."""

from __future__ import annotations

from collections.abc import Iterator

from coordinator.connectors.system.column_sizes import jdbc_sizes

_NULLABLE = 1
_SEARCHABLE, _NOT_SEARCHABLE = 3, 0
_COMPARABLE = (
    "boolean",
    "bigint",
    "integer",
    "smallint",
    "tinyint",
    "real",
    "double",
    "varbinary",
    "date",
    "time",
    "time with time zone",
    "timestamp",
    "timestamp with time zone",
    "interval year to month",
    "interval day to second",
    "json",
    "uuid",
    "ipaddress",
    "ipprefix",
    "color",
    "BingTile",
    "unknown",
)
_OPAQUE = (
    "HyperLogLog",
    "P4HyperLogLog",
    "KHyperLogLog",
    "SfmSketch",
    "SetDigest",
    "Geometry",
    "SphericalGeography",
    "KdbTree",
    "CodePoints",
    "JsonPath",
    "LikePattern",
    "JoniRegExp",
    "Re2JRegExp",
)
_PARAMETRIC = (
    "array",
    "map",
    "row",
    "varchar",
    "char",
    "decimal",
    "function",
    "qdigest",
    "tdigest",
    "BigintEnum",
    "VarcharEnum",
    "DistinctType",
)
_ARRAY, _JAVA_OBJECT = 2003, 2000


def type_rows() -> Iterator[tuple[object, ...]]:
    """One row a type; of types with parameters only the name and the JDBC type are known."""
    for name in _COMPARABLE:
        sizes = jdbc_sizes(name)
        yield _row(name, sizes.data_type, sizes.column_size, _SEARCHABLE, sizes.radix)
    for name in _OPAQUE:
        yield _row(name, _JAVA_OBJECT, None, _NOT_SEARCHABLE, None)
    for name in _PARAMETRIC:
        yield _row(name, _ARRAY if name == "array" else _JAVA_OBJECT, None, _NOT_SEARCHABLE, None)


def _row(name: str, data_type: int, precision: int | None, searchable: int, radix: int | None) -> tuple[object, ...]:
    return (
        name,
        data_type,
        precision,
        None,
        None,
        None,
        _NULLABLE,
        False,
        searchable,
        None,
        False,
        None,
        None,
        0,
        0,
        None,
        None,
        radix,
    )

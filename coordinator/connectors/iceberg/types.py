"""Iceberg types as Presto types and back, and as the Hive type texts of Presto's table layouts.

Source: Presto ``TypeConverter`` and the Iceberg specification, "Primitive Types".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from coordinator.connectors.iceberg.opaque_types import OpaqueType, is_planar, is_spatial, is_variant
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import Field, Type, parse_type

PLAIN_TYPES: tuple[type[IcebergType], ...] = (
    *(BooleanType, IntegerType, LongType, FloatType, DoubleType, DateType, DecimalType, StringType, BinaryType),
    *(FixedType, TimestampType),
)
"""Types without parts whose values every reader gives alike, inside of nested columns too."""
_TO_PRESTO: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "integer",
    LongType: "bigint",
    FloatType: "real",
    DoubleType: "double",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamp with time zone",
    TimestampNanoType: "timestamp",
    TimestamptzNanoType: "timestamp with time zone",
    StringType: "varchar",
    UUIDType: "uuid",
    BinaryType: "varbinary",
    FixedType: "varbinary",
    UnknownType: "unknown",
}
_TO_HIVE: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "bigint",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimeType: "string",
    TimestampType: "timestamp",
    TimestamptzType: "timestamp with local time zone",
    TimestampNanoType: "timestamp",
    TimestamptzNanoType: "timestamp with local time zone",
    StringType: "string",
    UUIDType: "string",
    BinaryType: "binary",
    FixedType: "binary",
    UnknownType: "void",
}
_FROM_PRESTO: dict[str, Callable[[], IcebergType]] = {
    "boolean": BooleanType,
    "tinyint": IntegerType,
    "smallint": IntegerType,
    "integer": IntegerType,
    "bigint": LongType,
    "real": FloatType,
    "double": DoubleType,
    "date": DateType,
    "time": TimeType,
    "timestamp": TimestampType,
    "timestamp with time zone": TimestamptzType,
    "varchar": StringType,
    "uuid": UUIDType,
    "varbinary": BinaryType,
    "unknown": UnknownType,
    "json": lambda: OpaqueType.of("variant"),
}
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def presto_type(iceberg: IcebergType) -> Type:
    """The Presto type of a column."""
    match iceberg:
        case DecimalType():
            return Type("decimal", (iceberg.precision, iceberg.scale))
        case ListType():
            return Type("array", (presto_type(iceberg.element_type),))
        case MapType():
            return Type("map", (presto_type(iceberg.key_type), presto_type(iceberg.value_type)))
        case StructType():
            return Type("row", tuple(row_field(f.name, presto_type(f.field_type)) for f in iceberg.fields))
        case _:
            return Type(_TO_PRESTO.get(type(iceberg)) or _of_opaque(iceberg)[0])


def _of_opaque(iceberg: IcebergType) -> tuple[str, str]:
    """Presto's and Hive's type of what is only known by name: well-known binary, JSON, or none."""
    if is_spatial(iceberg):
        return "geometry" if is_planar(iceberg) else "sphericalgeography", "binary"
    return ("json", "string") if is_variant(iceberg) else ("unknown", "void")


def row_field(name: str, type_: Type) -> Field:
    """A field of a row, its name in quotes where it has to be."""
    return Field(name, type_, delimited=_PLAIN_NAME.fullmatch(name) is None)


def hive_type(iceberg: IcebergType) -> str:
    """The Hive type text that Presto puts into ``dataColumns`` of a table layout."""
    match iceberg:
        case DecimalType():
            return f"decimal({iceberg.precision},{iceberg.scale})"
        case ListType():
            return f"array<{hive_type(iceberg.element_type)}>"
        case MapType():
            return f"map<{hive_type(iceberg.key_type)},{hive_type(iceberg.value_type)}>"
        case StructType():
            return f"struct<{','.join(f'{f.name}:{hive_type(f.field_type)}' for f in iceberg.fields)}>"
        case _:
            return _TO_HIVE.get(type(iceberg)) or _of_opaque(iceberg)[1]


def iceberg_type(presto: str | Type, next_id: Callable[[], int]) -> IcebergType:
    """The Iceberg type of a new column; ``next_id`` numbers nested fields. Raises ProcessionError NOT_SUPPORTED."""
    parsed = parse_type(presto) if isinstance(presto, str) else presto
    match parsed.base:
        case "decimal":
            precision, scale = (*parsed.numbers, 0)[:2] if parsed.numbers else (38, 0)
            return DecimalType(precision, scale)
        case "array":
            element_id = next_id()
            return ListType(element_id, iceberg_type(parsed.arguments[0], next_id), element_required=False)
        case "map":
            key_id, value_id = next_id(), next_id()
            key, value = (iceberg_type(argument, next_id) for argument in parsed.arguments)
            return MapType(key_id, key, value_id, value, value_required=False)
        case "row":
            _refuse_twice(parsed)
            return StructType(*(_struct_field(i, f, next_id) for i, f in enumerate(parsed.fields)))
        case base if base in _FROM_PRESTO:
            return _FROM_PRESTO[base]()
        case _:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Type not supported for Iceberg: {parsed}")


def _refuse_twice(row: Type) -> None:
    """Presto tells fields apart by their capitals; Spark's Iceberg cannot even open such a table."""
    names = [(field.name or "").lower() for field in row.fields]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        message = f"Type not supported for Iceberg: {row} (it has more than one field of the name '{twice}')"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)


def _struct_field(position: int, field: Field, next_id: Callable[[], int]) -> NestedField:
    name = field.name or f"field{position}"
    return NestedField(next_id(), name, iceberg_type(field.type, next_id), required=False)

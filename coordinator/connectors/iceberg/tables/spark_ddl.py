"""ALTER TABLE in Spark's words, for tables whose metadata PyIceberg cannot write (format version 3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from pyiceberg.types import (
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path, quoted_string
from coordinator.connectors.iceberg.types import iceberg_type
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import (
    ColumnAddition,
    ColumnChange,
    ColumnRemoval,
    ColumnRename,
    CommentChange,
    NewColumn,
)

ColumnStep = ColumnAddition | ColumnRemoval | ColumnRename | ColumnChange | CommentChange


def column_step(catalog: str, change: ColumnStep) -> str:
    """The statement of one change of columns or comments."""
    table = f"ALTER TABLE {quoted_path((catalog, *change.schema.split('.'), change.table))}"
    match change:
        case ColumnAddition(column=column):
            return f"{table} ADD COLUMN {definition(column)}"
        case ColumnRemoval(column=name):
            return f"{table} DROP COLUMN {quoted_name(name)}"
        case ColumnRename(column=name, new_name=new):
            return f"{table} RENAME COLUMN {quoted_name(name)} TO {quoted_name(new)}"
        case ColumnChange(column=name, type=None, nullable=nullable):
            return f"{table} ALTER COLUMN {quoted_name(name)} {'DROP' if nullable else 'SET'} NOT NULL"
        case ColumnChange(column=name, type=kind):
            assert kind is not None
            return f"{table} ALTER COLUMN {quoted_name(name)} TYPE {_type_of(kind)}"
        case CommentChange(column=None, comment=comment):
            return property_step(catalog, change.schema, change.table, {"comment": comment})
        case CommentChange(column=name, comment=comment):
            assert name is not None
            return f"{table} ALTER COLUMN {quoted_name(name)} COMMENT {quoted_string(comment or '')}"


def property_step(catalog: str, schema: str, table: str, properties: Mapping[str, str | None]) -> str:
    """SET TBLPROPERTIES, or UNSET where every value is None."""
    path = f"ALTER TABLE {quoted_path((catalog, *schema.split('.'), table))}"
    if all(value is None for value in properties.values()):
        return f"{path} UNSET TBLPROPERTIES IF EXISTS ({', '.join(quoted_string(name) for name in properties)})"
    given = ", ".join(f"{quoted_string(k)} = {quoted_string(v)}" for k, v in properties.items() if v is not None)
    return f"{path} SET TBLPROPERTIES ({given})"


def definition(column: NewColumn) -> str:
    """A new column with its type and comment."""
    comment = "" if column.comment is None else f" COMMENT {quoted_string(column.comment)}"
    return f"{quoted_name(column.name)} {_type_of(column.type)}{comment}"


def _type_of(presto: str) -> str:
    numbers = count(1)
    return spark_type(iceberg_type(presto, lambda: next(numbers)))


def spark_type(iceberg: IcebergType) -> str:
    """Spark's DDL text of a type; raises NOT_SUPPORTED for TIME, which Spark's Iceberg has not."""
    match iceberg:
        case ListType():
            return f"array<{spark_type(iceberg.element_type)}>"
        case MapType():
            return f"map<{spark_type(iceberg.key_type)}, {spark_type(iceberg.value_type)}>"
        case StructType():
            fields = ", ".join(f"{quoted_name(f.name)}: {spark_type(f.field_type)}" for f in iceberg.fields)
            return f"struct<{fields}>"
        case DecimalType():
            return f"decimal({iceberg.precision},{iceberg.scale})"
        case TimestampType():
            return "timestamp_ntz"
        case TimestamptzType():
            return "timestamp"
        case StringType():
            return "string"
        case FixedType():
            return "binary"
        case TimeType():
            raise ProcessionError(
                ErrorCode.NOT_SUPPORTED, "Tables with columns of type time are not supported by Spark"
            )
        case _:
            return {"long": "bigint", "uuid": "string"}.get(str(iceberg), str(iceberg))

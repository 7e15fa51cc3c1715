"""Types of columns that DuckDB reads from files as the table means them.

Nested columns are read where a file has the very parts that the table has, by field id and by name: DuckDB then reads
the parts that a query uses alone, and leaves row groups out by their statistics. Not those with floating point inside,
since statistics that leave NaN out cannot be told apart from others, and DuckDB would believe them at any depth, as it
would Bloom filters, in which -0.0 is not 0.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from coordinator.engine.embedded.sql_text import identifier
from coordinator.kernels.schema import FieldJson, arrow_field, arrow_type, field_id, leaves, parts

_TYPES = {
    "boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE",
    "time": "TIME", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "string": "VARCHAR", "binary": "BLOB",
}  # fmt: skip
FLOATING = ("float", "double")

_Form = str | tuple[object, ...]
"""A type without what writers only note about their own memory."""


def duckdb_type(iceberg: object) -> str | None:
    """None for what the kernels read: UUIDs (text to Presto), fixed bytes, nested types that hold such a one."""
    if not isinstance(iceberg, Mapping):
        plain = str(iceberg)
        return plain.upper() if plain.startswith("decimal(") else _TYPES.get(plain)
    inner = parts(iceberg)
    types = [None if part["type"] in FLOATING else duckdb_type(part["type"]) for part in inner]
    names = {str(part["name"]).lower() for part in inner}
    if None in types or len(names) < len(inner) or not inner:
        return None
    match iceberg["type"]:
        case "struct":
            named = [f"{identifier(part['name'])} {type_}" for part, type_ in zip(inner, types, strict=True)]
            return f"STRUCT({', '.join(named)})"
        case "list":
            return f"{types[0]}[]"
        case _:
            return f"MAP({types[0]}, {types[1]})"


def is_shown_as_stored(iceberg: object, shown: pa.DataType) -> bool:
    """Whether a query wants a column of Iceberg's type as files hold it: UUIDs and shapes are shown as text."""
    if isinstance(iceberg, Mapping):
        return _form(arrow_type(iceberg)) == _form(shown)
    return iceberg != "binary" or shown != pa.string()


def is_stored_as(stored: pa.Field, paths: Sequence[str], field: FieldJson) -> bool:
    """Whether a file's column, with the Parquet paths of its leaves, holds values of the table's column alone."""
    if not isinstance(field["type"], Mapping):
        return _widens(_plain_type(stored.type), arrow_type(field["type"]))
    if _form(stored.type) != _form(arrow_type(field["type"])) or _ids(stored) != _ids(arrow_field(field)):
        return False
    # Lists and maps of other shapes than the three levels of the specification are the kernels'.
    standard = [leaf.path.count(".") for leaf in leaves([{**field, "name": stored.name}])]
    return [path.count(".") for path in paths] == standard


def _widens(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether every value of a file's type is one of the table's, as Iceberg lets columns grow."""
    if pa.types.is_decimal(stored) and pa.types.is_decimal(wanted):
        return bool(stored.scale == wanted.scale and stored.precision <= wanted.precision)
    return stored == wanted or (stored, wanted) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))


def _plain_type(stored: pa.DataType) -> pa.DataType:
    """The type without what writers only note about their own memory (PyIceberg: large texts) beside the same bytes."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(stored) or pa.types.is_binary_view(stored) else stored


def _form(type_: pa.DataType) -> _Form:
    """The same of a type at any depth; parts by name."""
    types = pa.types
    if types.is_struct(type_):
        return ("struct", *((type_.field(i).name, _form(type_.field(i).type)) for i in range(type_.num_fields)))
    if types.is_map(type_):
        return ("map", _form(type_.key_type), _form(type_.item_type))
    if types.is_list(type_) or types.is_large_list(type_):
        return ("list", _form(type_.value_type))
    return str(_plain_type(type_))


def _ids(field: pa.Field) -> tuple[object, ...]:
    """The field ids of a column and its parts."""
    type_ = field.type
    inner = (
        [type_.key_field, type_.item_field]
        if pa.types.is_map(type_)
        else [type_.field(i) for i in range(type_.num_fields)]
    )
    return (field_id(field), *map(_ids, inner))

"""Metadata with types that PyIceberg does not know: they are kept as the texts that they are, and read around.

PyIceberg refuses a whole table for one column of type variant, for a geometry as Iceberg Java writes it, for the
default ``{}`` of a struct, for a transform of several columns and for types of later versions. Here such a type becomes
an ``OpaqueType``, which serializes to its own text. What is left out of the model stays in the file: commits write the
new metadata as the old one with what changed (``manifests/metadata_files.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

from pydantic import ValidationError as PydanticError
from pyiceberg.exceptions import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, TableMetadataWrapper
from pyiceberg.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    UnknownType,
)

from coordinator.connectors.iceberg.per_schema import per_schema

_PARSED = frozenset(
    {
        *("boolean", "string", "int", "long", "float", "double", "timestamp", "timestamptz", "timestamp_ns"),
        *("timestamptz_ns", "date", "time", "uuid", "binary", "unknown"),
    }
)
_PARSED_BEGINNINGS = ("fixed[", "decimal(")
UNKNOWN_TRANSFORM = "unknown"
_FAILURES = (ValueError, TypeError, AttributeError, ValidationError)
T = TypeVar("T")


class OpaqueType(UnknownType):
    """A type of which only the text is known: its values are not read, and PyIceberg takes it for ``unknown``."""

    root: str  # type: ignore[assignment]

    def __new__(cls, *_arguments: object, **_named: object) -> Self:
        """Not the one object a class that PyIceberg's other types are."""
        return object.__new__(cls)

    @classmethod
    def of(cls, text: str) -> OpaqueType:
        """Without validation, which would look for the text among PyIceberg's types."""
        return cls.model_construct(root=text)

    def __reduce__(self) -> tuple[Callable[[str], OpaqueType], tuple[str]]:
        return OpaqueType.of, (self.root,)

    def __str__(self) -> str:
        return self.root

    def __repr__(self) -> str:
        return f"OpaqueType({self.root!r})"


def parse_metadata(text: str) -> TableMetadata:
    """A metadata file; raises what PyIceberg raises for one that is none."""
    return parse(text, lambda raw: TableMetadataWrapper.model_validate(raw).root, _as_it_is)


def _as_it_is(text: str) -> TableMetadata:
    try:
        return TableMetadataWrapper.model_validate_json(text).root
    except PydanticError as error:
        raise ValidationError(error) from error


def parse(text: str, around: Callable[[object], T], usual: Callable[[str], T]) -> T:
    """What ``usual`` makes of the text; where it fails, what ``around`` makes of it with opaque types in place."""
    try:
        return usual(text)
    except _FAILURES:
        with suppress(*_FAILURES, KeyError):
            return around(_around(json.loads(text)))
        raise


def parse_raw(raw: object, model: Callable[[object], T]) -> T:
    """The same of JSON that is read already."""
    try:
        return model(raw)
    except _FAILURES:
        with suppress(*_FAILURES, KeyError):
            return model(_around(raw))
        raise


def _around(raw: Any) -> object:
    """A metadata file, a REST server's answer that holds one, or a schema."""
    if raw.get("type") == "struct":
        return _schema(raw)
    if isinstance(raw.get("metadata"), dict):
        return {**raw, "metadata": with_opaque_types(raw["metadata"])}
    return with_opaque_types(raw)


def parse_schema(text: str) -> Schema:
    """The JSON of one schema."""
    return parse(text, Schema.model_validate, Schema.model_validate_json)


def with_opaque_types(metadata: Any) -> object:
    """The JSON of a table's metadata with objects in place of the types that PyIceberg does not know."""
    result = dict(metadata)
    if "schemas" in result:
        result["schemas"] = [_schema(each) for each in result["schemas"]]
    if "schema" in result:
        result["schema"] = _schema(result["schema"])
    for name in ("partition-specs", "sort-orders"):
        if name in result:
            result[name] = [{**each, "fields": [_field(f) for f in each.get("fields", ())]} for each in result[name]]
    return result


def _schema(schema: dict[str, Any]) -> dict[str, object]:
    return {**schema, "fields": [_column(field) for field in schema.get("fields", ())]}


def _column(field: dict[str, object]) -> dict[str, object]:
    kind = _type(field["type"])
    nested = isinstance(field["type"], dict)
    # Defaults of structs are in their fields; those of opaque types are NULL.
    dropped = ("initial-default", "write-default") if nested or isinstance(kind, OpaqueType) else ()
    return {**{name: value for name, value in field.items() if name not in dropped}, "type": kind}


def _type(kind: Any) -> object:
    if isinstance(kind, str):
        return kind if kind in _PARSED or kind.startswith(_PARSED_BEGINNINGS) else OpaqueType.of(kind)
    match kind.get("type"):
        case "struct":
            return _schema(kind)
        case "list":
            return {**kind, "element": _type(kind["element"])}
        case "map":
            return {**kind, "key": _type(kind["key"]), "value": _type(kind["value"])}
        case _:
            return kind


def _field(field: dict[str, Any]) -> dict[str, object]:
    """Of a partition spec or sort order: a transform of several columns is one of unknown meaning, of the first."""
    sources: list[int] = field.get("source-ids") or []
    if len(sources) < 2:
        return field
    rest = {name: value for name, value in field.items() if name != "source-ids"}
    return {**rest, "source-id": sources[0], "transform": UNKNOWN_TRANSFORM}


def teach_opaque_types() -> None:
    """Let PyIceberg read metadata files by ``parse_metadata``, wherever it loads one."""
    taught: Any = TableMetadataUtil
    taught.parse_raw = staticmethod(parse_metadata)


def is_opaque(type_: IcebergType) -> bool:
    """Whether nothing here knows the values of a type, or their bounds."""
    return isinstance(type_, OpaqueType | GeometryType | GeographyType)


def is_spatial(type_: IcebergType) -> bool:
    """Whether values are well-known binary."""
    opaque = isinstance(type_, OpaqueType) and type_.root.startswith(("geometry", "geography"))
    return opaque or isinstance(type_, GeometryType | GeographyType)


def is_planar(type_: IcebergType) -> bool:
    """Whether values are geometries of a plane, which is how functions compute; those of geography are of a sphere."""
    return is_spatial(type_) and str(type_).startswith("geometry")


def is_variant(type_: IcebergType) -> bool:
    """Whether values are of any kind, as JSON's are, which is what SQL has of them."""
    return isinstance(type_, OpaqueType) and type_.root == "variant"


def within(type_: IcebergType) -> Iterator[IcebergType]:
    """The types without parts that a type is made of; one without parts is made of itself."""
    match type_:
        case StructType():
            for field in type_.fields:
                yield from within(field.field_type)
        case ListType():
            yield from within(type_.element_type)
        case MapType():
            yield from within(type_.key_type)
            yield from within(type_.value_type)
        case _:
            yield type_


@per_schema
def unread_columns(schema: Schema) -> Mapping[str, IcebergType]:
    """Columns whose values nothing here can give, with the type that is in the way."""
    found = {}
    for column in schema.fields:
        parts = within(column.field_type)
        kinds = [k for k in parts if is_opaque(k) and not is_spatial(k) and not is_variant(k)]
        if kinds:
            found[column.name] = kinds[0]
    return found

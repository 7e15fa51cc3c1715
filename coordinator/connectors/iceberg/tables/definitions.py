"""What CREATE SCHEMA and CREATE TABLE would say to make what is there."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.exceptions import NoSuchNamespaceError

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.tables.layout import partitioning_of, sorted_by_of
from coordinator.connectors.iceberg.tables.table_properties import DECLARED
from coordinator.connectors.iceberg.types import presto_type
from shared.spi.catalog_changes import NewColumn, TableDefinition

_TYPES = {p.name: p.type for p in DECLARED}


def table_definition(catalog: TableCatalog, schema: str, name: str) -> TableDefinition | None:
    """None when there is no such table."""
    table = catalog.load(schema, name)
    if table is None:
        return None
    with mapped(f"{schema}.{name}"):
        iceberg = table.schema()
        columns = tuple(
            NewColumn(f.name.lower(), str(presto_type(f.field_type)), f.optional, f.doc) for f in iceberg.fields
        )
        properties: dict[str, object] = {
            "write.format.default": table.properties.get("write.format.default", "parquet").upper(),
            "format-version": str(table.format_version),
            "location": table.location(),
        }
        for key, text in sorted(table.properties.items()):
            if key in _TYPES and key not in properties:
                properties[key] = _value(text, _TYPES[key])
        partitioning = partitioning_of(iceberg, table.spec())
        if partitioning:
            properties["partitioning"] = partitioning
        sorted_by = sorted_by_of(iceberg, table.sort_order())
        if sorted_by:
            properties["sorted_by"] = sorted_by
        return TableDefinition(columns, properties, table.properties.get("comment"))


def _value(text: str, kind: str) -> object:
    if kind in ("integer", "bigint"):
        return int(text) if text.lstrip("-").isdecimal() else text
    return text.lower() == "true" if kind == "boolean" else text


def schema_definition(catalog: TableCatalog, schema: str) -> Mapping[str, object] | None:
    """The location of a schema, where it has one of its own; None when there is no such schema."""
    with mapped(f"{catalog.settings.catalog}.{schema}"):
        try:
            found = catalog.client().load_namespace_properties(tuple(schema.split(".")))
        except NoSuchNamespaceError:
            return None
        return {"location": found["location"]} if "location" in found else {}

"""``system.metadata``: catalogs, the properties that can be set in them, and comments of tables.

Source: Presto 0.296 (``connector.system``); ``table_comments`` and ``materialized_views`` are Trino's, which its
SQLAlchemy dialect and dbt ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from coordinator.connectors.system.listing import ListedCatalogs, Listing, Names
from coordinator.connectors.system.virtual_table import Described, VirtualTable, typed, varchars
from coordinator.connectors.system.wanted import Wanted

SCHEMA = "metadata"
_NAMES = Names("catalog_name", "schema_name", "table_name")
_PROPERTIES = varchars("catalog_name property_name default_value type description")
_OF_CONNECTOR = ("schema_properties", "table_properties", "column_properties", "analyze_properties")
_MATERIALIZED_VIEWS = typed(
    "catalog_name, schema_name, name, storage_catalog, storage_schema, storage_table, freshness, "
    "last_fresh_time timestamp with time zone, comment, definition"
)


def metadata_tables(catalogs: ListedCatalogs) -> tuple[VirtualTable, ...]:
    """The tables of ``system.metadata``."""
    listing = Listing(catalogs)
    made: tuple[Described, ...] = (
        ("catalogs", varchars("catalog_name connector_id connector_name"), partial(_catalogs, listing)),
        *((name, _PROPERTIES, partial(_properties, listing, name)) for name in _OF_CONNECTOR),
        ("table_comments", varchars("catalog_name schema_name table_name comment"), partial(_comments, listing)),
        ("materialized_views", _MATERIALIZED_VIEWS, _nothing),
    )
    return tuple(VirtualTable(SCHEMA, name, columns, rows) for name, columns, rows in made)


def _nothing(_wanted: Wanted) -> Iterable[Sequence[object]]:
    return ()


def _catalogs(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    for name in listing.catalog_names(wanted, "catalog_name"):
        yield name, name, listing.catalogs.connector_name(name)


def _properties(listing: Listing, kind: str, wanted: Wanted) -> Iterator[Sequence[object]]:
    """What a connector declares by a method of the table's name; connectors that take no properties have none."""
    for name in listing.catalog_names(wanted, "catalog_name"):
        declared: Iterable[Any] = getattr(listing.catalogs.connector(name), kind, tuple)()
        for each in sorted(declared, key=lambda p: str(p.name)):
            yield name, each.name, each.default or "", each.type, each.doc


def _comments(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    for table in listing.described(wanted, _NAMES):
        yield table.catalog, table.schema, table.name, table.comment

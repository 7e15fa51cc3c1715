"""``system.metadata``: catalogs, the properties that can be set in them, and comments of tables.

Source: Presto 0.296 (``connector.system``); ``table_comments`` and ``materialized_views`` are Trino's, which its
SQLAlchemy dialect and dbt ask for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from coordinator.connectors.system.listing import ListedCatalogs, Listing, Names
from coordinator.connectors.system.virtual_table import Described, VirtualTable, typed, varchars
from coordinator.connectors.system.wanted import Wanted
from shared.errors import ProcessionError
from shared.spi.connector import ViewMetadata
from shared.spi.materialized_views import Materialization

SCHEMA = "metadata"
_LOG = logging.getLogger(__name__)
_OF_VIEWS = Names("catalog_name", "schema_name", "name")
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
        ("materialized_views", _MATERIALIZED_VIEWS, partial(_materialized_views, listing)),
    )
    return tuple(VirtualTable(SCHEMA, name, columns, rows) for name, columns, rows in made)


def _materialized_views(listing: Listing, wanted: Wanted) -> Iterator[Sequence[object]]:
    """``freshness`` tells of the tables alone: whether their rows are those of the last refresh."""
    for view in listing.views(wanted, _OF_VIEWS):
        kept = view.materialized
        if kept is None:
            continue
        freshness, fresh_time = _freshness(listing, view, kept)
        if wanted.accepts("freshness", freshness):
            # The text is for those who see the columns.
            seen = not view.columns or listing.catalogs.shown_columns(view)
            yield (
                *(view.catalog, view.schema, view.name),
                *(view.catalog, kept.storage_schema, kept.storage_table),
                *(freshness, fresh_time, view.comment, view.definition if seen else None),
            )


def _freshness(listing: Listing, view: ViewMetadata, kept: Materialization) -> tuple[str, datetime | None]:
    """As Trino has it: FRESH, STALE or UNKNOWN, and when the rows were last up to date where they are not now."""
    source = listing.catalogs.capabilities(view.catalog).materialized_views
    if kept.refreshed is None or source is None:
        return "STALE", None
    try:
        changes = [change for base in kept.base_tables if (change := source.base_changes(base)).changed]
    except ProcessionError as error:
        _LOG.warning("freshness of %s.%s.%s: %s", view.catalog, view.schema, view.name, error.message)
        return "UNKNOWN", None
    if not changes:
        return "FRESH", None
    known = [change.first_ms for change in changes if change.first_ms is not None]
    first = min(known) if len(known) == len(changes) else kept.read_ms
    return "STALE", None if first is None else datetime.fromtimestamp(first / 1000, UTC)


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

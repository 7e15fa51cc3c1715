"""Dropping a table with its files: first the catalog forgets it, then what its metadata names is deleted.

What is cut off in between is finished in the background, by the next start if need be.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from functools import partial

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.locations import within
from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.maintenance.shared_folders import homes_around, tables_near
from coordinator.connectors.iceberg.manifests.table_files import referenced_files
from coordinator.connectors.iceberg.tables.open_drops import OpenDrop

logger = logging.getLogger(__name__)
_AT_ONCE = 8
_ORDER = ("data", "deletes", "statistics", "manifest", "manifest_list", "metadata")
_SOON_SECONDS, _PAUSE_SECONDS, _TRIES = 1.0, 60.0, 60


def purge(catalog: TableCatalog, schema: str, table: Table) -> None:
    """Drop it. Files elsewhere, which are none of the table's, stay; so do those of manifests that cannot be read."""
    client = catalog.client()
    if not isinstance(client, MetastoreCatalog):  # a REST server deletes by itself
        client.purge_table(table.name())
        return
    files = _deletable_files(catalog, schema, table)
    identity, name = str(table.metadata.table_uuid), table.name()[-1]
    drop = OpenDrop(uuid.uuid4().hex, schema, name, identity, table.metadata_location)
    catalog.open_drops.begin(drop)
    try:
        client.drop_table(table.name())
        left = _delete(table, files)
    except NoSuchTableError:
        catalog.open_drops.close(drop.id)  # who dropped it deletes
        raise
    except BaseException:
        _again(catalog, drop, _SOON_SECONDS, _TRIES)
        raise
    if left:
        _again(catalog, drop, _PAUSE_SECONDS, _TRIES)
    else:
        catalog.open_drops.close(drop.id)


def finish_drop_later(catalog: TableCatalog, drop: OpenDrop) -> None:
    """One that an earlier process or another coordinator left; returns at once."""
    if catalog.open_drops.at_work.claim(drop.id):
        _again(catalog, drop, 0.0, _TRIES)


def _again(catalog: TableCatalog, drop: OpenDrop, seconds: float, tries: int) -> None:
    catalog.background.later(seconds, "unfinished-drop", partial(_finish, catalog, drop, tries))


def _finish(catalog: TableCatalog, drop: OpenDrop, tries: int) -> None:
    name = f"{drop.schema}.{drop.table}"
    try:
        with mapped(name):
            left = 0 if _is_there(catalog, drop) else _remove_rest(catalog, drop)
        if not left:
            catalog.open_drops.close(drop.id)
            return
        logger.warning("%d files of dropped table %s cannot be deleted yet", left, name)
    except Exception as error:
        logger.warning("files of dropped table %s cannot be deleted yet: %s", name, error)
    if tries:
        _again(catalog, drop, _PAUSE_SECONDS, tries - 1)
    else:
        catalog.open_drops.at_work.release(drop.id)  # the next start looks again


def _is_there(catalog: TableCatalog, drop: OpenDrop) -> bool:
    """Whether the catalog has the table still, or again: under any name, as its identity and its files are the same."""
    for schema, name in ((drop.schema, drop.table), *tables_near(catalog, [drop.metadata_location])):
        table = catalog.load(schema, name)
        if table is not None and str(table.metadata.table_uuid) == drop.table_uuid:
            return True
    return False


def _remove_rest(catalog: TableCatalog, drop: OpenDrop) -> int:
    """How many files are left."""
    io = catalog.file_io(drop.metadata_location)
    try:
        metadata = FromInputFile.table_metadata(io.new_input(drop.metadata_location))
    except FileNotFoundError:
        return 0  # it was the last
    name = (*drop.schema.split("."), drop.table)
    table = Table(name, metadata, drop.metadata_location, io, catalog.client())
    left = _delete(table, _deletable_files(catalog, drop.schema, table))
    if not left:
        logger.warning("Table %s.%s was dropped before; its last files are deleted", drop.schema, drop.table)
    return left


def _deletable_files(catalog: TableCatalog, schema: str, table: Table) -> Sequence[str]:
    """In the order in which they may go: what tells of others last."""
    may_delete = catalog.deletable(schema, table)
    found = list(referenced_files(table, broken=True))
    # Tables may share files: one that was registered twice, or took in what lies in another's folder.
    of_others = within(homes_around(catalog, ".".join(table.name()), [file.location for file in found]))
    for file in found:
        if file.broken is not None:
            logger.warning("files of dropped table %s stay: %s", table.name(), file.broken)
    named = {file.location: file.role for file in found}
    elsewhere = [location for location in named if not may_delete(location) or of_others(location)]
    if elsewhere:
        logger.warning("%d files outside of dropped table %s stay: %s", len(elsewhere), table.name(), elsewhere[:3])
    return sorted(named.keys() - elsewhere, key=lambda location: _ORDER.index(named[location]))


def _delete(table: Table, files: Sequence[str]) -> int:
    """How many are left. The metadata file that names all goes when the others have gone."""
    last = table.metadata_location
    left = sum(batch.count(False) for batch in delete_all(table.io, (f for f in files if f != last), _AT_ONCE))
    if left == 0 and last in files:
        left = sum(batch.count(False) for batch in delete_all(table.io, [last], 1))
    return left

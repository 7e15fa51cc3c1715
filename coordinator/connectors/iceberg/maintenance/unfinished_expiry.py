"""The end of an expiry that was cut off: the table has forgotten snapshots, and files that only they need are left.

Nobody waits for it. What is still needed is told by the table as it is now, whoever has changed it meanwhile.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError, mapped
from coordinator.connectors.iceberg.maintenance.expiry import Expired
from coordinator.connectors.iceberg.maintenance.file_deletion import delete_all
from coordinator.connectors.iceberg.maintenance.shared_folders import tables_near
from coordinator.connectors.iceberg.maintenance.unreachable import Reachability, Unneeded
from coordinator.connectors.iceberg.tables.open_expiries import OpenExpiry

_LOG = logging.getLogger(__name__)
_SOON_SECONDS, _PAUSE_SECONDS, _TRIES = 1.0, 60.0, 60
_DELETES_AT_ONCE = 8


class RecordedExpiry:
    """One call's record: of the attempt to commit that is under way."""

    def __init__(self, catalog: TableCatalog, schema: str, name: str) -> None:
        self._catalog, self._schema, self._name = catalog, schema, name
        self._open: OpenExpiry | None = None

    def begin(self, table: Table, expired: Expired) -> None:
        """In the place of what an attempt before has recorded, which was refused."""
        self.close()
        gone, metadata = set(expired.snapshots), table.metadata
        going = ((s.snapshot_id, s.manifest_list) for s in metadata.snapshots if s.snapshot_id in gone)
        files = (*metadata.statistics, *metadata.partition_statistics)
        statistics = tuple(file.statistics_path for file in files if file.snapshot_id in gone)
        number, uuid_of_table = uuid.uuid4().hex, str(metadata.table_uuid)
        self._open = OpenExpiry(number, self._schema, self._name, uuid_of_table, tuple(going), statistics)
        self._catalog.open_expiries.begin(self._open)

    def close(self) -> None:
        """Nothing of it is left to do."""
        if self._open is not None:
            self._catalog.open_expiries.close(self._open.id)
            self._open = None

    @contextmanager
    def finished_later(self) -> Iterator[None]:
        """Around the commit and the deletions: when they are cut off, what is left is done in the background."""
        try:
            yield
        except BaseException as error:
            if self._open is not None:
                quiet = self._catalog.settings.unfinished_quiet_time
                waits = isinstance(error, CommitOutcomeUnknownError)
                finish_later(self._catalog, self._open, quiet if waits else _SOON_SECONDS)
            raise
        self.close()


def finish_later(catalog: TableCatalog, expiry: OpenExpiry, seconds: float = 0.0, tries: int = _TRIES) -> None:
    """Returns at once; looks after so many seconds, and again while catalog or storage do not answer."""
    if catalog.open_expiries.at_work.claim(expiry.id):
        catalog.background.later(seconds, "unfinished-expiry", partial(_finish, catalog, expiry, tries))


def _finish(catalog: TableCatalog, expiry: OpenExpiry, tries: int) -> None:
    name, done = f"{expiry.schema}.{expiry.table}", False
    try:
        with mapped(name):
            removed = _remove(catalog, expiry)
        catalog.open_expiries.close(expiry.id)
        done = True
        if removed:
            _LOG.warning("%s: removed %d files of snapshots that had expired", name, removed)
    except Exception as error:
        _LOG.warning("%s: files of expired snapshots cannot be removed yet: %s", name, error)
    catalog.open_expiries.at_work.release(expiry.id)
    if not done and tries:
        finish_later(catalog, expiry, _PAUSE_SECONDS, tries - 1)


def _remove(catalog: TableCatalog, expiry: OpenExpiry) -> int:
    """Files that went; none where the table did not forget the snapshots, or is gone. OSError where some stay."""
    table = _table_of(catalog, expiry)
    if table is None:
        return 0
    known = {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    if any(number in known for number, _ in expiry.snapshots):
        return 0
    unneeded = _unneeded(catalog, table, expiry)
    *schema, _ = table.name()
    may_delete = catalog.deletable(".".join(schema), table)
    files = [file.location for file in unneeded if may_delete(file.location)]
    left = sum(batch.count(False) for batch in delete_all(table.io, files, _DELETES_AT_ONCE))
    if left:
        raise OSError(f"{left} of {len(files)} files cannot be deleted")
    return len(files)


def _unneeded(catalog: TableCatalog, table: Table, expiry: OpenExpiry) -> list[Unneeded]:
    """What only the forgotten snapshots name, as far as it can be read still: the rest of it is gone."""
    gone = [Snapshot(snapshot_id=number, manifest_list=location) for number, location in expiry.snapshots]
    together = table.metadata.model_copy(update={"snapshots": [*table.metadata.snapshots, *gone]})
    found = Reachability(table.io)
    found.list_manifests(together, Expired(tuple(number for number, _ in expiry.snapshots)))
    found.statistics = [Unneeded(location, "statistics", None) for location in expiry.statistics]
    found.read_manifests(lambda _done, _total: None)
    *schema, name = table.name()
    found.keep_more(catalog.open(".".join(schema), name).metadata)
    return found.unneeded()


def _table_of(catalog: TableCatalog, expiry: OpenExpiry) -> Table | None:
    """Under the name that it has by now. Of a dropped one nobody knows what is needed."""
    folders = [location.rpartition("/")[0] for _, location in expiry.snapshots[:1]]
    for schema, name in ((expiry.schema, expiry.table), *tables_near(catalog, folders)):
        table = catalog.load(schema, name)
        if table is not None and str(table.metadata.table_uuid) == expiry.table_uuid:
            return table
    return None

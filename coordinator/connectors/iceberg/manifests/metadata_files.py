"""Metadata files of format version 3, which PyIceberg reads but refuses to write.

The new file is the one it replaces with the changed parts put in: what PyIceberg's model does not know (encryption
keys, types of later versions) stays as Iceberg Java wrote it. For changes of references, properties, statistics and
snapshots; schemas, specs and orders are taken over by their ids.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, TableAlreadyExistsError
from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor, ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.typedef import IcebergBaseModel, Identifier

from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.connectors.iceberg.traced_services import store_call

T = TypeVar("T")
CALL_ID = "procession.call-id"
"""Snapshot property that names the call: how a restart finds out that a commit landed."""
NOT_LANDED = (CommitFailedException, NotCommittedError, TableAlreadyExistsError, NoSuchNamespaceError)
"""What a catalog raises when it certainly did not take a commit."""
_BY_ID = {
    "snapshots": "snapshot-id",
    "schemas": "schema-id",
    "partition-specs": "spec-id",
    "sort-orders": "order-id",
}


class CommitRecord(Protocol):
    """Where commits that are under way are recorded."""

    def begun(self, table: Identifier, location: str, base: str) -> bool:
        """Before the metadata file at ``location`` exists, which replaces ``base``, or is a table's first one ("").

        Whether it is recorded: of some first ones the folder is.
        """

    def check(self, location: str | None, calls: Collection[str]) -> None:
        """Right before the catalog is asked for a commit, of ``calls`` if those are said: raises when it must not."""

    def unknown(self, location: str) -> None:
        """Nobody can say whether the catalog names the file, of a commit that no call settles."""

    def over(self, location: str) -> None:
        """The catalog names the file, or it is gone."""


def write_all_versions(catalog: Catalog, record: CommitRecord) -> Catalog:
    """Let a catalog that writes metadata files itself write those of format version 3 too; REST servers do anyway.

    A commit that certainly did not land takes its metadata file along, which PyIceberg leaves behind. One that is
    killed in between, or whose outcome is unknown, stays in ``record``.
    """
    if not isinstance(catalog, MetastoreCatalog):
        catalog.commit_table = _checked(catalog.commit_table, record)  # type: ignore[method-assign]
    if isinstance(catalog, MetastoreCatalog):
        under_way = threading.local()

        def write(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
            table: Identifier | None = getattr(under_way, "table", None)
            base = metadata.metadata_log[-1].metadata_file if metadata.metadata_log else ""
            under_way.recorded = table is not None and record.begun(table, metadata_path, base)
            under_way.file = io, metadata_path
            with store_call("write", metadata_path):
                write_metadata(metadata, io, metadata_path)
            if under_way.recorded:
                record.check(metadata_path, under_way.calls)
            under_way.is_asked = True

        catalog._write_metadata = write  # type: ignore[method-assign]
        catalog.commit_table = _tidy(catalog.commit_table, under_way, record)  # type: ignore[method-assign]
        catalog.create_table = _tidy(catalog.create_table, under_way, record)  # type: ignore[method-assign]
    return catalog


def _tidy(commit: Callable[..., T], under_way: threading.local, record: CommitRecord) -> Callable[..., T]:
    def tidy_commit(*arguments: object, **named: object) -> T:
        under_way.file, under_way.recorded, under_way.is_asked = None, False, False
        under_way.table = _name_of(arguments)
        under_way.calls = _calls_of(arguments)
        try:
            answer = commit(*arguments, **named)
        except Exception as error:
            # What fails before the catalog is asked, as on a full disk, has certainly not landed either.
            if isinstance(error, NOT_LANDED) or not under_way.is_asked:
                _remove(under_way, record)
            elif under_way.recorded and not under_way.calls:
                record.unknown(under_way.file[1])
            raise
        _over(under_way, record)
        return answer

    return tidy_commit


def _name_of(arguments: Sequence[object]) -> Identifier | None:
    """Of the table that is committed to, or the one that is made."""
    match arguments:
        case (Table() as table, *_):
            return table.name()
        case (tuple() as name, *_):
            return name
        case _:
            return None


def _checked(commit: Callable[..., T], record: CommitRecord) -> Callable[..., T]:
    def checked_commit(*arguments: object, **named: object) -> T:
        record.check(None, _calls_of(arguments))
        return commit(*arguments, **named)

    return checked_commit


def _calls_of(arguments: Sequence[object]) -> list[str]:
    """The procedure calls whose snapshots a commit of a table, its requirements and updates adds."""
    updates = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], tuple) else ()
    added = [update.snapshot.summary for update in updates if isinstance(update, AddSnapshotUpdate)]
    found = (None if summary is None else summary.additional_properties.get(CALL_ID) for summary in added)
    return [call_id for call_id in found if call_id is not None]


def _remove(under_way: threading.local, record: CommitRecord) -> None:
    if under_way.file is not None:
        io, location = under_way.file
        with suppress(OSError):
            with suppress(FileNotFoundError):  # it could not even be begun
                io.delete(location)
            _over(under_way, record)


def _over(under_way: threading.local, record: CommitRecord) -> None:
    if under_way.recorded and under_way.file is not None:
        record.over(under_way.file[1])


def write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
    """Write one metadata file; raises NotImplementedError for a first file of format version 3."""
    if not isinstance(metadata, TableMetadataV3):
        ToOutputFile.table_metadata(metadata, io.new_output(metadata_path))
        return
    if not metadata.metadata_log:
        raise NotImplementedError("new tables of format version 3 are made by Spark")
    base = read_raw(io, metadata.metadata_log[-1].metadata_file)
    text = json.dumps(merged(base, metadata), separators=(",", ":"), ensure_ascii=False)
    with io.new_output(metadata_path).create() as stream:
        stream.write(Compressor.get_compressor(metadata_path).bytes_compressor()(text.encode()))


def read_raw(io: FileIO, location: str) -> dict[str, object]:
    """A metadata file as JSON."""
    with (
        store_call("read", location),
        io.new_input(location).open() as stream,
        Compressor.get_compressor(location).stream_decompressor(stream) as text,
    ):
        found: dict[str, object] = json.loads(text.read())
        return found


def merged(base: Mapping[str, Any], metadata: TableMetadataV3) -> dict[str, object]:
    """``base`` with what ``metadata`` says, items of lists that have ids kept as they are."""
    new: dict[str, Any] = json.loads(IcebergBaseModel.model_dump_json(metadata))
    result = {**base, **new}
    for name, key in _BY_ID.items():
        old = {item.get(key): item for item in base.get(name, ())}
        result[name] = [_kept(old.get(item.get(key)), item) for item in new.get(name, ())]
    if "current-snapshot-id" not in new:
        result.pop("current-snapshot-id", None)
    return result


def _kept(old: dict[str, object] | None, new: dict[str, object]) -> dict[str, object]:
    """The old item; only the parent of a snapshot may change, when that expires."""
    if old is None:
        return new
    if "parent-snapshot-id" in old and "parent-snapshot-id" not in new:
        return {name: value for name, value in old.items() if name != "parent-snapshot-id"}
    return old

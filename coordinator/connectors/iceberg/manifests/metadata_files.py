"""Metadata files of format version 3, which PyIceberg reads but refuses to write.

The new file is the one it replaces with the changed parts put in: what PyIceberg's model does not know (encryption
keys, types of later versions) stays as Iceberg Java wrote it. For changes of references, properties, statistics and
snapshots; schemas, specs and orders are taken over by their ids.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, TableAlreadyExistsError
from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor, ToOutputFile
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.typedef import IcebergBaseModel

from coordinator.connectors.iceberg.failures import NotCommittedError

T = TypeVar("T")
_NOT_LANDED = (CommitFailedException, NotCommittedError, TableAlreadyExistsError, NoSuchNamespaceError)
_BY_ID = {
    "snapshots": "snapshot-id",
    "schemas": "schema-id",
    "partition-specs": "spec-id",
    "sort-orders": "order-id",
}


def write_all_versions(catalog: Catalog) -> Catalog:
    """Let a catalog that writes metadata files itself write those of format version 3 too; REST servers do anyway.

    A commit that certainly did not land takes its metadata file along, which PyIceberg leaves behind.
    """
    if isinstance(catalog, MetastoreCatalog):
        written = threading.local()

        def write(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
            write_metadata(metadata, io, metadata_path)
            written.file = io, metadata_path

        catalog._write_metadata = write  # type: ignore[method-assign]
        catalog.commit_table = _tidy(catalog.commit_table, written)  # type: ignore[method-assign]
        catalog.create_table = _tidy(catalog.create_table, written)  # type: ignore[method-assign]
    return catalog


def _tidy(commit: Callable[..., T], written: threading.local) -> Callable[..., T]:
    def tidy_commit(*arguments: object, **named: object) -> T:
        written.file = None
        try:
            return commit(*arguments, **named)
        except _NOT_LANDED:
            if written.file is not None:
                io, location = written.file
                with suppress(OSError):
                    io.delete(location)
            raise

    return tidy_commit


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

"""PyIceberg reads with readers that were kept what it reads with new ones, and its configuration once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyiceberg.avro.file
import pytest
from pyiceberg.avro import resolver
from pyiceberg.avro.file import AvroFileHeader
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.utils.config import Config
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from coordinator.connectors.iceberg.kept_configuration import keep_configuration
from coordinator.connectors.iceberg.manifests import kept_readers
from coordinator.connectors.iceberg.shared_models import share_models
from tests.iceberg.conftest import Lake
from tests.iceberg.test_manifest_reader import plain, tables

__all__ = ["tables"]


@contextmanager
def pyicebergs_own() -> Iterator[None]:
    """Readers made anew for each file, from its own words."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("resolve_reader", "construct_reader"):
            patch.setattr(pyiceberg.avro.file, name, getattr(resolver, name))
        patch.setattr(
            AvroFileHeader,
            "get_schema",
            lambda file: AvroSchemaConversion().avro_to_iceberg(json.loads(file.meta["avro.schema"])),
        )
        yield


def read(tables: list[Any]) -> list[Any]:
    """Every manifest of every snapshot, and every entry of it, as plain values."""
    found: list[Any] = []
    for table in tables:
        for snapshot in table.snapshots():
            for manifest in snapshot.manifests(table.io):
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
                found.append([plain(value) for value in manifest._data])
                found += [[*e._data[:4], *map(plain, e.data_file._data)] for e in entries]
    return found


def test_kept_readers_read_what_new_ones_read(tables: list[Any]) -> None:
    kept_readers.keep_readers()
    kept_readers._readers.clear()
    first, again = read(tables), read(tables)
    with pyicebergs_own():
        own = read(tables)
    assert repr(first) == repr(again) == repr(own)
    assert len(own) > 100
    assert 3 < len(kept_readers._readers) < len(tables) * 3


def test_few_readers_are_kept(tables: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kept_readers.keep_readers()
    monkeypatch.setattr(kept_readers, "_KEPT", 2)
    kept_readers._readers.clear()
    with pyicebergs_own():
        own = read(tables)
    assert repr(read(tables)) == repr(own)
    assert len(kept_readers._readers) <= 2


def test_a_file_without_a_schema_is_refused() -> None:
    header = AvroFileHeader(b"Obj\x01", {}, b"")
    kept_readers.keep_readers()
    with pytest.raises(ValueError, match="No schema found in Avro file headers"):
        header.get_schema()


def test_the_metadata_of_a_transaction_is_made_once_for_its_updates(lake: Lake) -> None:
    share_models()
    rows = pa.table({"id": [1, 2, 3]})
    table = lake.create("t", [rows])
    with table.transaction() as transaction:
        before: TableMetadata = transaction.table_metadata
        assert transaction.table_metadata is before
        assert before is not table.metadata
        transaction.set_properties({"a": "b"})
        changed = transaction.table_metadata
        assert changed.properties["a"] == "b"
        assert "a" not in before.properties
        transaction.append(rows)
        assert len(transaction.table_metadata.snapshots) == 2
        assert len(changed.snapshots) == 1
    assert len(lake.table("t").metadata.snapshots) == 2
    assert lake.table("t").metadata.properties["a"] == "b"


def test_pyicebergs_configuration_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_configuration()
    before = Config().config
    monkeypatch.setenv("PYICEBERG_MAX_WORKERS", "3")
    assert Config().config is before
    assert Config().get_int("max-workers") == before.get("max-workers")

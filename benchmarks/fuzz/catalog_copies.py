"""Broken tables without the time that PyIceberg takes to make one: copies of a table's bytes under names as long.

The manifests are not compressed, so that a folder's name in them can be written over.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    ManifestEntry,
    ManifestEntryStatus,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform

from benchmarks.fuzz.catalog import ROWS, SCHEMA, SPOILERS, Files, asked, files_of, path_of
from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.statements import Asked
from tests.e2e.service import Service

_CODEC = "null"
_PROPERTIES = {"write.avro.compression-codec": _CODEC}
_STATEMENTS = 2
"""Over each broken table."""


@dataclass(frozen=True)
class Template:
    """A table's files by their names below its folder; ``name`` is a name that stands in them."""

    table: Table
    name: str
    files: Files
    content: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Copy:
    """A table of a template's files."""

    template: Template
    files: Files

    def append(self, file: DataFile) -> None:
        """An entry in a manifest of its own, which the manifest list names beside the others."""
        table, io = self.template.table, PyArrowFileIO()
        snapshot = table.current_snapshot()
        assert snapshot is not None
        path = self.files.manifest_list.with_name("more.avro")
        spec = table.specs()[0]
        with write_manifest(
            2, spec, table.schema(), io.new_output(str(path)), snapshot.snapshot_id, _CODEC
        ) as manifest:
            manifest.add(
                ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=snapshot.snapshot_id, data_file=file
                )
            )
        before = list(read_manifest_list(io.new_input(str(self.files.manifest_list))))
        output = io.new_output(str(self.files.manifest_list))
        with write_manifest_list(2, output, snapshot.snapshot_id, None, snapshot.sequence_number, _CODEC) as listed:
            listed.add_manifests([*before, manifest.to_manifest_file()])


class Copies:
    """Makes, breaks, asks and removes them in one lake."""

    def __init__(self, service: Service, bait: Path) -> None:
        self._bait = bait
        bait.parent.mkdir(parents=True)
        bait.write_text("mine")
        lake = service.lake()
        lake.create_namespace_if_not_exists(SCHEMA)
        self._catalog = service.data_dir / "iceberg" / "catalog.db"
        plain = lake.create_table(f"{SCHEMA}.b9999990", ROWS.schema, properties=_PROPERTIES)
        split = lake.create_table(f"{SCHEMA}.b9999991", ROWS.schema, properties=_PROPERTIES)
        with split.update_spec() as update:
            update.add_field("id", BucketTransform(2), "part")
        self._templates = tuple(map(_template, (plain, split)))

    def case(self, client: Asked, seed: int, number: int, counts: Counter[str]) -> Iterator[dict[str, object]]:
        """What is wrong with the answers over one broken table."""
        choices = Choices(seed * 1_000_003 + number)
        template = choices.pick(self._templates)
        name = f"b{number:07}"
        copy = self._copy(template, name)
        how = choices.pick(SPOILERS)(choices, copy, self._bait)
        counts[f"tables: {how.split(' ', maxsplit=1)[0]}"] += 1
        for _ in range(_STATEMENTS):
            for found in asked(client, choices, name, self._bait, counts):
                yield {"number": number, "how": how, **found}
        self._forget(name)
        shutil.rmtree(path_of(copy.files.location), ignore_errors=True)

    def _copy(self, template: Template, name: str) -> Copy:
        old, new = template.name.encode(), name.encode()
        folder = path_of(template.files.location).with_name(name)
        for part in ("metadata", "data"):
            (folder / part).mkdir(parents=True)
        for path, content in template.content:
            at = folder / path
            at.parent.mkdir(exist_ok=True)
            at.write_bytes(content if path.endswith(".parquet") else content.replace(old, new))
        files = _renamed(template.files, template.name, name)
        with sqlite3.connect(self._catalog, timeout=60) as connection:
            connection.execute(
                "INSERT INTO iceberg_tables"
                " (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)"
                " VALUES ('iceberg', ?, ?, ?, 'TABLE')",
                (SCHEMA, name, f"file://{files.metadata}"),
            )
        connection.close()
        return Copy(template, files)

    def _forget(self, name: str) -> None:
        with sqlite3.connect(self._catalog, timeout=60) as connection:
            connection.execute("DELETE FROM iceberg_tables WHERE table_name = ?", (name,))
        connection.close()


def _template(table: Table) -> Template:
    rows = ROWS if table.spec() == PartitionSpec() else ROWS.slice(0, 2)
    table.append(pa.concat_tables([rows]))
    table.append(ROWS)
    table = table.refresh()
    folder = path_of(table.location())
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    content = tuple((str(path.relative_to(folder)), path.read_bytes()) for path in found)
    return Template(table, folder.name, files_of(table), content)


def _renamed(files: Files, old: str, new: str) -> Files:
    def at(path: Path) -> Path:
        return Path(str(path).replace(old, new))

    return Files(
        files.location.replace(old, new),
        at(files.metadata),
        at(files.manifest_list),
        tuple(map(at, files.manifests)),
        tuple(map(at, files.data)),
    )

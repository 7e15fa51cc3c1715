"""What a table holds after all, read past the service: rows, and files against the number that it needs."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFileContent, ManifestEntry
from pyiceberg.table import Table

from benchmarks.lake.writers import Ledger

_TARGET = 512 << 20
MOST_RATIO = 2.0


@dataclass(frozen=True, slots=True)
class Condition:
    """``ratio``: data and delete files for each that is needed; ``wrong``: rows too few, too many or with others."""

    files: int
    needed: int
    wrong: int

    @property
    def ratio(self) -> float:
        return self.files / self.needed


def condition(table: Table, ledger: Ledger) -> Condition:
    """A table beside what its writers say of it."""
    snapshot = table.current_snapshot()
    assert snapshot is not None, "every table has rows"
    manifests = snapshot.manifests(table.io)
    entries = [entry for m in manifests for entry in m.fetch_manifest_entry(table.io, discard_deleted=True)]
    sizes: dict[tuple[int, str], int] = defaultdict(int)
    for entry in entries:
        if entry.data_file.content == DataFileContent.DATA:
            sizes[entry.data_file.spec_id, str(entry.data_file.partition)] += entry.data_file.file_size_in_bytes
    needed = sum(math.ceil(size / _TARGET) for size in sizes.values())
    found = _rows(table, entries)
    told = sorted((each, *row) for each, row in ledger.rows.items())
    rows = sorted(zip(*(found[name].to_pylist() for name in ("id", "value", "day")), strict=True))
    wrong = 0 if rows == told else max(1, len(set(rows) ^ set(told)), abs(len(rows) - len(told)))
    return Condition(len(entries), needed, wrong)


def _rows(table: Table, entries: list[ManifestEntry]) -> pa.Table:
    """By PyIceberg; it reads no equality deletes, so that these are applied here, by the specification."""
    equality = [e for e in entries if e.data_file.content == DataFileContent.EQUALITY_DELETES]
    if not equality:
        return table.scan().to_arrow()
    dead: dict[int, int] = {}
    for entry in equality:
        for each in _read(entry)["id"].to_pylist():
            dead[each] = max(dead.get(each, 0), entry.sequence_number or 0)
    positions: dict[str, set[int]] = defaultdict(set)
    for entry in entries:
        if entry.data_file.content == DataFileContent.POSITION_DELETES:
            found = _read(entry)
            for path, position in zip(found["file_path"].to_pylist(), found["pos"].to_pylist(), strict=True):
                positions[path].add(position)
    kept = []
    for entry in entries:
        if entry.data_file.content == DataFileContent.DATA:
            data, gone = _read(entry), positions[entry.data_file.file_path]
            lives = [
                number not in gone and dead.get(each, 0) <= (entry.sequence_number or 0)
                for number, each in enumerate(data["id"].to_pylist())
            ]
            kept.append(data.filter(pa.array(lives, pa.bool_())).replace_schema_metadata(None))
    return pa.concat_tables([data.select(["id", "value", "day"]) for data in kept])


def _read(entry: ManifestEntry) -> pa.Table:
    return pq.read_table(entry.data_file.file_path.removeprefix("file://"), partitioning=None)

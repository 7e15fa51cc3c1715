"""What must be in a table, and what is: rows that writers were promised, read by PyIceberg past the service."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyiceberg.table import Table


@dataclass
class Ledger:
    """Batches of ids: promised, or with an unknown outcome (each of them is there as a whole or not at all)."""

    promised: set[int] = field(default_factory=set)
    unknown: list[frozenset[int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def promise(self, ids: Iterable[int]) -> None:
        with self._lock:
            self.promised |= set(ids)

    def doubt(self, ids: Iterable[int]) -> None:
        with self._lock:
            self.unknown.append(frozenset(ids))


@dataclass(frozen=True)
class Verdict:
    """``wrong``: ids lost, returned from nowhere or there in part; ``twice``: ids that are there more than once."""

    wrong: int
    twice: int
    orphans: tuple[str, ...]


_OF_THE_WRITER = re.compile(r"/\d{5}-\d+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.parquet$")
"""As PyIceberg names files: a full disk leaves those that it was about to commit."""


def ids_of(table: Table) -> Counter[int]:
    """As PyIceberg reads the current snapshot, deletes applied."""
    column: pa.ChunkedArray = table.refresh().scan(selected_fields=("id",)).to_arrow()["id"]
    return Counter(column.to_pylist())


def plain(location: str) -> str:
    return "/" + location.removeprefix("file:").lstrip("/")


def named(table: Table) -> set[str]:
    """Every file that a snapshot or the metadata names."""
    metadata = table.refresh().metadata
    found = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    found |= {file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics)}
    for snapshot in metadata.snapshots:
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            found.add(manifest.manifest_path)
            found |= {entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io)}
    return {plain(location) for location in found}


def orphans(table: Table) -> tuple[str, ...]:
    """Data files on disk that nothing names; what the writer beside left, and of metadata, is not ours."""
    folder = Path(plain(table.location())) / "data"
    there = {str(file) for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".crc")}
    return tuple(sorted(file for file in there - named(table) if not _OF_THE_WRITER.search(file)))


def judge(table: Table, ledger: Ledger) -> Verdict:
    """The table beside its ledger."""
    there = ids_of(table)
    possible: set[int] = set()
    parts = 0
    for batch in ledger.unknown:
        found = batch & there.keys()
        possible |= batch
        parts += len(found) if len(found) != len(batch) else 0
    lost = len(ledger.promised - there.keys())
    strange = len(there.keys() - ledger.promised - possible)
    twice = sum(1 for count in there.values() if count > 1)
    return Verdict(lost + strange + parts, twice, orphans(table))

"""What must be in a table, and what is: rows that writers were promised, read by PyIceberg past the service."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.table import Table

from coordinator.connectors.iceberg.maintenance.listing import walk


@dataclass
class Ledger:
    """Batches of ids: promised, or with an unknown outcome (each of them is there as a whole or not at all)."""

    promised: set[int] = field(default_factory=set)
    unknown: list[frozenset[int]] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)
    """Rows that a writer deleted, or tried to."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def promise(self, ids: Iterable[int]) -> None:
        with self._lock:
            self.promised |= set(ids)

    def doubt(self, ids: Iterable[int]) -> None:
        with self._lock:
            self.unknown.append(frozenset(ids))

    def remove(self, row: int, *, sure: bool = True) -> None:
        """A row was deleted, or nobody knows whether it was."""
        with self._lock:
            self.promised.discard(row)
            self.removed.add(row)
            if not sure:
                self.unknown.append(frozenset((row,)))

    def drop(self, ids: set[int], *, sure: bool) -> None:
        """Rows were deleted together, or nobody knows whether they were."""
        with self._lock:
            gone = ids & self.promised
            self.promised -= gone
            if not sure:
                self.unknown.append(frozenset(gone))


@dataclass(frozen=True)
class Verdict:
    """``wrong``: ids lost, returned from nowhere or there in part; ``twice``: ids that are there more than once."""

    wrong: int
    twice: int
    orphans: tuple[str, ...]


DELETERS = "de1e7e00-0000-4000-8000"
"""What the names of the deleter's files hold."""
STRAY = "stray-"
"""How files are called that a round leaves for a call to remove."""
_OTHERS = rf"{DELETERS}|/{STRAY}"
_OF_THE_WRITERS = re.compile(rf"/\d{{5}}-\d+-[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.parquet$|{_OTHERS}")
"""As PyIceberg names files: a full disk leaves those that it was about to commit."""
_OF_NO_APPENDER = re.compile(_OTHERS)
"""Where nobody appends beside it: the service names the few rows that it writes itself as PyIceberg does."""


def ids_of(table: Table) -> Counter[int]:
    """As PyIceberg reads the current snapshot, deletes applied."""
    column: pa.ChunkedArray = table.refresh().scan(selected_fields=("id",)).to_arrow()["id"]
    return Counter(column.to_pylist())


def plain(location: str) -> str:
    return location if location.startswith("s3") else "/" + location.removeprefix("file:").lstrip("/")


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


def files_under(table: Table, inside: str) -> set[str]:
    """What is in a folder of the table, at any depth; Hadoop's checksums apart."""
    files = walk(table.io, f"{table.location().rstrip('/')}/{inside}")
    return {plain(file.location) for file in files if not file.location.endswith(".crc")}


def orphans(table: Table, *, appended: bool) -> tuple[str, ...]:
    """Data files that nothing names; what the writers beside left, and of metadata, is not ours."""
    others = _OF_THE_WRITERS if appended else _OF_NO_APPENDER
    there = files_under(table, "data")
    return tuple(sorted(file for file in there - named(table) if not others.search(file)))


def judge(table: Table, ledger: Ledger, *, appended: bool = True) -> Verdict:
    """The table beside its ledger; ``appended``: PyIceberg added rows beside the operation."""
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
    return Verdict(lost + strange + parts, twice, orphans(table, appended=appended))

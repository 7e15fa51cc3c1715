"""Writers of a lake, each table with a ledger of the rows that it must hold."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import ValidationException
from pyiceberg.table import Table

from benchmarks.lake.row_delta import RowDelta, data_files, equality_file, make_version_three, vector_file
from benchmarks.lake.schedule import Member, Write
from coordinator.connectors.iceberg.connector import FACTORY, IcebergConnector
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from coordinator.kernels.deletion_vectors import decoded
from shared.properties import Property

SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.int64()), ("day", pa.int32())])
_DAYS = 6
_FIRST, _MORE, _CHANGED = 200, 40, 20
_THREADS = 4
_STATEMENT_SECONDS = 0.3
"""What a MERGE takes from its reading to its commit."""
_TRIES = 5


@dataclass(slots=True)
class Ledger:
    """What a table must hold: value and day by id."""

    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    next_id: int = 0

    def new(self, chance: random.Random, count: int, days: Sequence[int] = range(_DAYS)) -> dict[int, tuple[int, int]]:
        """Rows with ids of their own, not in the ledger yet."""
        ids = range(self.next_id, self.next_id + count)
        return {each: (chance.randrange(1000), chance.choice(days)) for each in ids}

    def put(self, rows: dict[int, tuple[int, int]]) -> None:
        """Rows that are committed."""
        self.rows |= rows
        self.next_id = max(self.next_id, *(each + 1 for each in rows))


class Writers:
    """All writers of one lake, past the service: they know nothing of it but the catalog's database."""

    def __init__(self, home: Path, uri: str, warehouse: str, catalog: str = "iceberg") -> None:
        values = {"iceberg.catalog.uri": uri, "iceberg.catalog.warehouse": warehouse}
        properties = {name: Property(name, value, Path("writers.properties"), 1) for name, value in values.items()}
        self._connector: IcebergConnector = FACTORY.create(catalog, properties, home)
        self.ledgers: dict[str, Ledger] = {}
        self.commits = self.failed = 0
        self.errors: list[str] = []
        self._lock = threading.Lock()

    def table(self, member: Member) -> Table:
        """At its newest metadata."""
        return self._connector.tables_of.open("db", member.name)

    def create(self, lake: Iterable[Member]) -> None:
        """Every table with its first rows."""
        catalog = self._connector.tables_of.client()
        catalog.create_namespace_if_not_exists("db")
        for member in lake:
            table = catalog.create_table(f"db.{member.name}", schema=SCHEMA, properties={"format-version": "2"})
            if member.kind == "late":
                table.update_spec().add_identity("day").commit()
            if member.kind == "merge":
                make_version_three(table)
            ledger = self.ledgers[member.name] = Ledger()
            first = ledger.new(random.Random(member.name), _FIRST, range(1))
            table = self.table(member)
            RowDelta(table, data_files(table, _arrow(first))).land()
            ledger.put(first)

    def play(self, day: Sequence[Write], seconds: float) -> None:
        """The day in so many seconds, or longer where the machine does not keep up. Each table has one writer."""
        start = time.monotonic()
        groups = [[w for w in day if int(w.member.name[1:]) % _THREADS == number] for number in range(_THREADS)]
        threads = [threading.Thread(target=self._write_all, args=(group, start, seconds)) for group in groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write_all(self, day: Sequence[Write], start: float, seconds: float) -> None:
        for write in day:
            time.sleep(max(0.0, start + write.moment * seconds - time.monotonic()))
            self._write(write.member, random.Random(f"{write.member.name} {write.moment}"))

    def _write(self, member: Member, chance: random.Random) -> None:
        """A commit; each failure that retries within the commit do not mend counts, and the writer begins anew."""
        for _ in range(_TRIES):
            try:
                self._commit(member, chance)
            except ValidationException as error:
                self._fail(f"{member.name} ({member.kind}): {error}")
            except Exception:
                self._fail(f"{member.name} ({member.kind}): {traceback.format_exc(limit=-3)}")
            else:
                with self._lock:
                    self.commits += 1
                return

    def _fail(self, error: str) -> None:
        with self._lock:
            self.failed += 1
            self.errors.append(error)

    def _commit(self, member: Member, chance: random.Random) -> None:
        table, ledger = self.table(member), self.ledgers[member.name]
        if member.kind == "append":
            rows = ledger.new(chance, _MORE)
            table.append(_arrow(rows))
        elif member.kind == "late":
            rows = ledger.new(chance, _MORE, chance.sample(range(_DAYS), 2))
            table.append(_arrow(rows))
        elif member.kind == "cdc":
            rows = _changed(ledger, chance) | ledger.new(chance, _MORE - _CHANGED)
            RowDelta(table, data_files(table, _arrow(rows)), [equality_file(table, list(rows))]).land()
        else:
            rows = self._merge(table, ledger, chance)
        ledger.put(rows)

    def _merge(self, table: Table, ledger: Ledger, chance: random.Random) -> dict[int, tuple[int, int]]:
        """Rows are updated where they are: their old places are deleted by vectors."""
        rows = _changed(ledger, chance)
        found = read_live(table, table.current_snapshot())
        vectors = {delete.only_data_file: delete for delete in found.deletes}
        deletes, about, replaced = [], list[LiveFile](), list[LiveFile]()
        for data in found.data:
            old = vectors.get(data.key)
            known = np.zeros(0, np.int64) if old is None else _positions(old)
            ids = pq.read_table(data.path.removeprefix("file://"), columns=["id"])["id"].to_numpy()
            hit = np.setdiff1d(np.flatnonzero(np.isin(ids, list(rows))), known)
            if len(hit):
                deletes.append(vector_file(table, data, np.union1d(known, hit)))
                about.append(data)
                replaced += [] if old is None else [old]
        rows |= ledger.new(chance, _MORE - _CHANGED)
        time.sleep(_STATEMENT_SECONDS)
        RowDelta(table, data_files(table, _arrow(rows)), deletes, about, replaced).land()
        return rows


def _changed(ledger: Ledger, chance: random.Random) -> dict[int, tuple[int, int]]:
    """New values of rows that are there."""
    return {each: (chance.randrange(1000), ledger.rows[each][1]) for each in chance.sample(list(ledger.rows), _CHANGED)}


def _arrow(rows: dict[int, tuple[int, int]]) -> pa.Table:
    values = [value for value, _ in rows.values()]
    return pa.table([list(rows), values, [day for _, day in rows.values()]], schema=SCHEMA)


def _positions(vector: LiveFile) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    assert vector.vector is not None
    offset, length = vector.vector
    with Path(vector.path.removeprefix("file://")).open("rb") as source:
        source.seek(offset)
        return decoded(source.read(length))

"""Rewrites beside real writers for some minutes: no row is lost, none returns, and the rewrites land.

``python -m benchmarks.beside_writers [seconds] [format version] [--peer]``. Spark deletes and updates rows by
merge-on-read, PyIceberg appends and deletes by copy-on-write (in version 3, which it does not write, Spark appends),
and our procedure packs and sorts in turn, on one table. Every writer keeps what it was told; an answer that was lost
leaves its rows open. Ends with a comparison of all rows, read by PyIceberg and by Spark, and prints a JSON line. With
``--peer`` the same writers then work beside Iceberg's own procedure on a new table, on the same schedule, and a second
line says how often its rewrites landed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException

from benchmarks.lab import Lab, peer
from benchmarks.rewrite import BenchExecution
from benchmarks.sort_little import HereWorkers
from coordinator.dispatch.races import MOST_RACES
from coordinator.engine.procedures import run_procedure
from coordinator.engine.spark.engine import SparkEngine
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.errors import ProcessionError
from shared.spi.procedure import ProcedureContext, TableTarget

_SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.int64())])
_PART = 2000


@dataclass(slots=True)
class Told:
    """What the table must hold: value by id; ``free`` ids belong to no writer, ``open`` ones may be either way."""

    rows: dict[int, int] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, ids: Sequence[int], values: Sequence[int]) -> None:
        """Rows that are in."""
        with self.lock:
            self.rows.update(zip(ids, values, strict=True))
            self.free += ids

    def take(self, chance: random.Random, count: int) -> list[int]:
        """Ids that no other writer touches meanwhile."""
        with self.lock:
            if len(self.free) < 4 * count:
                return []
            start = chance.randrange(len(self.free) - count)
            taken, self.free[start : start + count] = self.free[start : start + count], []
            return taken

    def count(self, what: str) -> None:
        """One more."""
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def failed(self, what: str, error: Exception, ids: Sequence[int], *, certain: bool) -> None:
        """A writer lost: it certainly changed nothing, or nobody can tell."""
        self.count(f"{what}_lost")
        with self.lock:
            self.errors.append(f"{what}: {str(error)[:200]}")
            if certain:
                self.free += ids
            else:
                self.open.update(ids)


def append(lab: Lab, spark: SparkEngine, told: Told, start: int) -> int:
    """New rows by PyIceberg, of version 3, which it does not write, by Spark; the next id."""
    ids = list(range(start, start + _PART))
    values = [number * 7919 % 1000 for number in ids]
    try:
        table = lab.catalog.load_table("db.t")
        if table.format_version > 2:
            rows = f"SELECT id, id * 7919 % 1000 FROM range({start}, {start + _PART})"
            peer(spark, f"INSERT INTO lab.db.t {rows}")
        else:
            table.append(pa.table([ids, values], schema=_SCHEMA))
        told.add(ids, values)
        told.count("append")
    except CommitFailedException as error:
        told.failed("append", error, [], certain=True)
    except Exception as error:
        told.failed("append", error, ids, certain=False)
    return start + _PART


def overwrite(lab: Lab, told: Told, chance: random.Random) -> None:
    """Rows deleted by PyIceberg, which writes their files anew."""
    ids = told.take(chance, 5)
    if not ids:
        return
    try:
        lab.catalog.load_table("db.t").delete(f"id IN ({', '.join(map(str, ids))})")
        with told.lock:
            for each in ids:
                told.rows.pop(each)
        told.count("copy_on_write")
    except (CommitFailedException, ValidationException) as error:
        told.failed("copy_on_write", error, ids, certain=True)
    except Exception as error:
        told.failed("copy_on_write", error, ids, certain=False)


def row_delta(spark: SparkEngine, told: Told, chance: random.Random) -> None:
    """Rows deleted or updated by Spark, which writes delete files or vectors."""
    ids = told.take(chance, 10)
    if not ids:
        return
    listed = ", ".join(map(str, ids))
    update = chance.random() < 0.5
    what = "update" if update else "delete"
    try:
        if update:
            peer(spark, f"UPDATE lab.db.t SET value = value + 1000 WHERE id IN ({listed})")
        else:
            peer(spark, f"DELETE FROM lab.db.t WHERE id IN ({listed})")
    except Exception as error:
        unknown = "CommitStateUnknown" in str(error) or "locked" in str(error)
        told.failed(what, error, ids, certain=not unknown)
        return
    with told.lock:
        for each in ids:
            if update:
                told.rows[each] += 1000
            else:
                told.rows.pop(each)
        told.free += ids if update else []
    told.count(what)


def rewrite(lab: Lab, told: Told, number: int) -> None:
    """Packing and sorting in turn; one that lost begins anew, as often as the dispatcher lets it."""
    what = ("pack", "sort", "hilbert")[number % 3]
    procedure = next(p for p in lab.connector.procedures() if p.declaration.name == "rewrite_data_files")
    arguments: dict[str, Any] = {a.name: a.default for a in procedure.declaration.arguments}
    options = {"min-input-files": "2", "delete-ratio-threshold": "0.01"}
    arguments |= {"schema": "db", "table_name": "t", "options": options}
    if what != "pack":
        arguments |= {"strategy": "sort", "sorted_by": ["value", "id"] if what == "sort" else ["hilbert(id, value)"]}
    for race in range(MOST_RACES + 1):
        found = lab.connector.table("db", "t")
        assert found is not None
        target = TableTarget("db", "t", found.snapshot_id, None)
        workers: Any = HereWorkers()
        context = ProcedureContext(BenchExecution().session, "lab", workers, datetime.now(UTC))
        work = CallProcedure("lab", "rewrite_data_files", procedure.declaration.kind, arguments, target)
        try:
            row = run_procedure(procedure, work, context).rows[0]
            told.count(what if row[0] else "nothing_to_rewrite")
            return
        except ProcessionError as error:
            if race == MOST_RACES or not error.retriable:
                told.failed(what, error, [], certain=True)
                return
            told.count("begun_anew")


def rewrite_by_iceberg(spark: SparkEngine, told: Told, number: int) -> None:
    """The same by Iceberg's own procedure, along a Z-curve where ours takes Hilbert's."""
    what = ("pack", "sort", "hilbert")[number % 3]
    orders = {"pack": "", "sort": "value, id", "hilbert": "zorder(id, value)"}
    order = f", strategy => 'sort', sort_order => '{orders[what]}'" if orders[what] else ""
    options = "map('min-input-files', '2', 'delete-file-threshold', '1')"
    try:
        rows = peer(spark, f"CALL lab.system.rewrite_data_files(table => 'db.t', options => {options}{order})")
        told.count(what if rows[0][0] else "nothing_to_rewrite")
    except Exception as error:
        told.failed(what, error, [], certain=True)


def run(who: str, seconds: float, version: int) -> None:
    """Run, compare, print: rewrites by ``ours`` or by ``iceberg``."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        lab, told = Lab(Path(scratch)), Told()
        lab.catalog.create_namespace("db")
        spark = lab.spark()
        try:
            properties = [f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge")]
            properties += [f"'format-version' = '{version}'", "'commit.retry.num-retries' = '20'"]
            peer(spark, f"CREATE TABLE lab.db.t (id bigint, value bigint) TBLPROPERTIES ({', '.join(properties)})")
            next_id = append(lab, spark, told, 0)

            def rewrites(number: int) -> None:
                if who == "ours":
                    rewrite(lab, told, number)
                else:
                    rewrite_by_iceberg(spark, told, number)

            _run(lab, spark, told, time.monotonic() + seconds, next_id, version, rewrites)
            print(json.dumps({"who": who, **_compared(lab, spark, told, seconds, version)}), flush=True)
        finally:
            spark.stop()
    writers = ("append", "copy_on_write", "delete", "update")
    for error in sorted(set(told.errors), key=lambda each: (each.startswith(writers), each))[:12]:
        print(error, file=sys.stderr)


def _run(
    lab: Lab,
    spark: SparkEngine,
    told: Told,
    end: float,
    next_id: int,
    version: int,
    rewrite_once: Callable[[int], None],
) -> None:
    ids = [next_id]

    def appends(_chance: random.Random, _number: int) -> None:
        ids[0] = append(lab, spark, told, ids[0])
        time.sleep(0.5)

    def overwrites(chance: random.Random, _number: int) -> None:
        overwrite(lab, told, chance)
        time.sleep(2.0)

    steps: list[Callable[[random.Random, int], None]] = [
        appends,
        lambda chance, _: row_delta(spark, told, chance),
    ]

    if version < 3:
        steps.append(overwrites)

    def rewrites(_chance: random.Random, number: int) -> None:
        rewrite_once(number)
        time.sleep(2.0)  # or Spark's deletes, which are not tried again, would never land

    steps.append(rewrites)
    _all_at_once(steps, end)


def _all_at_once(steps: Sequence[Callable[[random.Random, int], None]], end: float) -> None:
    """Each again and again, in a thread of its own, until the end."""

    def loop(seed: int, step: Callable[[random.Random, int], None]) -> None:
        chance, number = random.Random(seed), 0
        while time.monotonic() < end:
            step(chance, number)
            number += 1

    threads = [threading.Thread(target=loop, args=item) for item in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _compared(lab: Lab, spark: SparkEngine, told: Told, seconds: float, version: int) -> dict[str, object]:
    readings = {"spark": {(row[0], row[1]) for row in peer(spark, "SELECT id, value FROM lab.db.t")}}
    (count,) = peer(spark, "SELECT count(*), count(DISTINCT id) FROM lab.db.t")
    if version < 3:  # PyIceberg reads no vectors of a table that it may not write
        data = lab.catalog.load_table("db.t").scan().to_arrow()
        readings["pyiceberg"] = set(zip(data["id"].to_pylist(), data["value"].to_pylist(), strict=True))
    wanted = {item for item in told.rows.items() if item[0] not in told.open}
    found = {who: {item for item in rows if item[0] not in told.open} for who, rows in readings.items()}
    rewrites = ("pack", "sort", "hilbert")
    landed = sum(told.counts.get(what, 0) for what in rewrites)
    lost = sum(told.counts.get(f"{what}_lost", 0) for what in rewrites)
    return {
        "bench": "beside_writers", "seconds": seconds, "version": version, "rows": len(wanted),
        "lost_rows": max(len(wanted - rows) for rows in found.values()),
        "wrong_rows": max(len(rows - wanted) for rows in found.values()),
        "duplicates": count[0] - count[1], "open_rows": len(told.open), "rewrites_landed": landed,
        "rewrites_lost": lost, **dict(sorted(told.counts.items())),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.beside_writers")
    parser.add_argument("seconds", type=float, nargs="?", default=180.0)
    parser.add_argument("version", type=int, nargs="?", default=2)
    parser.add_argument("--peer", action="store_true")
    given = parser.parse_args()
    for each in ("ours", "iceberg") if given.peer else ("ours",):
        run(each, given.seconds, given.version)

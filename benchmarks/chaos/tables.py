"""Tables of the rounds: on the service's disk, or in the bench's object store."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from benchmarks.chaos.ledger import STRAY, Ledger, plain
from benchmarks.chaos.store import BUCKET, Store
from tests.e2e.service import Service

FILES = 6
_STRAYS = 3_000
_HISTORY, _GONE = 40, 9_000_000
_ROW_DELETES = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}


@dataclass(frozen=True)
class Lake:
    """A catalog of the service as another program opens it; ``store`` None: on disk."""

    service: Service
    catalog: str = "iceberg"
    store: Store | None = None

    def open(self) -> SqlCatalog:
        if self.store is None:
            return self.service.lake(self.catalog)
        uri = f"sqlite:///{self.service.data_dir / self.catalog}/catalog.db"
        return SqlCatalog(self.catalog, uri=uri, warehouse=f"s3://{BUCKET}/warehouse", **self.store.properties())


def part(first: int, rows: int) -> pa.Table:
    ids = range(first, first + rows)
    noise = random.Random(first).randbytes(20 * rows).hex()
    return pa.table({"id": pa.array(ids, pa.int64()), "text": [noise[i * 40 : i * 40 + 40] for i in range(rows)]})


def make_table(lake: Lake, name: str, rows: int, ledger: Ledger) -> Table:
    """Some files of ids from 0 on."""
    catalog = lake.open()
    catalog.create_namespace_if_not_exists("db")
    properties = {"format-version": "2", "commit.retry.num-retries": "10", **_ROW_DELETES}
    table = catalog.create_table(f"db.{name}", schema=part(0, 1).schema, properties=properties)
    for number in range(FILES):
        table.append(part(number * rows, rows))
        ledger.promise(range(number * rows, (number + 1) * rows))
    return table


def misread(rows: Iterable[tuple[Any, ...]], count: int) -> int:
    """How many of the rows have another text than they were written with, ``count`` of them in each file."""
    texts: dict[int, pa.Table] = {}
    wrong = 0
    for number, text in rows:
        first, size = (number // count * count, count) if number < FILES * count else (number // 10 * 10, 10)
        if first not in texts:
            texts[first] = part(first, size)["text"]
        wrong += texts[first][number - first].as_py() != text
    return wrong


def leave_history(table: Table) -> None:
    """Snapshots with files that the newest one does not need, for a call to expire."""
    for number in range(_HISTORY):
        table.append(part(_GONE + number, 1))
    table.delete(f"id >= {_GONE}")


def leave_strays(table: Table) -> None:
    """Old files that nothing names, for a call to remove."""
    folder = Path(plain(table.location())) / "data"
    old = time.time() - 30 * 86_400
    for number in range(_STRAYS):
        stray = folder / f"{STRAY}{number:05d}.parquet"
        stray.write_bytes(b"of nobody")
        os.utime(stray, (old, old))

"""One round: a table, an operation on it, a writer beside it, a harm in the middle; then what is left is judged."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from benchmarks.chaos.harm import Harm, do
from benchmarks.chaos.ledger import Ledger, Verdict, judge, plain
from benchmarks.fuzz.client import Answer, StatementClient
from tests.e2e.service import Service, start_service

FILES = 6
_REWRITE = "CALL iceberg.system.rewrite_data_files(schema => 'db', table_name => '{t}', "
OPERATIONS = {
    "rewrite": _REWRITE + "options => MAP(ARRAY['rewrite-all'], ARRAY['true']))",
    "sort": _REWRITE + "strategy => 'sort', sort_order => 'text', options => MAP(ARRAY['rewrite-all'], ARRAY['true']))",
    "partial progress": _REWRITE + "options => MAP(ARRAY['rewrite-all', 'partial-progress.enabled', "
    "'max-file-group-size-bytes'], ARRAY['true', 'true', '2000000']))",
    "expire": "CALL iceberg.system.expire_snapshots('db', '{t}', TIMESTAMP '2039-01-01 00:00:00.000', 1)",
    "orphans": "CALL iceberg.system.remove_orphan_files('db', '{t}')",
    "insert": "INSERT INTO {t} SELECT id + 1000000, text FROM {t} WHERE id < 1000000",
    "merge": "MERGE INTO {t} USING (SELECT id + 2000000 AS k, text FROM {t} WHERE id < 1000000) s ON {t}.id = s.k "
    "WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.k, s.text)",
    "ctas": "CREATE TABLE {t}_made AS SELECT a.id, a.text FROM {t} a",
    "late": "SELECT id, text FROM {t} ORDER BY text, id LIMIT 100",
}
ADDED = {"insert": 1_000_000, "merge": 2_000_000}
"""From which id on an operation adds a row for each that was there at first."""


@dataclass(frozen=True)
class Round:
    """``after``: seconds from the beginning of the operation to the harm; ``rows`` of each file."""

    number: int
    operation: str
    harm: Harm
    after: float
    rows: int = 120_000


@dataclass(frozen=True)
class Outcome:
    """``light`` and ``heavy``: seconds until a small statement, and one of Spark, were answered; None: never."""

    verdict: Verdict
    said: str
    done: str
    light: float | None
    heavy: float | None


def part(first: int, rows: int) -> pa.Table:
    ids = range(first, first + rows)
    noise = random.Random(first).randbytes(20 * rows).hex()
    return pa.table({"id": pa.array(ids, pa.int64()), "text": [noise[i * 40 : i * 40 + 40] for i in range(rows)]})


def make_table(service: Service, name: str, rows: int, ledger: Ledger) -> Table:
    """Some files of ids from 0 on, in a table that is asked for little memory of its history."""
    lake = service.lake()
    lake.create_namespace_if_not_exists("db")
    table = lake.create_table(f"db.{name}", schema=part(0, 1).schema)
    for number in range(FILES):
        table.append(part(number * rows, rows))
        ledger.promise(range(number * rows, (number + 1) * rows))
    return table


@contextmanager
def writer(service: Service, name: str, ledger: Ledger, log: list[str]) -> Iterator[None]:
    """PyIceberg adds ten rows twice a second; what it is not sure of is in doubt."""
    over = threading.Event()

    def write() -> None:
        first, failed = 5_000_000, 0
        while not over.wait(0.5):
            ids = range(first, first + 10)
            first += 10
            try:
                service.lake().load_table(f"db.{name}").append(part(ids[0], 10))
                ledger.promise(ids)
            except CommitFailedException:
                failed += 1
            except Exception:  # whatever the harm makes of its storage or catalog
                ledger.doubt(ids)
                failed += 1
        log.append(f"    writer: {(first - 5_000_000) // 10} appends, {failed} refused or in doubt")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def play(service: Service, this: Round, log: list[str], log_file: Path) -> tuple[Service, Outcome]:
    """The service afterwards (another one when its coordinator was killed) and what came of it."""
    name = f"chaos_{this.number}"
    ledger = Ledger()
    with full_disk(service, name, this.harm):
        table = make_table(service, name, this.rows, ledger)
        answers: list[Answer] = []
        client = StatementClient(service.url, "db", "engine=SPARK" if this.operation == "late" else "", limit=240)
        sql = OPERATIONS[this.operation].format(t=name)
        thread = threading.Thread(target=lambda: answers.append(client.ask(sql)))
        with writer(service, name, ledger, log):
            thread.start()
            time.sleep(this.after)
            done = do(service, this.harm, _data(table))
            if service.process.poll() is not None or this.harm == Harm("kill", "coordinator"):
                service.process.wait()
                service = start_service(service.etc, service.data_dir, log_file)
            thread.join()
        client.close()
        _enter(ledger, this, answers[0])
        light, heavy = healed(service, "", 10), healed(service, "engine=SPARK", 60)
        verdict = _settled(table, ledger)
    said = "done" if answers[0].error is None else f"{answers[0].error[0]}: {answers[0].error[2][:150]}"
    return service, Outcome(verdict, said, done, light, heavy)


def _data(table: Table) -> Path:
    return Path(plain(table.location())) / "data"


def _enter(ledger: Ledger, this: Round, answer: Answer) -> None:
    if this.operation in ADDED:
        ids = range(ADDED[this.operation], ADDED[this.operation] + FILES * this.rows)
        ledger.promise(ids) if answer.error is None else ledger.doubt(ids)


@contextmanager
def full_disk(service: Service, name: str, harm: Harm) -> Iterator[None]:
    """With such a harm, the table's data is on a disk of its own: needs root."""
    if harm.how != "disk":
        yield
        return
    folder = service.data_dir / "iceberg" / "warehouse" / "db" / name / "data"
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    subprocess.run(command, check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def healed(service: Service, session: str, limit: float) -> float | None:
    """Seconds until a statement is answered rightly."""
    sql = "SELECT 1" if not session else "SELECT count(*) FROM probe"
    started = time.monotonic()
    while time.monotonic() - started < limit:
        client = StatementClient(service.url, "db", session, limit=limit)
        answer: Any = client.ask(sql)
        client.close()
        if answer.error is None and answer.rows == ((1,),):
            return round(time.monotonic() - started, 1)
        time.sleep(0.5)
    return None


def _settled(table: Table, ledger: Ledger, seconds: float = 60) -> Verdict:
    """Once nothing is left to be removed, or the time for it is over."""
    deadline = time.monotonic() + seconds
    while (verdict := judge(table, ledger)).orphans and time.monotonic() < deadline:
        time.sleep(1)
    return verdict


def rounds(seed: int, count: int) -> list[Round]:
    """Operations and harms, each as often as the other, at moments by chance."""
    chance = random.Random(seed)
    harms = [
        *(Harm("kill", whom) for whom in ("coordinator", "spark", "python worker", "planner", "sidecar", "converter")),
        *(Harm("stop", whom, 20) for whom in ("spark", "python worker", "sidecar", "planner", "coordinator")),
        *(
            Harm("kill", "embedded worker"),
            Harm("kill", "local worker"),
            Harm("kill", "nursery"),
            Harm("database", seconds=10),
            Harm("storage", seconds=5),
        ),
        Harm("disk"),
    ]
    chance.shuffle(harms)
    operations = list(OPERATIONS)
    chance.shuffle(operations)
    return [
        Round(n, operations[n % len(operations)], harms[n % len(harms)], chance.choice((0.2, 0.6, 1.0, 1.5, 2.5, 4.0)))
        for n in range(count)
    ]

"""One round: a table, an operation on it, a writer beside it, a harm in the middle; then what is left is judged."""

from __future__ import annotations

import contextlib
import math
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyiceberg.table import Table

from benchmarks.chaos.harm import Harm, do
from benchmarks.chaos.ledger import Ledger, Verdict, judge, plain
from benchmarks.chaos.sending import BULK, FIRST_SENT, send
from benchmarks.chaos.steps import CHANGES, ON_SPARK, STEPS, Place, place_of, wait_for
from benchmarks.chaos.store import Store
from benchmarks.chaos.tables import FILES, Lake, leave_history, leave_strays, make_table, misread
from benchmarks.chaos.writers import SparkWriter, appending
from benchmarks.fuzz.client import Answer, StatementClient
from tests.e2e.service import Service, start_service

FEW, FIRST_FEW = 2_000, 4_000_000
"""Rows that the coordinator writes by itself, and their first id."""
_REWRITE = "CALL {c}.system.rewrite_data_files(schema => 'db', table_name => '{t}', "
OPERATIONS = {
    "rewrite": _REWRITE + "options => MAP(ARRAY['rewrite-all'], ARRAY['true']))",
    "sort": _REWRITE + "strategy => 'sort', sort_order => 'text', options => MAP(ARRAY['rewrite-all'], ARRAY['true']))",
    "partial progress": _REWRITE + "options => MAP(ARRAY['rewrite-all', 'partial-progress.enabled', "
    "'max-file-group-size-bytes'], ARRAY['true', 'true', '2000000']))",
    "expire": "CALL {c}.system.expire_snapshots('db', '{t}', TIMESTAMP '2039-01-01 00:00:00.000', 1)",
    "orphans": "CALL {c}.system.remove_orphan_files('db', '{t}')",
    "insert": "INSERT INTO {t} SELECT id + 1000000, text FROM {t} WHERE id < 1000000",
    "few": "INSERT INTO {t} SELECT id + 4000000, text FROM (VALUES "
    + ", ".join(f"({number}, 'few {number}')" for number in range(FEW))
    + ") v (id, text)",
    "merge": "MERGE INTO {t} AS x USING (SELECT id + 2000000 AS k, text FROM {t} WHERE id < 1000000 "
    "UNION ALL SELECT id, text FROM {t} WHERE id % 5 = 0 AND id < 1000000) s ON x.id = s.k "
    "WHEN MATCHED THEN UPDATE SET text = s.text WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.k, s.text)",
    "update": "UPDATE {t} SET text = upper(text) WHERE id % 5 = 0",
    "delete": "DELETE FROM {t} WHERE id % 5 = 0 AND id < 1000000",
    "ctas": "CREATE TABLE {t}_made AS SELECT a.id, a.text FROM {t} a",
    "replace": "CREATE OR REPLACE TABLE {t} AS SELECT id, text FROM {t} WHERE id % 5 <> 0 OR id >= 1000000",
    "bulk": BULK,
    "late": "SELECT id, text FROM {t} ORDER BY id % 9973, id LIMIT 100",
    "late scan": "SELECT id, text FROM {t} ORDER BY id % 9973, id LIMIT 60000",
}
OPERATIONS |= {name + ON_SPARK: OPERATIONS[name] for name in CHANGES}
"""Small changes of rows need no Spark, unless the session asks for it."""
CALLS = frozenset({"rewrite", "sort", "partial progress", "expire", "orphans"})
LATE = frozenset({"late", "late scan"})
"""Reads that fetch ``text`` in a second pass: of few rows the coordinator, of many Spark's executors."""
_IN_TWO_PASSES = "engine=SPARK,global_late_materialization_cost_based=false"
"""One pass would cost less over tables of this size."""
ADDED = {"insert": 1_000_000, "merge": 2_000_000}
"""From which id on an operation adds a row for each that was there at first."""
PAUSES = {"replace": 6.0, "few": 3600.0}
"""Seconds between two changes beside it, where others than half a second: a table that never rests is not replaced."""


@dataclass(frozen=True)
class Round:
    """``after``: seconds from ``step``, or from the beginning of the operation, to the harm; ``rows`` of each file.

    ``deletes``: a Spark deletes rows beside it.
    """

    number: int
    operation: str
    harm: Harm
    after: float
    rows: int = 60_000
    step: str = ""
    deletes: bool = False

    @property
    def kind(self) -> str:
        """The operation, whoever carries it out."""
        return self.operation.removesuffix(ON_SPARK)

    @property
    def session(self) -> str:
        if self.operation in LATE:
            return _IN_TWO_PASSES
        return "engine=SPARK" if self.operation.endswith(ON_SPARK) else ""

    @property
    def of_the_store(self) -> bool:
        return self.harm.how in {"slow", "failing"}

    def __str__(self) -> str:
        where = f"at {self.step}" if self.step else f"after {self.after:g} s"
        return f"{self.operation}, {where} {self.harm}{', rows deleted beside it' if self.deletes else ''}"


@dataclass(frozen=True)
class Outcome:
    """``light`` and ``heavy``: seconds until a small statement, and one of Spark, were answered; None: never."""

    verdict: Verdict
    said: str
    done: str
    light: float | None
    heavy: float | None
    met: bool = False
    """The harm came at its step."""


@dataclass
class Stage:
    """Where rounds are played: the service (another one once its coordinator was killed) and what is beside it."""

    service: Service
    log_file: Path
    store: Store | None = None
    spark: SparkWriter | None = None
    cold: bool = False
    """The service is started as users do: its processes are known by their command lines."""

    def lake(self, this: Round) -> Lake:
        return Lake(self.service, "store", self.store) if this.of_the_store else Lake(self.service)


def play(stage: Stage, this: Round, log: list[str]) -> Outcome:
    """What came of it."""
    name, ledger, lake = f"chaos_{this.number}", Ledger(), stage.lake(this)
    with full_disk(stage.service, name, this.harm), contextlib.ExitStack() as beside:
        table = make_table(lake, name, this.rows, ledger)
        if this.operation == "orphans" and not this.of_the_store:
            leave_strays(table)
        if this.operation == "expire":
            leave_history(table)
        wake(stage.service)
        place = place_of(stage.service, lake.catalog, table)
        beside.enter_context(appending(lake, name, ledger, log, PAUSES.get(this.operation, 0.5)))
        if this.deletes and stage.spark is not None:
            pause = PAUSES.get(this.operation, 0.2)
            beside.enter_context(stage.spark.deleting(name, FILES * this.rows, ledger, log, pause))
        answer, done, met = _harmed(stage, this, place)
        beside.close()
        _enter(ledger, this, answer)
        light, heavy = healed(stage.service, "", 10), healed(stage.service, "engine=SPARK", 60)
        verdict = _settled(table, ledger, appended=this.operation != "few")
        if this.operation in LATE:
            verdict = replace(verdict, wrong=verdict.wrong + misread(answer.rows, this.rows))
    said = "done" if answer.error is None else f"{answer.error[0]}: {answer.error[2][:150]}"
    return Outcome(verdict, said, done, light, heavy, met)


def _harmed(stage: Stage, this: Round, place: Place) -> tuple[Answer, str, bool]:
    """The operation's answer, what was done meanwhile, and whether that was at the step."""
    answers: list[Answer] = []
    over = threading.Event()
    client = StatementClient(stage.service.url, "db", this.session, limit=240)
    sql = OPERATIONS[this.operation].format(c=place.catalog, t=f"{place.catalog}.db.{place.table.name()[-1]}")
    if this.operation in CALLS:
        sql = OPERATIONS[this.operation].format(c=place.catalog, t=place.table.name()[-1])

    def ask() -> None:
        answers.append(
            send(stage.service, place.table.name(), place.catalog, this.rows) if sql == BULK else client.ask(sql)
        )
        over.set()

    thread = threading.Thread(target=ask)
    thread.start()
    met = bool(this.step) and wait_for(place, this.step, over) is not None
    if not this.step:
        time.sleep(this.after)
    done = do(stage.service, this.harm, _data(place.table), stage.store)
    if stage.service.process.poll() is not None or this.harm == Harm("kill", "coordinator"):
        stage.service.process.wait()
        service = stage.service
        stage.service = start_service(service.etc, service.data_dir, stage.log_file, cold=stage.cold)
    thread.join()
    client.close()
    return answers[0], done, met


def wake(service: Service) -> None:
    """Both kinds of engine processes are there: they are started by the first statement that needs one."""
    for sql, session in (("SELECT max(id) FROM probe", "engine=EMBEDDED"), ("SELECT * FROM system.runtime.nodes", "")):
        client = StatementClient(service.url, "db", session, limit=60)
        client.ask(sql)
        client.close()


def _data(table: Table) -> Path:
    return Path(plain(table.location())) / "data"


def _enter(ledger: Ledger, this: Round, answer: Answer) -> None:
    """What the operation added: a row for each that was there, which nobody knows of those that were deleted."""
    if this.operation == "few":
        few = range(FIRST_FEW, FIRST_FEW + FEW)
        ledger.promise(few) if answer.error is None else ledger.doubt(few)
    if this.operation == "bulk":
        ids = range(FIRST_SENT, FIRST_SENT + FILES * this.rows)
        ledger.promise(ids) if answer.error is None else ledger.doubt(ids)
    if this.kind in {"delete", "replace"}:
        ledger.drop({row for row in range(FILES * this.rows) if row % 5 == 0}, sure=answer.error is None)
    if this.kind not in ADDED:
        return
    first = ADDED[this.kind]
    ids = {row + first for row in range(FILES * this.rows) if row not in ledger.removed}
    ledger.promise(ids) if answer.error is None else ledger.doubt(ids)
    for row in tuple(ledger.removed):
        ledger.doubt((row + first,))


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


def _settled(table: Table, ledger: Ledger, *, appended: bool, seconds: float = 60) -> Verdict:
    """Once nothing is left to be removed, or by a look that began when the time was over: one may take minutes."""
    deadline = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        verdict = judge(table, ledger, appended=appended)
        if not verdict.orphans or begun >= deadline:
            return verdict
        time.sleep(1)


def rounds(seed: int, count: int) -> list[Round]:
    """Operations and harms, each as often as the other, at moments by chance."""
    chance = random.Random(seed)
    harms = [
        *(Harm("kill", whom) for whom in ("coordinator", "spark", "python worker", "planner", "sidecar", "converter")),
        *(Harm("stop", whom, 20) for whom in ("spark", "python worker", "coordinator", "embedded worker")),
        *(Harm("stop", whom, 8) for whom in ("sidecar", "planner", "converter")),
        *(
            Harm("kill", "embedded worker"),
            Harm("kill", "local worker"),
            Harm("kill", "nursery"),
            Harm("database", seconds=10),
            Harm("storage", seconds=5),
        ),
        Harm("disk"),
        Harm("slow", seconds=10),
        Harm("failing", seconds=5),
    ]
    chance.shuffle(harms)
    operations = list(OPERATIONS)
    chance.shuffle(operations)
    each = math.lcm(len(operations), len(harms))  # from then on the same would meet again
    return [
        _round(n, operations[n % len(operations)], harms[(n + n // each) % len(harms)], chance) for n in range(count)
    ]


def _round(number: int, operation: str, harm: Harm, chance: random.Random) -> Round:
    after, steps = chance.choice((0.2, 0.6, 1.0, 1.5, 2.5, 4.0)), STEPS.get(operation, ())
    step = chance.choice(steps) if steps and chance.random() < 0.8 else ""
    deletes = chance.random() < 0.4 and harm.how not in {"slow", "failing", "disk"}
    return Round(number, operation, harm, after, step=step, deletes=deletes)

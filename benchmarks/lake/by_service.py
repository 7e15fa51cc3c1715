"""A lake that the maintenance service of a whole coordinator keeps while its writers are at work."""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.lake.checking import MOST_RATIO, condition
from benchmarks.lake.schedule import Member, day
from benchmarks.lake.writers import Writers
from benchmarks.rewrite import cpu_seconds
from tests.e2e.service import Service, start_service, write_etc

_SCAN_SECONDS = 10
_IDLE_ROUNDS = 6
_SETTLE_SECONDS = 1200
_SETTINGS = """\
maintenance.enabled=true
maintenance.dry-run=false
maintenance.scan-interval={scan}s
maintenance.max-concurrent-jobs=4
maintenance.max-per-catalog=4
maintenance.horizon-days=90
maintenance.policy-file=maintenance.json
maintenance.budget.seconds-per-day={seconds}s
maintenance.budget.bytes-per-day={size}MB
maintenance.budget.bytes-per-table-per-day=5MB
"""
_COMPACTION = {"min-input-files": 3, "min-interval": "20s"}
"""A lake that wants at most two files where one would do; a day of minutes has intervals of seconds."""
_POLICIES = {"policies": [{"name": "all", "system.data-compaction": {"enable": True, "config": _COMPACTION}}]}


@dataclass(slots=True)
class Watched:
    """Of the service's processes: CPU seconds since ``begun``, and the most memory of the coordinator in bytes."""

    root: psutil.Process
    begun: float = 0.0
    most: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def cpu(self) -> float:
        return cpu_seconds([self.root, *self.root.children(recursive=True)]) - self.begun

    def watch(self) -> None:
        while not self.stop.wait(1.0):
            self.most = max(self.most, self.root.memory_info().rss)


def by_service(home: Path, lake: Sequence[Member], seconds: float) -> dict[str, Any]:
    """The service's figures."""
    etc = write_etc(home / "etc", planners=2)
    tables = len(lake)
    settings = _SETTINGS.format(scan=_SCAN_SECONDS, seconds=60 + 4 * tables, size=max(8, tables // 2))
    (etc / "maintenance.properties").write_text(settings)
    (etc / "maintenance.json").write_text(json.dumps(_POLICIES))
    data = home / "data"
    (data / "iceberg").mkdir(parents=True)
    uri, warehouse = f"sqlite:///{data}/iceberg/catalog.db", f"file://{data}/iceberg/warehouse"
    writers = Writers(home / "writers", uri, warehouse)
    writers.create(lake)
    _say("created")
    service = start_service(etc, data, home / "log")
    try:
        with _watched(service) as watched:
            return _kept(service, watched, writers, lake, seconds)
    finally:
        service.stop()


@contextmanager
def _watched(service: Service) -> Iterator[Watched]:
    watched = Watched(psutil.Process(service.process.pid))
    thread = threading.Thread(target=watched.watch, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        watched.stop.set()
        thread.join()


def _kept(
    service: Service, watched: Watched, writers: Writers, lake: Sequence[Member], seconds: float
) -> dict[str, Any]:
    service.execute("CREATE SCHEMA iceberg.warm")
    service.execute("CREATE TABLE iceberg.warm.t AS SELECT 1 AS a")  # Spark is up
    _await(lambda: service.execute("SELECT count(*) FROM system.maintenance.tables")[0][0] >= len(lake), 600)
    _say("looked at")
    started = time.perf_counter()
    watched.begun = watched.cpu()
    writers.play(day(lake), seconds)
    wrote = time.perf_counter() - started
    _say(f"written: {writers.commits} commits, {writers.failed} failed")
    settled = _settle(service)
    result: dict[str, Any] = {"cpu_s": round(watched.cpu(), 1), "wrote_s": round(wrote, 1)}
    result |= {"wall_s": round(time.perf_counter() - started, 1), "settled": settled}
    before = watched.cpu()
    time.sleep(_IDLE_ROUNDS * _SCAN_SECONDS)
    result["idle_cpu_s_a_round"] = round((watched.cpu() - before) / _IDLE_ROUNDS, 3)
    result |= {"coordinator_mb": watched.most >> 20, "commits": writers.commits, "writers_failed": writers.failed}
    for error in writers.errors[:10]:
        print(error, file=sys.stderr)
    return result | _told(service) | _shown(service) | _checked(service, writers, lake)


def _settle(service: Service) -> bool:
    """Until nothing is wanted or running, and every table has at most twice the files that it needs."""
    sql = (
        "SELECT count(*) FILTER (WHERE state IN ('RUN', 'RUNNING', 'WAIT', 'FAILED')),"
        f" count(*) FILTER (WHERE files + delete_files > {MOST_RATIO} * needed_files) FROM system.maintenance.tables"
    )

    def done() -> bool:
        found = service.execute(sql)
        _say(f"wanted or running, over: {found}")
        time.sleep(2)
        return found == [[0, 0]] and service.execute(sql) == [[0, 0]]

    return _await(done, _SETTLE_SECONDS)


def _await(found: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not found():
        if time.monotonic() > deadline:
            return False
        time.sleep(2)
    return True


def _told(service: Service) -> dict[str, Any]:
    """Jobs, whether each has a decision that explains it, and the budget, counted from the jobs themselves."""
    jobs = service.execute("SELECT state, count(*) FROM system.maintenance.jobs GROUP BY 1 ORDER BY 1")
    errors = "SELECT procedure, table_name, error FROM system.maintenance.jobs WHERE error IS NOT NULL LIMIT 10"
    for row in service.execute(errors):
        print(row, file=sys.stderr)
    unexplained = service.execute(
        "SELECT count(*) FROM system.maintenance.jobs j WHERE NOT EXISTS (SELECT 1 FROM system.maintenance.decisions d"
        " WHERE d.table_name = j.table_name AND d.step = j.procedure AND d.verdict = 'RUN' AND length(d.reason) > 10)"
    )
    used = service.execute("SELECT sum(estimated_bytes), sum(seconds) FROM system.maintenance.jobs")[0]
    largest = "SELECT max(b) FROM (SELECT sum(estimated_bytes) b FROM system.maintenance.jobs GROUP BY table_name)"
    most = dict(service.execute("SELECT name, most FROM system.maintenance.budget"))
    of_table = service.execute(largest)[0][0] or 0
    held = (used[0] or 0) <= most["bytes_per_day"] and (used[1] or 0) <= most["seconds_per_day"]
    return {
        "jobs": dict(jobs),
        "unexplained": unexplained[0][0],
        "decisions": service.execute("SELECT count(*) FROM system.maintenance.decisions")[0][0],
        "budget_used": [used[0] or 0, round(used[1] or 0.0)],
        "budget_most": [most["bytes_per_day"], most["seconds_per_day"]],
        "budget_held": held and of_table <= 5 << 20,
    }


def _shown(service: Service) -> dict[str, Any]:
    """Milliseconds that people wait for tables and the page about maintenance."""

    def median(ask: Callable[[], object]) -> float:
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            ask()
            taken.append(time.perf_counter() - start)
        return round(1000 * statistics.median(taken))

    def page() -> None:
        httpx.get(f"{service.url}/ui/maintenance", timeout=60).raise_for_status()

    return {
        "tables_ms": median(lambda: service.execute("SELECT * FROM system.maintenance.tables")),
        "decisions_ms": median(lambda: service.execute("SELECT * FROM system.maintenance.decisions")),
        "page_ms": median(page),
    }


def _checked(service: Service, writers: Writers, lake: Sequence[Member]) -> dict[str, Any]:
    catalog = service.lake()
    return checked({m.name: condition(catalog.load_table(f"db.{m.name}"), writers.ledgers[m.name]) for m in lake})


def checked(found: dict[str, Any]) -> dict[str, Any]:
    """Tables over the limit and rows wrong."""
    for name, each in found.items():
        if each.wrong or each.ratio > MOST_RATIO:
            print(name, each, file=sys.stderr)
    return {
        "files_over": sum(each.ratio > MOST_RATIO for each in found.values()),
        "worst_ratio": max(each.ratio for each in found.values()),
        "rows_wrong": sum(each.wrong for each in found.values()),
    }


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

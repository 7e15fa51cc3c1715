"""Statements, plans, requests and broken tables against one whole service without Spark, beside DuckDB.

``python -m benchmarks.fuzz [--seed 1] [--first 0] [--statements 2000] [--plans 2000] [--requests 1000] [--paths 1000]
[--tables 200] [--seconds 480]``. What is wrong is a JSON line each, with the seed and the number that make it again
(``--first NUMBER --statements 1``); the last line is the summary. The exit code is 1 when something was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz import catalog, paths, plans, requests
from benchmarks.fuzz.client import StatementClient
from benchmarks.fuzz.statements import Statements, line
from benchmarks.fuzz.tables import make_tables, oracle
from benchmarks.validate import start, stop
from sidecar.app import create_app
from sidecar.settings import SidecarSettings
from tests.e2e.service import Service, start_service, write_etc

SCHEMA = "fuzz"
AT_ONCE = 20
Run = Callable[[int, Sequence[int]], Iterator[dict[str, Any]]]


@dataclass
class Report:
    """What was wrong, by kind, and what was answered, by part."""

    deadline: float
    wrong: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)

    def part(self, name: str, run: Run, seed: int, first: int, count: int) -> None:
        """In slices, until the time is over."""
        begun = time.monotonic()
        for begin in range(first, first + count, AT_ONCE):
            self.seconds[name] = round(time.monotonic() - begun)
            if time.monotonic() > self.deadline:
                return
            numbers = range(begin, min(begin + AT_ONCE, first + count))
            for found in run(seed, numbers):
                self.wrong[str(found["what"])] += 1
                print(line(found), flush=True)
            self.done[name] += len(numbers)
        self.seconds[name] = round(time.monotonic() - begun)


@contextmanager
def sidecar() -> Iterator[str]:
    """The address of one of its own: that of a service asks for a token."""
    process, url = start("-m", "sidecar", "--port", "0")
    try:
        yield url
    finally:
        stop(process)


def fuzz(
    service: Service, sidecar_url: str, options: argparse.Namespace
) -> tuple[Report, Statements, dict[str, Counter[str]]]:
    """All parts, one after another."""
    make_tables(service, SCHEMA)
    service.lake().create_namespace_if_not_exists("fuzz_made")
    client = StatementClient(service.url, SCHEMA, "engine=EMBEDDED")
    report = Report(time.monotonic() + options.seconds)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("plans", "requests", "paths", "tables")}
    statements = Statements(client, oracle(), SCHEMA)
    broken = StatementClient(service.url, catalog.SCHEMA, "engine=EMBEDDED")
    url = service.url
    asked = [
        paths.Target(url, paths.operations(service.get("/openapi.json"))),
        paths.Target(sidecar_url, paths.routes(create_app(SidecarSettings())), refused=(b"503",)),
    ]
    parts: dict[str, Run] = {
        "tables": lambda s, n: catalog.run(service, broken, s, n, counts["tables"]),
        "requests": lambda s, n: requests.run(url, s, n, counts["requests"]),
        "paths": lambda s, n: (found for target in asked for found in paths.run(target, s, n, counts["paths"])),
        "plans": lambda s, n: plans.run(sidecar_url, s, n, counts["plans"]),
        "statements": lambda s, n: statements.run(s, n, options.definitions),
    }
    for name, run in parts.items():
        report.part(name, run, options.seed, options.first, getattr(options, name))
    return report, statements, counts


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in (
        ("seed", 1),
        ("first", 0),
        ("statements", 2000),
        ("plans", 2000),
        ("requests", 1000),
        ("paths", 1000),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--definitions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--log", type=Path, help="where the service's log is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        log = options.log or home / "log"
        # No Spark, so that nothing waits for one: what the embedded engine cannot do is refused.
        etc = write_etc(home / "etc", spark=False, remote="sc://127.0.0.1:1")
        service = start_service(etc, home / "data", log)
        try:
            with sidecar() as sidecar_url:
                report, statements, counts = fuzz(service, sidecar_url, options)
        finally:
            service.stop()
        tracebacks = log.read_text().count("Traceback (most recent call last)")
    tally = statements.tally
    for name, counter in {**counts, "errors of statements": tally.errors}.items():
        print(json.dumps({"part": name, **dict(counter.most_common())}), flush=True)
    every = sum(counts.values(), Counter(tally.counts))
    figures = {
        "bench": "fuzz",
        "seed": options.seed,
        **{name: report.done[name] for name in ("statements", "plans", "requests", "paths", "tables")},
        "seconds": dict(report.seconds),
        "compared": tally.counts["compared"] + tally.counts["wrong"],
        "answered": tally.counts["answered"],
        "user_errors": tally.counts["user_errors"],
        "internal_errors": report.wrong["internal"] + report.wrong["catalog"],
        "http_5xx": sum(count for name, count in every.items() if name.startswith("http_5")),
        "wrong": report.wrong["wrong"],
        "slow": report.wrong["slow"],
        "plans_wrong": report.wrong["plan"],
        "requests_wrong": report.wrong["http"],
        "not_native": tally.counts["not_native"],
        "slowest_seconds": round(tally.slowest, 2),
        "tracebacks_in_log": tracebacks,
    }
    print(json.dumps(figures), flush=True)
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

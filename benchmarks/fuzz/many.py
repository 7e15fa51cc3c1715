"""Statements, plans and broken tables by the ten thousand: the code of a service in processes of this one's own.

``python -m benchmarks.fuzz.many [--seed 1] [--first 0] [--statements 100000] [--plans 100000] [--tables 100000]
[--seconds 3600]``. What is wrong is a JSON line each, as from ``python -m benchmarks.fuzz``, which asks a whole
service and reads what only that does (HTTP, processes, the queue); the last line is the summary.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.fuzz import catalog_copies, plans
from benchmarks.fuzz.apart import Case, Make, Told, run_apart
from benchmarks.fuzz.statements import Statements, line
from benchmarks.fuzz.tables import make_tables, oracle
from benchmarks.fuzz.within import Within
from coordinator.vocabulary.nesting import RECURSION_LIMIT
from tests.e2e.service import Service, write_etc

SCHEMA = "fuzz"
AT_ONCE = 2000
"""Cases of one process: a new one shows what the first cases of a process do, and bounds what is kept."""
PROPERTIES = {"engine": "EMBEDDED"}


def of_statements(seed: int, definitions: int, home: Path, counts: Counter[str]) -> Case:
    sys.setrecursionlimit(RECURSION_LIMIT)
    folder = Path(tempfile.mkdtemp(dir=home))
    etc = write_etc(folder / "etc", spark=False, remote="sc://127.0.0.1:1")
    within = Within(etc, folder / "data", SCHEMA, PROPERTIES)
    within.ask("SHOW SCHEMAS FROM iceberg")
    lake = _lake(folder)
    make_tables(lake, SCHEMA)
    lake.lake().create_namespace_if_not_exists("fuzz_made")
    statements = Statements(within, oracle(), SCHEMA, counts)
    return lambda number: statements.run(seed, (number,), definitions)


def of_tables(seed: int, home: Path, counts: Counter[str]) -> Case:
    sys.setrecursionlimit(RECURSION_LIMIT)
    folder = Path(tempfile.mkdtemp(dir=home))
    etc = write_etc(folder / "etc", spark=False, remote="sc://127.0.0.1:1")
    within = Within(etc, folder / "data", catalog_copies.SCHEMA, PROPERTIES)
    within.ask("SHOW SCHEMAS FROM iceberg")
    copies = catalog_copies.Copies(_lake(folder), folder / "elsewhere" / "bait")
    return lambda number: copies.case(within, seed, number, counts)


def of_plans(seed: int, counts: Counter[str]) -> Case:
    known = plans.fragments()
    cases = plans.Cases(plans.converter(), known, plans.words_of(known))
    return lambda number: cases.case(seed, number, counts)


def _lake(folder: Path) -> Service:
    """As much of a service as its lake."""
    return Service(None, "", folder / "data", folder / "etc")  # type: ignore[arg-type]


def part(name: str, make: Make, options: argparse.Namespace, deadline: float) -> tuple[dict[str, Any], Counter[str]]:
    """The cases of a kind in slices, until the time is over: figures, and what was wrong."""
    wrong: Counter[str] = Counter()
    told, begun = Told(), time.monotonic()
    count = getattr(options, name)
    for first in range(options.first, options.first + count, AT_ONCE):
        if time.monotonic() > deadline:
            break
        numbers = range(first, min(first + AT_ONCE, options.first + count))
        for found in run_apart(make, numbers, told):
            wrong[str(found["what"])] += 1
            print(line({"seed": options.seed, **found}), flush=True)
        print(json.dumps({"part": name, "done": told.done, **dict(told.counts.most_common(40))}), flush=True)
    seconds = round(time.monotonic() - begun)
    return {name: told.done, f"{name}_seconds": seconds, f"{name}_megabytes": max(told.megabytes, default=0)}, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    for name in ("statements", "plans", "tables"):
        parser.add_argument(f"--{name}", type=int, default=100_000)
    parser.add_argument("--definitions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    figures: dict[str, Any] = {"bench": "fuzz.many", "seed": options.seed}
    wrong: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        makes: dict[str, Make] = {
            "plans": partial(of_plans, options.seed),
            "tables": partial(of_tables, options.seed, home),
            "statements": partial(of_statements, options.seed, options.definitions, home),
        }
        for name, make in makes.items():
            if getattr(options, name):
                told, found = part(name, make, options, deadline)
                figures |= told
                wrong += found
    print(json.dumps({**figures, "wrong": dict(wrong)}), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

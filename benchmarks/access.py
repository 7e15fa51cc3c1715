"""What rules of access control cost planning: the same statements with 200 rules and without, by turns in one process.

Two planners as the coordinator's planner processes make them, over one lake with 1,000 more tables: one with
``RULES`` rules of the system and as many of the catalog, of which the last lets the user in, one without. Each pair
of statements has the same new literals, and the order within a pair changes, so that what else the machine does falls
on both. CPU milliseconds; the ratio is that of the sums. Prints JSON lines; the last one is the summary.
``python -m benchmarks.access [rounds]``
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.validate import call_statement, make_lake, make_tables, tpch_queries, with_new_literals, write_rules
from coordinator.connectors.registry import read_catalogs
from coordinator.planner_factory import PlannerFactory
from shared.spi.session import Session

RULES, TABLES, AIM = 200, 1000, 1.05
SESSION = Session(user="bench", catalog="iceberg", schema="tpch")
Planner = Callable[[str, Session], object]


def planner(etc: Path) -> Planner:
    return PlannerFactory(read_catalogs(etc / "catalog"), etc / "none", {}, etc=etc)()


def milliseconds(plan: Planner, text: str) -> float:
    start = time.process_time()
    plan(text, SESSION)
    return (time.process_time() - start) * 1000


def measure(planners: tuple[Planner, Planner], texts: Callable[[], list[str]], rounds: int) -> dict[str, float]:
    """The CPU milliseconds of a statement by planner; the first rounds warm up and are left out."""
    sums, counted = [0.0, 0.0], 0
    for number in range(rounds + 2):
        for text in texts():
            for which in (0, 1) if (number + counted) % 2 else (1, 0):
                taken = milliseconds(planners[which], text)
                sums[which] += taken if number >= 2 else 0.0
            counted += number >= 2
    without, ruled = (total / counted for total in sums)
    return {"without_ms": round(without, 3), "ms": round(ruled, 3), "ratio": round(ruled / without, 3)}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    rng = random.Random(22)
    cases = {
        "tpch": lambda: [with_new_literals(query, rng) for query in tpch_queries()],
        "call": lambda: [call_statement(rng) for _ in range(10)],
    }
    with tempfile.TemporaryDirectory() as directory:
        etc = make_lake(Path(directory))
        make_tables(Path(directory), TABLES)
        without = planner(etc)
        write_rules(etc, RULES)
        found = {name: measure((without, planner(etc)), texts, rounds) for name, texts in cases.items()}
    for name, figures in found.items():
        print(json.dumps({"bench": "access", "case": name, **figures}), flush=True)
    print(json.dumps({"bench": "access", "rules": RULES, "tables": TABLES, "aim": AIM, **found}))


if __name__ == "__main__":
    main()

"""Random expressions over odd values on both engines of one service: the same rows, or an error of both.

``python -m benchmarks.fuzz.engines [--seed 1] [--first 0] [--statements 1000] [--seconds 480]``. What differs is a JSON
line each, made as small as it gets, with the seed and the number that make it again; the last line is the summary. The
exit code is 1 when something differed. Errors of both count as the same, whatever they say. Neither engine is right by
itself: docs/status.md has the differences that are known.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz.both import same
from benchmarks.fuzz.calls import SCALARS
from benchmarks.fuzz.choices import Choices, shrink
from benchmarks.fuzz.client import Answer, StatementClient
from benchmarks.fuzz.comparison import differ
from benchmarks.fuzz.expressions import Column, Scope, expression, odd
from benchmarks.fuzz.tables import TABLES
from coordinator.expressions.programs import VOLATILE
from tests.e2e.service import Service, start_service, write_etc

SCHEMA = "fuzz_engines"
ENGINES = ("EMBEDDED", "SPARK")
_ROWS, _SMALLER = 12, 40
VALUES: dict[str, tuple[str, ...]] = {
    "bigint": ("0", "1", "-1", "9223372036854775807", "-9223372036854775808", "NULL"),
    "integer": ("0", "2", "-7", "2147483647", "-2147483648", "NULL"),
    "double": ("0e0", "-0e0", "nan()", "infinity()", "-infinity()", "2.5e0", "-1e20", "NULL"),
    "decimal(12,2)": ("0", "-0.01", "9999999999.99", "2.50", "NULL"),
    "varchar": ("''", "'a'", "' b '", "'12'", "'Ünï'", "'a,b'", "'{\"a\": null}'", "'2024-02-29'", "NULL"),
    "boolean": ("true", "false", "NULL"),
    "date": ("DATE '1969-12-31'", "DATE '2024-02-29'", "NULL"),
    "timestamp": ("TIMESTAMP '1969-12-31 23:59:59.999'", "TIMESTAMP '2024-02-29 00:00:00'", "NULL"),
    "array(bigint)": ("ARRAY[1, NULL, -1]", "ARRAY[]", "ARRAY[9223372036854775807, 1]", "NULL"),
    "array(varchar)": ("ARRAY['a', NULL, '']", "ARRAY[]", "ARRAY['b', 'a']", "NULL"),
    "map(varchar, bigint)": ("MAP(ARRAY['a', ''], ARRAY[1, NULL])", "MAP()", "NULL"),
    "row(x bigint, y varchar)": ("ROW(1, 'a')", "ROW(NULL, NULL)", "NULL"),
}
_UNSTEADY = re.compile(rf"\b({'|'.join(sorted(VOLATILE))}|now|current_\w+|local\w+|approx_\w+|nth_value|atan2)\b")
"""What differs by itself, or is known to differ: Spark takes no offset by row, and the two zeros for one."""


def make_table(client: StatementClient) -> Scope:
    """A table ``odd`` whose columns take turns through their values, each in steps of its own."""
    columns = [(name, kind) for name, kind in TABLES[0].columns if name != "id"]
    listed = []
    for number in range(_ROWS):
        picked = (VALUES[kind][(number * (at + 1) + at) % len(VALUES[kind])] for at, (_, kind) in enumerate(columns))
        cells = (f"CAST({value} AS {kind})" for value, (_, kind) in zip(picked, columns, strict=True))
        listed.append(f"SELECT BIGINT '{number}', {', '.join(cells)}")
    names = ", ".join(f"{name} {kind}" for name, kind in (("id", "bigint"), *columns))
    for sql in (
        f"CREATE SCHEMA iceberg.{SCHEMA}",
        f"CREATE TABLE odd ({names})",
        f"INSERT INTO odd {' UNION ALL '.join(listed)}",
    ):
        answer = client.ask(sql)
        assert answer.error is None, answer.error
    return Scope(tuple(Column(same(name), kind) for name, kind in (("id", "bigint"), *columns)), shared=False)


def statement(choices: Choices, scope: Scope) -> str:
    """One expression by the row's number."""
    if choices.chance(35):
        return f"SELECT id, {odd(choices, scope).presto} FROM odd"
    return f"SELECT id, {expression(choices, scope, choices.pick(SCALARS), 1 + choices.below(3)).presto} FROM odd"


def outcome(embedded: Answer, spark: Answer) -> str:
    """``same``, ``failed`` on both, or what is wrong."""
    if embedded.internal or spark.internal:
        return "internal"
    if embedded.error is not None or spark.error is not None:
        return "failed" if embedded.error is not None and spark.error is not None else "one_failed"
    return "differ" if differ(embedded.rows, embedded.types, spark.rows, ordered=False) else "same"


class Engines:
    """Asks both engines."""

    def __init__(self, service: Service) -> None:
        self._clients = [StatementClient(service.url, SCHEMA, f"engine={engine}") for engine in ENGINES]
        self.scope = make_table(self._clients[0])

    def ask(self, sql: str) -> tuple[str, list[Answer]]:
        answers = [client.ask(sql) for client in self._clients]
        return outcome(answers[0], answers[1]), answers

    def run(self, seed: int, number: int) -> tuple[str, dict[str, Any] | None]:
        """The outcome, and what to show of one that is wrong."""
        choices = Choices(seed * 1_000_003 + number)
        sql = statement(choices, self.scope)
        if _UNSTEADY.search(sql):
            return "left out", None
        found, _ = self.ask(sql)
        if found in ("same", "failed"):
            return found, None

        def fails(taken: Sequence[int]) -> bool:
            smaller = statement(Choices(played=taken), self.scope)
            return not _UNSTEADY.search(smaller) and self.ask(smaller)[0] == found

        small = statement(Choices(played=shrink(choices.taken, fails, _SMALLER)), self.scope)
        _, answers = self.ask(small)
        shown = {engine: str(a.error or a.rows)[:400] for engine, a in zip(ENGINES, answers, strict=True)}
        return found, {"what": found, "seed": seed, "number": number, "sql": small, **shown}


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 1), ("first", 0), ("statements", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=480)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        service = start_service(write_etc(home / "etc", spark=True), home / "data", home / "log")
        try:
            engines, deadline = Engines(service), time.monotonic() + options.seconds
            for number in range(options.first, options.first + options.statements):
                if time.monotonic() > deadline:
                    break
                found, shown = engines.run(options.seed, number)
                counts[found] += 1
                if shown is not None:
                    print(json.dumps(shown, ensure_ascii=False), flush=True)
        finally:
            service.stop()
    print(json.dumps({"bench": "fuzz.engines", "seed": options.seed, **dict(counts.most_common())}))
    return 1 if counts["differ"] + counts["one_failed"] + counts["internal"] else 0


if __name__ == "__main__":
    sys.exit(main())

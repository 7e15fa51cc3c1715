"""Statements by number: the same seed and number always give the same one. What is wrong is shrunk and printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import duckdb

from benchmarks.fuzz.choices import Choices, shrink
from benchmarks.fuzz.client import Answer
from benchmarks.fuzz.comparison import differ
from benchmarks.fuzz.definitions import Definitions, made_again
from benchmarks.fuzz.queries import Queries
from benchmarks.fuzz.tables import TABLES

SLOW_SECONDS = 20.0
NOT_ANALYZED = frozenset(
    {
        "SYNTAX_ERROR",
        "NOT_FOUND",
        "NOT_SUPPORTED",
        "ALREADY_EXISTS",
        "INVALID_TABLE_PROPERTY",
        "INVALID_SESSION_PROPERTY",
    }
)
"""Errors of a statement whose plan was never made; of the others some arise while it runs."""
REFUSED = "could not be converted"


@dataclass(frozen=True)
class Statement:
    """``duck``: the same for DuckDB, where it means the same."""

    text: str
    duck: str | None
    ordered: bool = False


class Asked(Protocol):
    """A ``StatementClient``, or what answers in this process."""

    def ask(self, sql: str) -> Answer: ...


@dataclass
class Tally:
    """What came of the statements."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


def statement(choices: Choices, schema: str, definitions: int) -> Statement:
    """``definitions``: how many of a hundred are no queries."""
    if choices.chance(definitions):
        return Statement(Definitions(choices, schema).statement(), None)
    query = Queries(choices, TABLES).statement()
    return Statement(query.text.presto, query.text.duck, " ORDER BY 1" in query.text.presto[-60:])


class Statements:
    """Sends them and judges the answers."""

    def __init__(
        self, client: Asked, oracle: duckdb.DuckDBPyConnection, schema: str, counts: Counter[str] | None = None
    ) -> None:
        self._client, self._oracle, self._schema = client, oracle, schema
        self.tally = Tally(Counter() if counts is None else counts)

    def run(self, seed: int, numbers: Sequence[int], definitions: int = 25) -> Iterator[dict[str, object]]:
        """What is wrong, shrunk where that is possible without changing the lake."""
        for number in numbers:
            self._client.ask(made_again(number))
            choices = Choices(seed * 1_000_003 + number)
            made = statement(choices, self._schema, definitions)
            verdict, answer = self._judge(made)
            self._count(verdict, answer)
            if verdict in ("internal", "wrong", "slow"):
                small = self._shrunk(choices, verdict, definitions, answer)
                said = self._judge(small)[1]
                yield {
                    "seed": seed,
                    "number": number,
                    "what": verdict,
                    "statement": small.text,
                    "duck": small.duck,
                    "error": said.error or answer.error,
                    "rows": repr(said.rows[:5]),
                    "whole": made.text,
                }

    def _judge(self, made: Statement) -> tuple[str, Answer]:
        answer = self._client.ask(made.text)
        if answer.internal:
            return "internal", answer
        if answer.seconds > SLOW_SECONDS:
            return "slow", answer
        if answer.error is not None:
            return "user_errors", answer
        if made.duck is None:
            return "answered", answer
        try:
            expected = self._oracle.execute(made.duck).fetchall()
        except duckdb.Error:
            return "answered", answer
        wrong = differ(answer.rows, answer.types, expected, ordered=made.ordered)
        return ("wrong" if wrong else "compared"), answer

    def _count(self, verdict: str, answer: Answer) -> None:
        self.tally.counts[verdict] += 1
        self.tally.slowest = max(self.tally.slowest, answer.seconds)
        if answer.error is not None:
            self.tally.errors[answer.error[0]] += 1
            self.tally.counts["not_analyzed"] += answer.error[0] in NOT_ANALYZED
        if any(REFUSED in warning for warning in answer.warnings):
            self.tally.counts["not_native"] += 1
        if answer.status >= 500:
            self.tally.counts["http_5xx"] += 1

    def _shrunk(self, choices: Choices, verdict: str, definitions: int, answer: Answer) -> Statement:
        def fails(played: Sequence[int]) -> bool:
            found, said = self._judge(statement(Choices(played=played), self._schema, definitions))
            return found == verdict and (verdict != "internal" or _alike(said, answer))

        return statement(Choices(played=shrink(choices.taken, fails)), self._schema, definitions)


def _alike(one: Answer, other: Answer) -> bool:
    """The same fault, as far as the beginning of the text tells."""
    if one.error is None or other.error is None:
        return one.status == other.status
    return one.error[0] == other.error[0] and one.error[2][:25] == other.error[2][:25]


def line(found: dict[str, object]) -> str:
    return json.dumps({key: value for key, value in found.items() if value is not None}, ensure_ascii=False)

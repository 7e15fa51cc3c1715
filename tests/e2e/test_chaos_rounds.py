"""The rounds of ``benchmarks/chaos``: every operation meets every harm, and what reads is judged by its rows."""

from __future__ import annotations

from benchmarks.chaos.harm import Harm
from benchmarks.chaos.ledger import Ledger
from benchmarks.chaos.rounds import OPERATIONS, rounds
from benchmarks.chaos.steps import STEPS
from benchmarks.chaos.tables import FILES, misread, part

STRUCK = ("coordinator", "spark", "python worker", "planner", "sidecar", "converter", "embedded worker")


def test_every_operation_meets_every_harm() -> None:
    drawn = rounds(1, 2_000)
    harms = {this.harm for this in drawn}
    assert {(this.operation, this.harm) for this in drawn} == {(name, harm) for name in OPERATIONS for harm in harms}
    assert {(harm.how, harm.whom) for harm in harms} >= {(how, whom) for how in ("kill", "stop") for whom in STRUCK}
    assert {harm.how for harm in harms} == {"kill", "stop", "database", "storage", "disk", "slow", "failing"}
    met = {(this.operation, this.step) for this in drawn if this.step}
    assert met == {(name, step) for name, steps in STEPS.items() for step in steps}
    assert STEPS.keys() == OPERATIONS.keys()
    assert Harm("database", seconds=10) in harms


def test_rows_with_another_text_are_counted() -> None:
    rows = [row for first in (0, 10) for row in part(first, 10).to_pylist()]
    appended = part(5_000_010, 10).to_pylist()
    read = [(row["id"], row["text"]) for row in (*rows, *appended)]
    assert misread(read, 10) == 0
    assert misread([*read[1:], (0, "another"), (FILES * 10, "of nobody")], 10) == 2


def test_rows_that_a_failed_delete_was_to_remove_are_there_together_or_not_at_all() -> None:
    ledger = Ledger()
    ledger.promise(range(10))
    ledger.remove(5)
    ledger.drop({0, 5}, sure=False)
    assert (ledger.promised, ledger.unknown) == ({1, 2, 3, 4, 6, 7, 8, 9}, [frozenset({0})])

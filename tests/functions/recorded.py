"""Answers of a real Presto 0.296 to the expressions of its own function tests, and ours to the same statements.

``tests/data/presto_functions_recorded.jsonl.gz``: a statement a line, with ``columns`` and ``data`` or ``error`` (name,
message, location), as the protocol gave them to a client in the zone UTC. The expressions are the string constants of
the test classes of presto-main 0.296. Left out: functions that only Presto's tests register, what no two runs answer
alike, and constants that are no expression. ``presto_functions_exceptions.json`` names, by reason, what we answer
otherwise.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.dispatch.encode import encode_rows
from coordinator.engine.local import LocalEngine
from coordinator.planning.plan_statement import plan_statement
from coordinator.values.arrow_types import rows_to_batch
from coordinator.vocabulary.planned_statement import ReturnRows, RunLocally
from shared.errors import ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session
from tests.execution import FakeExecution

_DATA = Path(__file__).parents[1] / "data"
Answer = dict[str, Any]


def recorded() -> list[Answer]:
    """Every recorded statement with Presto's answer."""
    with gzip.open(_DATA / "presto_functions_recorded.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def exceptions() -> dict[str, str]:
    """The statements that we answer otherwise, each with its reason."""
    reasons = json.loads((_DATA / "presto_functions_exceptions.json").read_text(encoding="utf-8"))
    return {sql: reason for reason, statements in reasons.items() for sql in statements}


def answer(sql: str, engine: LocalEngine, checkers: PlanCheckers) -> Answer:
    """Ours, in the recorded form."""
    session = Session(user="test", time_zone="UTC")
    try:
        planned = plan_statement(sql, session, Catalogs([]), checkers)
        kinds = tuple(parse_type(column.type) for column in planned.columns)
        match planned.work:
            case ReturnRows():
                batches = iter([rows_to_batch(planned.columns, planned.work.rows)])
            case RunLocally():
                batches = engine.run(planned.work.sql, FakeExecution())
            case other:
                raise AssertionError(f"not answered here: {other}")
        rows = [row for batch in batches for row in json.loads(b"[" + encode_rows(batch, kinds, False) + b"]")]
    except ProcessionError as error:
        place = None if error.location is None else [error.location.line, error.location.column]
        return {"error": [error.code.name, error.wire_message, place]}
    return {"columns": [[column.name, column.type] for column in planned.columns], "data": rows}


def alike(ours: Answer, theirs: Answer) -> bool:
    """Equal: errors by name, message and place; doubles to nine digits; rows in any order where none is asked for."""
    if "error" in ours or "error" in theirs:
        return ours.get("error") == theirs.get("error")
    if ours["columns"] != theirs["columns"] or len(ours["data"]) != len(theirs["data"]):
        return False
    return alike_cells(ours["data"], theirs["data"]) or alike_cells(
        *(sorted(a["data"], key=repr) for a in (ours, theirs))
    )


def alike_cells(a: Any, b: Any) -> bool:
    """Equal, doubles to nine digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike_cells, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike_cells(v, b[k]) for k, v in a.items())
    if isinstance(a, float) or isinstance(b, float):
        numbers = isinstance(a, float | int) and isinstance(b, float | int)
        return numbers and math.isclose(a, b, rel_tol=1e-9)
    return type(a) is type(b) and bool(a == b)

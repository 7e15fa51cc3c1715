"""Columns and errors of statements as a real Presto server answered them."""

from __future__ import annotations

from typing import Any

from coordinator.planner.query import plan_query
from coordinator.sql.parser import parse_query
from shared.errors import ProcessionError

# Found at run time, by the session, or by ANTLR's grammar, whose lists of expected tokens are not ours.
ELSEWHERE = (
    "/ by zero", "Cannot cast 'x'", "Out of range", "end pattern", "Unknown session", "Unknown transaction",
    "mismatched input", "Unsupported type integer",
)  # fmt: skip


def test_columns_and_errors_are_prestos(recorded: list[dict[str, Any]], catalogs: Any, tpch_session: Any) -> None:
    checked = 0
    for entry in recorded:
        text, error = entry["sql"], entry["error"]
        if error is not None and any(p in error["message"] for p in ELSEWHERE):
            continue
        try:
            plan = plan_query(parse_query(text), tpch_session, catalogs)
        except ProcessionError as refused:
            assert error is not None, f"{text}: {refused.wire_message}"
            assert (refused.code.name, refused.wire_message) == (error["errorName"], error["message"]), text
        else:
            assert error is None, f"{text}: expected {error}"
            assert [[c.name, c.type] for c in plan.columns] == entry["columns"], text
        checked += 1
    assert checked >= 25

"""Typed expressions: resolution, coercions as casts, forms, Presto's located errors, no silently dropped syntax."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coordinator.analyzer.expressions import analyze_predicate
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, RowExpression, type_of
from shared.plan.nodes import TableHandle
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.session import Session

COLUMNS = {
    "k": "bigint", "n": "integer", "s": "varchar(25)", "d": "date", "p": "decimal(12,2)", "b": "boolean",
    "a": "array(integer)", "r": 'row(x bigint,"Y z" double)',
}  # fmt: skip
TABLE = TableMetadata(
    "iceberg",
    "db",
    "t",
    tuple(ColumnMetadata(n, t, {}) for n, t in COLUMNS.items()),
    TableHandle(connectorId="iceberg", connectorHandle={}),
)


def analyze(text: str) -> RowExpression:
    return analyze_predicate(text, TABLE, Session(user="test"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope = 1", "line 1:1: Column 'nope' cannot be resolved"),
        ("n = 'a'", "line 1:3: '=' cannot be applied to integer, varchar(1)"),
        ("k\n  + 'a' > 1", "line 2:3: '+' cannot be applied to bigint, varchar(1)"),
        ("n", "line 1:1: WHERE clause must evaluate to a boolean: actual type integer"),
        ("nope(k) = 1", "line 1:1: Function nope not registered"),
        ("cast(a AS bigint) = 1", "line 1:1: Cannot cast array(integer) to bigint"),
        ("k == 1", "line 1:4: mismatched input '='. Expecting: 'ALL', 'ANY', 'SOME', <expression>"),
        ("k::int = 1", "line 1:1: identifiers must not contain ':'"),
    ],
)
def test_error(text: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        analyze(text)
    assert (caught.value.code, caught.value.wire_message) == (ErrorCode.SYNTAX_ERROR, message)


def test_unexpected_parameters_name_the_signatures() -> None:
    with pytest.raises(
        ProcessionError, match=r"Unexpected parameters \(varchar\(1\)\) for function abs. Expected: abs"
    ):
        analyze("abs('a') = 1")


@pytest.mark.parametrize("text", ["k = 1", "K = 1", "t.k = 1", "db.t.k = 1", "iceberg.db.t.k = 1", '"K" = 1'])
def test_names_resolve_without_case_and_qualified(text: str) -> None:
    assert analyze(text) == analyze("k = 1")


def test_coercions_are_casts_and_constants_are_cast_at_once() -> None:
    both = analyze("k > n")
    assert isinstance(both, Call)
    assert [type_of(a) for a in both.arguments] == ["bigint", "bigint"]
    assert isinstance(both.arguments[1], Call) and both.arguments[1].displayName == "CAST"
    divided = analyze("p / 3 > 1")
    assert isinstance(divided, Call) and type_of(divided.arguments[0]) == "decimal(12,2)"


def _handles(node: Any, found: set[str]) -> set[str]:
    if isinstance(node, dict):
        if node.get("@type") == "call" and node["functionHandle"].get("@type") == "$static":
            found.add(json.dumps([node["displayName"], node["functionHandle"]], sort_keys=True))
        for value in node.values():
            _handles(value, found)
    elif isinstance(node, list):
        for value in node:
            _handles(value, found)
    return found


def test_function_handles_are_those_of_a_real_coordinator() -> None:
    file = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"
    captured: set[str] = set()
    with gzip.open(file, "rt") as lines:
        for line in lines:
            body = json.loads(line)["body"]
            _handles(json.loads(body) if isinstance(body, str) else body, captured)
    table = TableMetadata(
        "c", "s", "t",
        tuple(ColumnMetadata(n, t, {}) for n, t in {
            "name": "varchar(25)", "x": "double", "k": "bigint", "day": "date", "ok": "boolean"}.items()),
        TableHandle(connectorId="c", connectorHandle={}),
    )  # fmt: skip
    for text in (
        "k = 1", "k + 1 > k * k", "x < 2e0", "x BETWEEN 1e0 AND 2e0", "day <= DATE '2020-01-01'", "year(day) = 1",
        "NOT ok", "lower(name) = name", "replace(name, 'A', 'b') IS NULL", "strpos(name, 'A') = 1",
        "date_add('day', 1, day) IS NULL", "reverse(name) IS NULL",
    ):  # fmt: skip
        expression = json.loads(msgspec.json.encode(analyze_predicate(text, table, Session(user="test"))))
        assert _handles(expression, set()) <= captured, text


def test_too_deep_is_refused_clearly() -> None:
    with pytest.raises(ProcessionError, match="statement is too large"):
        analyze("(" * 500 + "k" + ")" * 500 + " = 1")


def test_long_flat_conditions_work() -> None:
    assert type_of(analyze(" OR ".join(f"k = {i}" for i in range(2000)))) == "boolean"

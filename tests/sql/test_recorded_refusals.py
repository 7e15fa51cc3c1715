"""Texts that Presto's grammar does not take, against the errors of Presto 0.296's own parser.

``tests/data/presto_refusals_recorded.jsonl.gz`` has a text a line with the error of ``SqlParser`` (presto-parser
0.296): statements of Presto's tests and one of each kind of statement, cut off anywhere, or with a word too many, too
few or another. ``presto_refusals_exceptions.json`` names by reason those that we take or tell otherwise.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from coordinator.sql.expected.explain import MOST_TOKENS, explain
from coordinator.sql.lexer import Tokens
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.parser import parse_expression
from shared.errors import ProcessionError

_DATA = Path(__file__).parents[1] / "data"
_EACH = 1 if os.environ.get("PROCESSION_TEST_FULL") == "1" else 5


def _recorded() -> list[tuple[str, str]]:
    with gzip.open(_DATA / "presto_refusals_recorded.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [(made["sql"], made["error"]) for made in map(json.loads, lines)]


def _excepted() -> set[str]:
    reasons = json.loads((_DATA / "presto_refusals_exceptions.json").read_text(encoding="utf-8"))
    return {sql for listed in reasons.values() for sql in listed}


def _refusal(sql: str) -> str:
    try:
        parse_statement(sql)
    except ProcessionError as error:
        return error.wire_message
    return "accepted"


def test_refusals_are_those_of_a_real_presto() -> None:
    skipped = _excepted()
    wrong = []
    for sql, theirs in _recorded()[::_EACH]:
        if sql not in skipped and (ours := _refusal(sql)) != theirs:
            wrong.append(f"{sql}\n  ours   {ours}\n  Presto {theirs}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)


def test_every_exception_differs() -> None:
    recorded = dict(_recorded())
    assert [sql for sql in _excepted() if _refusal(sql) == recorded[sql]] == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE", "'FUNCTION', 'MATERIALIZED', 'OR', 'ROLE', 'SCHEMA', 'TABLE', 'TEMPORARY', 'TYPE', 'VIEW'"),
        ("ALTER TABLE a RENAME COLUMN b", "'TO'"),
        ("SELECT rank() OVER (PARTITION BY a ORDER", "'BY'"),
        ("SELECT (1, 2", "')', ','"),
    ],
)
def test_unfinished_statements(sql: str, expected: str) -> None:
    """As the same parser said for each."""
    assert _refusal(sql) == f"line 1:{len(sql) + 1}: mismatched input '<EOF>'. Expecting: {expected}"


@pytest.mark.parametrize(
    "sql",
    ["ALTER TABLE t EXECUTE optimize(a => 1) WHER", "CREATE CATALOG c USIN", "DROP CATALOG c RESTRICT x"],
)
def test_what_only_we_understand_is_told_in_our_words(sql: str) -> None:
    theirs = explain(Tokens(sql))
    assert theirs is not None
    assert f"'{sql.split()[-1]}'. Expecting: " in _refusal(sql)
    assert "'FUNCTION'" in theirs.expected
    assert "'FUNCTION'" not in _refusal(sql)


def test_an_expression_of_its_own_ends_where_the_text_does() -> None:
    with pytest.raises(ProcessionError) as refused:
        parse_expression("a = 1 AND")
    assert refused.value.wire_message == "line 1:10: mismatched input '<EOF>'. Expecting: <expression>"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 90 + "1" + ")" * 89,
        "SELECT " + "(((a, b), " * 25 + "1 FROM",
        "SELECT 1 FROM t WHERE a IN (" + "1, " * (MOST_TOKENS // 2) + ")",
        "SELECT " + "a+" * 900 + ", 1",
    ],
    ids=("parentheses", "rows", "list", "sum"),
)
def test_a_refusal_costs_bounded_time(sql: str) -> None:
    """Reading stops after a number of steps: the error is then our parser's own."""
    assert _refusal(sql).startswith("line 1:")

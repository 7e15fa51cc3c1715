"""The trees that texts become, each node with its place: Presto's AstBuilder is the model.

``trees.txt`` holds, text by text, what was read by hand against it; ``BLESS=1`` writes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coordinator.sql.formatter import format_query
from coordinator.sql.lexer import MAX_NESTING
from coordinator.sql.parser import parse_expression, parse_query
from coordinator.sql.tree.expressions import ArithmeticBinaryExpression, LogicalExpression
from coordinator.sql.tree.node import Node, walk
from coordinator.sql.tree.queries import Join, QuerySpecification, SetOperation
from shared.errors import ErrorCode, ProcessionError
from tests.sql.tree_text import tree_text

_GOLDEN = Path(__file__).parent / "trees.txt"
_QUERY = ("SELECT", "WITH", "(SELECT", "((SELECT")


def parse(text: str) -> Node:
    return parse_query(text) if text.startswith(_QUERY) else parse_expression(text)


def golden() -> dict[str, str]:
    blocks = _GOLDEN.read_text(encoding="utf-8").strip().split("\n\n")
    parts = (block.split("\n=>\n") for block in blocks)
    return {part[0]: part[1] for part in parts}


def test_trees() -> None:
    found = {text: tree_text(parse(text)) for text in golden()}
    if os.environ.get("BLESS") == "1":
        _GOLDEN.write_text("\n\n".join(f"{text}\n=>\n{tree}" for text, tree in found.items()) + "\n", encoding="utf-8")
    wrong = [f"{text}\n{found[text]}" for text, tree in golden().items() if found[text] != tree]
    assert not wrong, "\n\n".join(wrong)


def test_nodes_compare_by_what_they_say() -> None:
    assert parse_expression("a + 1") == parse_expression("  a\n+ 1")
    assert parse_expression("a + 1") != parse_expression("a + 2")
    assert parse_expression('"a"') != parse_expression("a")


@pytest.mark.parametrize("separator", [" + ", " || ", " AND ", " OR "])
def test_long_chains_of_operators_do_not_nest_python(separator: str) -> None:
    tree = parse_expression(separator.join(["a"] * 5_000))
    nodes = sum(isinstance(node, ArithmeticBinaryExpression | LogicalExpression) for node in walk(tree))
    assert nodes in (0, 1, 4_999)


def test_long_chains_of_relations_do_not_nest_python() -> None:
    unions = parse_query(" UNION ALL ".join(["SELECT 1"] * 3_000))
    assert sum(isinstance(node, SetOperation) for node in walk(unions)) == 2_999
    joins = parse_query("SELECT 1 FROM " + ", ".join(["t"] * 1_500) + " CROSS JOIN t" * 1_500)
    assert sum(isinstance(node, Join) for node in walk(joins)) == 2_999
    assert format_query(unions).count("UNION ALL") == 2_999


@pytest.mark.parametrize(
    ("before", "after"),
    [("(", ")"), ("(SELECT ", ")"), ("f(", ")"), ("CASE WHEN a THEN ", " END"), ("- ", ""), ("NOT ", "")],
)
def test_what_nests_deeply_is_read_or_refused(before: str, after: str) -> None:
    parse_expression(before * 40 + "1" + after * 40)
    with pytest.raises(ProcessionError) as refused:
        parse_expression(before * (MAX_NESTING + 1) + "1" + after * (MAX_NESTING + 1))
    assert refused.value.code is ErrorCode.SYNTAX_ERROR
    assert refused.value.message == "statement is too large (stack overflow while parsing)"


def test_parameters_are_numbered_in_the_order_of_the_text() -> None:
    query = parse_query("WITH a AS (SELECT ? FROM t LIMIT ?) SELECT ? FROM a WHERE x = ? OFFSET ? LIMIT ?")
    found = [(n.location.column, n.position) for n in walk(query) if type(n).__name__ == "Parameter"]
    assert [position for _, position in sorted(found)] == list(range(6))


def test_a_block_keeps_what_orders_it() -> None:
    block = parse_query("SELECT a FROM t ORDER BY a LIMIT 1").body
    assert isinstance(block, QuerySpecification)
    assert block.order_by is not None and block.limit is not None

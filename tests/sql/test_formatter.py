"""Expressions as Presto's messages show them."""

from __future__ import annotations

import pytest

from coordinator.sql.formatter import format_expression
from coordinator.sql.parser import parse_expression


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a+b*2-c", "((a + (b * 2)) - c)"),
        ('SUM(DISTINCT "X" ORDER BY y DESC, z NULLS FIRST) FILTER (WHERE b)',
         '"sum"(DISTINCT "X" ORDER BY y DESC, z ASC NULLS FIRST) FILTER (WHERE b)'),
        ("count(*)", '"count"(*)'),
        ("rank() OVER (PARTITION BY t.a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
         '"rank"() OVER (PARTITION BY t.a ORDER BY b ASC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)'),
        ("lag(x) IGNORE NULLS OVER w", '"lag"(x) IGNORE NULLS OVER (w)'),
        ("a AND b AND NOT c OR d", "(((a AND b) AND (NOT c)) OR d)"),
        ("a NOT IN (1, 2)", "(NOT (a IN (1, 2)))"),
        ("x LIKE 'it''s' ESCAPE '#'", "(x LIKE 'it''s' ESCAPE '#')"),
        ("a IS NOT DISTINCT FROM b", "(NOT (a IS DISTINCT FROM b))"),
        ("a BETWEEN 1.5 AND 2e0", "(a BETWEEN DECIMAL '1.5' AND 2E0)"),
        ("coalesce(a, if(b, null, true))", "COALESCE(a, IF(b, null, true))"),
        ("CASE a WHEN 1 THEN 'x' ELSE 'y' END", "(CASE a WHEN 1 THEN 'x' ELSE 'y' END)"),
        ("transform(ARRAY[1, 2], x -> x || 'a')", '"transform"(ARRAY[1,2], (x) -> "concat"(x, \'a\'))'),
        ("INTERVAL '1' DAY", "INTERVAL  '1' DAY"),
        ("- -1", "- -1"),
        ("cast(row(1, r[2]) AS row(x bigint, y bigint))", "CAST(ROW (1, r[2]) AS row(x bigint, y bigint))"),
        ("a = ALL (SELECT 1)", "(a = ALL (SELECT 1\n\n))"),
    ],
)  # fmt: skip
def test_shown(text: str, shown: str) -> None:
    assert format_expression(parse_expression(text)) == shown


def test_a_long_chain() -> None:
    shown = format_expression(parse_expression(" + ".join(["a"] * 5000)))
    assert shown.startswith("((((") and shown.endswith("+ a) + a)")

"""Calls within calls whose templates name a value several times: the text of twelve of them stays a text."""

from __future__ import annotations

import pytest

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.sql.parser import parse_expression
from coordinator.unparser.expressions import expression
from coordinator.unparser.functions import SCALARS, apply
from coordinator.unparser.trees import DIALECTS, name
from shared.plan.expressions import Variable
from shared.spi.session import Session

COLUMNS = {
    "d": "double", "t": "varchar", "a": "array(double)", "p": "decimal(12,2)", "q": "decimal(38,4)", "i": "bigint",
    "b": "boolean", "w": "timestamp", "m": "map(bigint, bigint)", "r": "row(x double, y double)", "f": "real",
}  # fmt: skip
REPEATING = {
    "is_nan": ("b", "is_nan(IF({}, 1e0, d))"),
    "is_finite": ("b", "is_finite(IF({}, 1e0, d))"),
    **{f: ("d", f"{f}({{}})") for f in ("truncate", "ln", "log2", "log10", "floor", "ceil", "round", "abs")},
    **{f: ("t", f"{f}({{}})") for f in ("lower", "upper")},
    **{f: ("d", f"{f}({{}}, i, 2e0)") for f in ("greatest", "least")},
    **{f: ("d", f"{f}(ARRAY[{{}}, d])") for f in ("array_max", "array_min")},
    "substr": ("t", "substr({}, i, i)"),
    "substr from": ("t", "substr({}, i)"),
    "substr to": ("t", "substr({}, 2, length({}))"),
    "round to": ("d", "round({}, 2)"),
    "of a real": ("f", "floor({})"),
    "of a decimal": ("q", "abs({})"),
    "negated": ("q", "-({})"),
    "quotient": ("d", "{} / d"),
    "divisor": ("d", "d / ({})"),
    "remainder": ("d", "d % ({})"),
    "decimal quotient": ("p", "CAST({} / p AS decimal(12,2))"),
    "decimal divisor": ("p", "CAST(p / {} AS decimal(12,2))"),
    "wide divisor": ("q", "q / ({})"),
    "integer divisor": ("i", "i / ({})"),
    "forgiven divisor": ("i", "TRY(i / {})"),
    "element": ("i", "ARRAY[1, i, 3][{}]"),
    "entry": ("i", "m[{}]"),
    "operand": ("i", "CASE {} WHEN 1 THEN 2 WHEN 2 THEN i ELSE 5 END"),
    "operand of another type": ("i", "CASE {} WHEN 1 THEN 2 WHEN 2e0 THEN i ELSE 5 END"),
    "nullif": ("i", "nullif({}, i)"),
    "branches": ("i", "IF(floor({} / d) > 1, i, 5)"),
    "coalesced": ("d", "coalesce(floor({}), d)"),
    "terms": ("b", "(i / i > 1 OR (d / d > 1e0 AND i / 2 > 7) OR {}) AND i % i < 5"),
    "number of a text": ("t", "CAST(CAST({} AS double) AS varchar)"),
    "decimal of a text": ("t", "CAST(CAST({} AS decimal(12,2)) AS varchar)"),
    "moment of a text": ("t", "CAST(CAST({} AS timestamp) AS varchar)"),
    "short text": ("i", "CAST(CAST({} AS varchar(3)) AS bigint)"),
    "decimal of a double": ("d", "CAST(CAST({} AS decimal(12,2)) AS double)"),
    "fields": ("r", "CAST({} AS row(u double, v double))"),
    "in a lambda": ("a", "transform(a, e -> floor(array_max({})))"),
    "of an element": ("d", "reduce(a, 0e0, (s, e) -> floor(e + {}), s -> s)"),
    "tried": ("d", "TRY(d / {})"),
    "pattern": ("b", "IF({}, t, 'x') LIKE '%a%b%'"),
    "group": ("t", "regexp_extract({}, '[a-z]+')"),
    "part": ("t", "split_part({}, ',', 1)"),
    "months": ("i", "date_diff('month', date_add('day', {}, w), w)"),
    "json": ("t", "json_extract_scalar({}, '$.a')"),
    "not distinct": ("b", "({}) IS DISTINCT FROM b"),
    "between": ("b", "({}) BETWEEN b AND true"),
}
DEEP, LONGEST = 12, 250_000


def unparsed(sql: str, dialect: str) -> str:
    scope = Scope(tuple(ScopeField(n, Variable(name=n, type=kind)) for n, kind in COLUMNS.items()))
    node = analyze_expression(parse_expression(sql), Context(Session(user="x"), scope))
    return expression(node, dialect).sql(dialect=dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", REPEATING)
def test_nested(case: str, dialect: str) -> None:
    innermost, pattern = REPEATING[case]
    sql = innermost
    for _ in range(DEEP if pattern.count("{}") == 1 else 4):
        sql = pattern.replace("{}", sql)
    assert len(unparsed(sql, dialect)) < LONGEST


def test_each_repeating_template_is_nested_here() -> None:
    """Templates of Spark's that name an argument twice are among the cases."""
    for function, template in SCALARS["spark"].items():
        for count in (1, 2, 3):
            try:
                made = apply(template, [name(f"procession_{i}") for i in range(count)]).sql(dialect="spark")
            except (TypeError, ValueError):
                continue
            if any(made.count(f"procession_{i}") > 1 for i in range(count)):
                assert function in REPEATING, function

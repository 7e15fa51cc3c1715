"""RowExpressions as Velox expressions: names, special forms, constants of every type, patterns, lambdas."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from ipaddress import ip_address, ip_network
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

Convert = Callable[..., str]


@pytest.fixture
def shown(plans: SimpleNamespace, convert: Convert) -> Callable[..., str]:
    """An expression over a table of many columns, as Velox prints it, checked by Velox's compiler."""
    columns = [
        plans.var("a"),
        plans.var("b", "varchar"),
        plans.var("c", "double"),
        plans.var("p", "boolean"),
        plans.var("arr", "array(bigint)"),
        plans.var("mp", "map(varchar,bigint)"),
        plans.var("r", "row(x bigint,y varchar)"),
    ]

    def run(e: dict[str, Any], *, check: bool = True) -> str:
        root = plans.project(plans.scan(*columns), x=e)
        line = convert(plans.fragment(root), check=check).splitlines()[1]
        return line.split("[expressions: (x:", 1)[1].rsplit(")] -> x:", 1)[0].split(", ", 1)[-1]

    return run


OPERATORS = {
    "add": "plus",
    "subtract": "minus",
    "multiply": "multiply",
    "divide": "divide",
    "modulus": "mod",
    "equal": "eq",
    "not_equal": "neq",
    "less_than": "lt",
    "less_than_or_equal": "lte",
    "greater_than": "gt",
    "greater_than_or_equal": "gte",
    "is_distinct_from": "distinct_from",
}


@pytest.mark.parametrize(("presto", "native"), OPERATORS.items())
def test_operators(plans: SimpleNamespace, shown: Callable[..., str], presto: str, native: str) -> None:
    returns = "bigint" if presto in ("add", "subtract", "multiply", "divide", "modulus") else "boolean"
    assert shown(plans.op(presto, returns, plans.var("a"), plans.const(2))) == f'{native}("a",2)'


def test_more_operators(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    a, arr = plans.var("a"), plans.var("arr", "array(bigint)")
    assert shown(plans.op("negation", "bigint", a)) == 'negate("a")'
    assert shown(plans.op("between", "boolean", a, plans.const(1), plans.const(2))) == 'between("a",1,2)'
    assert shown(plans.op("subscript", "bigint", arr, plans.const(1))) == 'subscript("arr",1)'
    assert shown(plans.op("hash_code", "bigint", plans.var("c", "double"))).startswith("xxhash64_internal(cast")
    assert shown(plans.call("combine_hash", "bigint", a, a)) == 'combine_hash_internal("a","a")'


def test_casts(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    a, b = plans.var("a"), plans.var("b", "varchar")
    assert shown(plans.op("cast", "varchar(5)", a)) == 'cast "a" as VARCHAR'
    assert shown(plans.call("TRY_CAST", "double", b)) == 'try_cast "b" as DOUBLE'
    assert shown(plans.call("date", "date", b)) == 'cast "b" as DATE'
    assert shown(plans.call("$internal$json_string_to_array_cast", "array(bigint)", b)) == (
        'cast json_parse("b") as ARRAY<BIGINT>'
    )


def test_patterns_lose_their_java_types(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    b, text = plans.var("b", "varchar"), plans.const("x%", "varchar(2)")
    pattern = plans.op("cast", "LikePattern", text)
    assert shown(plans.call("like", "boolean", b, pattern)) == 'like("b","x%")'
    escaped = plans.call("like_pattern", "LikePattern", text, plans.const("!", "varchar(1)"))
    assert shown(plans.call("like", "boolean", b, escaped)) == 'like("b","x%","!")'
    assert shown(plans.call("regexp_like", "boolean", b, plans.op("cast", "Re2JRegExp", text))) == (
        'regexp_like("b","x%")'
    )
    path = plans.op("cast", "JsonPath", plans.const("$.a", "varchar(3)"))
    assert shown(plans.call("json_extract_scalar", "varchar", b, path)) == 'json_extract_scalar("b","$.a")'


def test_logic_is_flat(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    p = plans.var("p", "boolean")
    nested = p
    for _ in range(120):
        nested = plans.special("AND", "boolean", nested, p)
    terms = ",".join(['"p"'] * 121)
    assert shown(nested) == f"and({terms})"
    assert shown(plans.special("OR", "boolean", p, plans.special("AND", "boolean", p, p))) == 'or("p",and("p","p"))'


def test_special_forms(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    a, p, r = plans.var("a"), plans.var("p", "boolean"), plans.var("r", "row(x bigint,y varchar)")
    one, two = plans.const(1), plans.const(2)
    assert shown(plans.special("IF", "bigint", p, a, one)) == 'if("p","a",1)'
    assert shown(plans.special("COALESCE", "bigint", a, one)) == 'coalesce("a",1)'
    assert shown(plans.special("IS_NULL", "boolean", a)) == 'is_null("a")'
    assert shown(plans.special("IN", "boolean", a, one, two)) == 'in("a",1,2)'
    assert shown(plans.special("DEREFERENCE", "varchar", r, plans.const(1, "integer"))) == '"r"[y]'
    assert "row_constructor" in shown(plans.special("ROW_CONSTRUCTOR", "row(bigint,boolean)", a, p))


def test_switch(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    a, p = plans.var("a"), plans.var("p", "boolean")

    def when(condition: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        return plans.special("WHEN", "bigint", condition, result)  # type: ignore[no-any-return]

    searched = plans.special("SWITCH", "bigint", plans.const(True, "boolean"), when(p, a), plans.const(0))
    assert shown(searched) == 'switch("p","a",0)'
    simple = plans.special("SWITCH", "bigint", a, when(plans.const(1), plans.const(10)), plans.const(0))
    assert shown(simple) == 'switch(eq("a",1),10,0)'
    other = plans.special("SWITCH", "bigint", a, when(plans.const(1, "integer"), plans.const(10)))
    assert shown(other) == 'switch(eq("a",cast 1 as BIGINT),10)'


def test_lambdas(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    arr, a, x = plans.var("arr", "array(bigint)"), plans.var("a"), plans.var("x")
    bigger = plans.lam({"x": "bigint"}, plans.op("greater_than", "boolean", x, a))
    assert shown(plans.call("filter", "array(bigint)", arr, bigger)) == (
        'filter("arr",lambda ROW<x:BIGINT> -> gt("x","a"))'
    )
    captured = plans.lam({"outer": "bigint", "x": "bigint"}, plans.op("add", "bigint", x, plans.var("outer")))
    bound = plans.special("BIND", "function(bigint,bigint)", a, captured)
    assert shown(plans.call("transform", "array(bigint)", arr, bound)) == (
        'transform("arr",lambda ROW<x:BIGINT> -> plus("x","a"))'
    )
    tried = plans.call("$internal$try", "bigint", plans.lam({}, plans.op("divide", "bigint", a, a)))
    assert shown(tried) == 'try(divide("a","a"))'


CONSTANTS: list[tuple[Any, str, str]] = [
    (127, "tinyint", "127"),
    (-32768, "smallint", "-32768"),
    (5, "integer", "5"),
    (1.5, "real", "1.5"),
    (0.1, "double", "0.1"),
    (float("-inf"), "double", "-Infinity"),
    ("a b", "varchar(3)", '"a b"'),
    (True, "boolean", "true"),
    (None, "bigint", "null"),
    (None, "array(bigint)", "null"),
    (date(2020, 2, 29), "date", "2020-02-29"),
    (datetime(1969, 12, 31, 23, 59, 59, 500000), "timestamp", "1969-12-31"),
    (datetime(2020, 1, 1, tzinfo=UTC), "timestamp with time zone", "6"),
    (Decimal("1.25"), "decimal(10,2)", "1.25"),
    (Decimal("1.5"), "decimal(38,3)", "1.500"),
    (Decimal("-12345678901234567890123456789.5"), "decimal(38,1)", 'cast "-12345678901234567890123456789.5"'),
    (timedelta(days=2), "interval day to second", "172800000"),
    (14, "interval year to month", "14"),
    ("[1, 2]", "json", '"[1, 2]"'),
    (UUID("12151fd2-7586-11e9-8f9e-2a86e4085a59"), "uuid", 'cast "12151fd2-7586-11e9-8f9e-2a86e4085a59" as UUID'),
    (ip_address("10.0.0.1"), "ipaddress", 'cast "10.0.0.1" as IPADDRESS'),
    (ip_network("10.0.0.0/8"), "ipprefix", 'cast "10.0.0.0/8" as IPPREFIX'),
    ((1, None), "array(bigint)", "1"),
    ((date(2020, 1, 1),), "array(date)", ""),
    ({"k": 1}, "map(varchar,bigint)", ""),
    ((1, "q"), "row(x bigint,y varchar)", ""),
    ((), "array(varchar)", ""),
    ((UUID(int=1),), "array(uuid)", "array_constructor(cast"),
    (((1, (None,)),), "array(row(a bigint,b array(double)))", ""),
]


@pytest.mark.parametrize(("value", "type_text", "text"), CONSTANTS)
def test_constants(plans: SimpleNamespace, shown: Callable[..., str], value: Any, type_text: str, text: str) -> None:
    assert text in shown(plans.const(value, type_text))


def test_nested_constants_as_arguments(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    contains = plans.call("contains", "boolean", plans.const((1, 2), "array(bigint)"), plans.var("a"))
    assert shown(contains).startswith("contains(")
    wrong = plans.call("cardinality", "bigint", plans.const({"a": 1}, "map(varchar,bigint)"))
    assert shown(wrong).startswith("cardinality(")


def test_functions_of_a_native_namespace(plans: SimpleNamespace, shown: Callable[..., str]) -> None:
    call = plans.call("abs", "bigint", plans.var("a"))
    call["functionHandle"] = {"@type": "sql_function_handle", "functionId": "native.default.abs;bigint", "version": "1"}
    assert shown(call) == 'abs("a")'
    call["functionHandle"] = {"@type": "json_file", "functionId": "json.test.Abs;bigint", "version": "1"}
    assert shown(call) == 'abs("a")'


@pytest.mark.parametrize("terms", [46, 150, 400])
def test_deep_expressions_are_computed_in_steps(plans: SimpleNamespace, convert: Convert, terms: int) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)  # as in a converter process
    try:
        _check_deep(plans, convert, terms)
    finally:
        sys.setrecursionlimit(limit)


def _check_deep(plans: SimpleNamespace, convert: Convert, terms: int) -> None:
    a = plans.var("a")
    deep = a
    for i in range(terms):
        deep = plans.op("add", "bigint", deep, plans.const(i))
    text = convert(plans.fragment(plans.project(plans.scan(a), x=deep), [plans.var("x")]))
    assert text.count("plus(") == terms
    assert "Project[1.hoisted0]" in text
    assert text.splitlines()[0].endswith("-> x:BIGINT")
    predicate = plans.op("greater_than", "boolean", deep, plans.const(0))
    assert convert(plans.fragment(plans.filter_(plans.scan(a), predicate), [a])).count("plus(") == terms

"""CREATE and DROP TEMPORARY FUNCTION, and what their calls become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.protocol.session_functions import decode_function, encode_function, encode_id
from shared.spi.session import Session
from shared.spi.session_function import FunctionParameter, SessionFunction

Plan = Callable[..., PlannedStatement]
TWICE = SessionFunction("twice", (FunctionParameter("x", "bigint"),), "bigint", "RETURN x + x")
TWICE_TEXT = SessionFunction("twice", (FunctionParameter("x", "varchar"),), "varchar", "RETURN x || x")
FILLED = SessionFunction("filled", (FunctionParameter("x", "integer"),), "integer", "RETURN coalesce(x, 0)")
STRICT = SessionFunction(
    "strict", (FunctionParameter("x", "integer"),), "integer", "RETURN coalesce(x, 0)", null_on_null=True
)
ADDED = SessionFunction(
    "added",
    (FunctionParameter("numbers", "array(bigint)"), FunctionParameter("x", "bigint")),
    "array(bigint)",
    "RETURN transform(numbers, id -> id + x)",
)
PI = SessionFunction("tau", (), "double", "RETURN 2 * pi()")
ALL = (TWICE, TWICE_TEXT, FILLED, STRICT, ADDED, PI)


def session(*functions: SessionFunction) -> Session:
    return Session(user="t", catalog="iceberg", schema="db", functions=functions)


def values(plan: Plan, sql: str, *functions: SessionFunction) -> tuple[Any, ...]:
    planned = plan(f"SELECT {sql}", session(*(functions or ALL)))
    assert isinstance(planned.work, ReturnRows)
    (row,) = planned.work.rows
    return row


def test_a_function_is_what_its_client_keeps(plan: Plan) -> None:
    text = """CREATE TEMPORARY FUNCTION Half (x bigint, "Y" decimal(12,2)) RETURNS double COMMENT 'half'
        LANGUAGE SQL DETERMINISTIC RETURNS NULL ON NULL INPUT RETURN x / 2e0 -- of x"""
    planned = plan(text, session())
    (made,) = planned.session_change.added_functions
    parameters = (FunctionParameter("x", "bigint"), FunctionParameter("y", "decimal(12,2)"))
    assert made == SessionFunction("half", parameters, "double", "RETURN x / 2e0", "half", True, True)
    assert made.id == "presto.session.half;bigint;decimal(12,2)"
    assert (planned.query_type, planned.update_type) == ("CONTROL", "CREATE FUNCTION")
    assert decode_function(encode_id(made.id), encode_function(made)) == made
    assert values(plan, "half(3, 1), half(NULL, 1)", made) == (1.5, None)


def test_calls_compute_what_the_bodies_say(plan: Plan) -> None:
    assert values(plan, "twice(4), TWICE('ab'), presto.default.twice(1), twice(NULL)") == (8, "abab", 2, None)
    assert values(plan, "twice(twice(twice(3)))") == (24,)
    assert values(plan, "filled(NULL), strict(NULL), strict(7)") == (0, None, 7)
    assert values(plan, "round(tau(), 3)") == (6.283,)
    assert values(plan, "transform(ARRAY[1, 2], id -> twice(id))") == ([2, 4],)


def test_a_lambda_of_a_body_does_not_bind_what_an_argument_reads(plan: Plan) -> None:
    nested = "transform(ARRAY[5], id -> added(ARRAY[10], id))"
    assert values(plan, nested) == ([[15]],)


def test_they_are_listed_among_the_others(plan: Plan) -> None:
    planned = plan("SHOW FUNCTIONS LIKE 'tw%'", session(*ALL))
    assert isinstance(planned.work, ReturnRows)
    shown = [dict(zip((c.name for c in planned.columns), row, strict=True)) for row in planned.work.rows]
    assert [(row["Function"], row["Return Type"], row["Argument Types"]) for row in shown] == [
        ("twice", "bigint", "bigint"),
        ("twice", "varchar", "varchar"),
    ]
    assert {(row["Built In"], row["Temporary"], row["Language"]) for row in shown} == {(False, True, "SQL")}


def test_functions_are_dropped_by_name_or_types(plan: Plan) -> None:
    def removed(sql: str) -> tuple[str, ...]:
        return plan(f"DROP TEMPORARY FUNCTION {sql}", session(*ALL)).session_change.removed_functions

    assert removed("filled") == (FILLED.id,)
    assert removed("TWICE (varchar)") == (TWICE_TEXT.id,)
    assert removed("tau()") == removed("IF EXISTS tau") == (PI.id,)
    assert removed("IF EXISTS nope") == removed("IF EXISTS twice(double)") == ()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("abs(x bigint) RETURNS bigint RETURN x", "SYNTAX_ERROR",
         "line 1:1: Function abs is already registered as a built-in function."),
        ("coalesce(x bigint) RETURNS bigint RETURN x", "SYNTAX_ERROR",
         "line 1:1: Function coalesce is already registered as a built-in function."),
        ("a.b(x bigint) RETURNS bigint RETURN x", "SYNTAX_ERROR",
         "line 1:1: Temporary functions cannot be qualified."),
        ("f(x bigint, X date) RETURNS bigint RETURN 1", "SYNTAX_ERROR",
         "line 1:1: Duplicate function parameter name: x"),
        ("f(x nope) RETURNS bigint RETURN 1", "SYNTAX_ERROR", "line 1:29: Unknown type: nope"),
        ("f(x date) RETURNS bigint RETURN x", "SYNTAX_ERROR",
         "line 1:1: Function implementation type 'date' does not match declared return type 'bigint'"),
        ("f(x date) RETURNS bigint RETURN y", "SYNTAX_ERROR", "line 1:59: Column 'y' cannot be resolved"),
        ("f(x date) RETURNS bigint RETURN count(x)", "SYNTAX_ERROR",
         "line 1:59: CREATE FUNCTION body cannot contain aggregations, window functions or grouping operations: "
         '["count"(x)]'),
        ("f(x date) RETURNS bigint RETURN (SELECT 1)", "NOT_SUPPORTED", "line 1:59: Subquery here is not supported"),
        ("f(x bigint) RETURNS bigint RETURN twice(x)", "SYNTAX_ERROR", "line 1:61: Function twice not registered"),
        ("twice(y bigint) RETURNS double RETURN 1", "ALREADY_EXISTS",
         "Session function presto.session.twice(bigint) has already been defined"),
        ("f() RETURNS bigint LANGUAGE JAVA RETURN 1", "NOT_SUPPORTED",
         "line 1:46: Functions in JAVA are not supported"),
        ("f() RETURNS bigint EXTERNAL", "NOT_SUPPORTED", "line 1:1: External functions are not supported"),
        ("f() RETURNS bigint DETERMINISTIC NOT DETERMINISTIC RETURN 1", "SYNTAX_ERROR",
         "line 1:60: Duplicate determinism clause"),
    ],
)  # fmt: skip
def test_what_makes_no_function_is_refused(plan: Plan, text: str, code: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(f"CREATE TEMPORARY FUNCTION {text}", session(*ALL))
    assert (caught.value.code.name, caught.value.wire_message) == (code, message)


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("SELECT twice(DATE '2020-01-01')", "SYNTAX_ERROR",
         "line 1:8: Unexpected parameters (date) for function twice. Expected: twice(bigint), twice(varchar)"),
        ("SELECT twice(1, 2)", "SYNTAX_ERROR",
         "line 1:8: Unexpected parameters (integer, integer) for function twice. Expected: twice(bigint), "
         "twice(varchar)"),
        ("SELECT twice(DISTINCT 1)", "NOT_SUPPORTED", "line 1:8: DISTINCT expression is not supported"),
        ("SELECT twice(CAST(random(5) AS bigint))", "NOT_SUPPORTED",
         "line 1:14: Argument x of twice is used 2 times and not deterministic"),
        ("DROP TEMPORARY FUNCTION nope", "NOT_FOUND", "Session function presto.session.nope not found"),
        ("DROP TEMPORARY FUNCTION twice", "INVALID_ARGUMENTS",
         "line 1:1: There are 2 functions twice: the types of its arguments must be given"),
        ("CREATE OR REPLACE TEMPORARY FUNCTION f() RETURNS bigint RETURN 1", "SYNTAX_ERROR",
         "line 1:1: REPLACE is not supported for temporary functions"),
        ("CREATE FUNCTION a.b.f() RETURNS bigint RETURN 1", "NOT_SUPPORTED",
         "line 1:1: CREATE FUNCTION is not supported"),
        ("EXPLAIN ANALYZE DROP TEMPORARY FUNCTION twice", "NOT_SUPPORTED", None),
    ],
)  # fmt: skip
def test_what_cannot_be_called_or_dropped(plan: Plan, sql: str, code: str, message: str | None) -> None:
    with pytest.raises(ProcessionError) as caught:
        plan(sql, session(*ALL))
    assert caught.value.code.name == code
    assert message in (None, caught.value.wire_message)


def test_an_expression_has_a_largest_size(plan: Plan) -> None:
    sql = "x"
    for _ in range(20):
        sql = f"twice({sql})"
    with pytest.raises(ProcessionError, match="parts, and 10000 are possible") as caught:
        plan(f"SELECT {sql} FROM (VALUES BIGINT '1') AS t(x)", session(*ALL))
    assert caught.value.code is ErrorCode.NOT_SUPPORTED


def test_functions_of_all_a_session_fit_into_a_header(plan: Plan) -> None:
    long = SessionFunction("long", (), "varchar", f"RETURN '{'x' * 30_000}'")
    text = f"CREATE TEMPORARY FUNCTION f() RETURNS varchar RETURN '{'y' * 30_000}'"
    assert plan(text, session()).session_change.added_functions
    with pytest.raises(ProcessionError, match="too long for the header") as caught:
        plan(text, session(long))
    assert caught.value.code is ErrorCode.QUERY_TEXT_TOO_LARGE


def test_no_header_puts_another_function_in_place_of_a_built_in_one(plan: Plan) -> None:
    forged = [
        SessionFunction(name, (FunctionParameter("x", "varchar"),), "varchar", "RETURN 'forged'")
        for name in ("lower", "coalesce", "substring")
    ]
    assert values(plan, "lower('A'), coalesce('a', 'b'), substring('abc', 2)", *forged) == ("a", "a", "bc")
    with pytest.raises(ProcessionError, match="must have at least two arguments"):
        values(plan, "coalesce('a')", *forged)


@pytest.mark.parametrize("body", ["RETURN", "SELECT 1", "RETURN 1; RETURN 2", "RETURN y", "RETURN 'x"])
def test_a_body_that_is_none_is_told_where_it_is_called(plan: Plan, body: str) -> None:
    with pytest.raises(ProcessionError, match=r"^Function broken: ") as caught:
        values(plan, "1, broken(2)", SessionFunction("broken", (FunctionParameter("x", "bigint"),), "bigint", body))
    assert (caught.value.location, caught.value.code) == (ErrorLocation(1, 11), ErrorCode.SYNTAX_ERROR)

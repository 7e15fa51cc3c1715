"""What each form refuses, in Presto's words and at the place where Presto points."""

from __future__ import annotations

import pytest

from coordinator.analyzer.expressions import analyze_predicate
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import TableHandle
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.session import Session

COLUMNS = {
    "n": "integer",
    "s": "varchar(25)",
    "b": "boolean",
    "a": "array(integer)",
    "r": "row(x bigint, y row(z double))",
}
TABLE = TableMetadata(
    "iceberg",
    "db",
    "t",
    tuple(ColumnMetadata(n, t, {}) for n, t in COLUMNS.items()),
    TableHandle(connectorId="iceberg", connectorHandle={}),
)


def refused(text: str) -> ProcessionError:
    with pytest.raises(ProcessionError) as caught:
        analyze_predicate(text, TABLE, Session(user="test"))
    return caught.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n AND b", "line 1:1: Left side of logical expression must evaluate to a boolean (actual: integer)"),
        ("b OR b OR s", "line 1:11: Right side of logical expression must evaluate to a boolean (actual: varchar(25))"),
        ("NOT n", "line 1:5: Value of logical NOT expression must evaluate to a boolean (actual: integer)"),
        ("CASE n WHEN 'a' THEN b END",
         "line 1:8: CASE operand type does not match WHEN clause operand type: integer vs varchar(1)"),
        ("CASE WHEN n THEN b END", "line 1:11: CASE WHEN clause must evaluate to a boolean (actual: integer)"),
        ("CASE WHEN b THEN 1 ELSE 'a' END = 1", "line 1:25: All CASE results must be the same type: integer"),
        ("IF(b, 1, 'a') = 1", "line 1:1: Result types for IF must be the same: integer vs varchar(1)"),
        ("IF(n, b)", "line 1:4: IF condition must evaluate to a boolean (actual: integer)"),
        ("coalesce(1, 'a') = 1", "line 1:13: All COALESCE operands must be the same type: integer"),
        ("n LIKE 'a'", "line 1:1: Left side of LIKE expression must evaluate to a varchar (actual: integer)"),
        ("s LIKE n", "line 1:8: Pattern for LIKE expression must evaluate to a varchar (actual: integer)"),
        ("s LIKE 'a' ESCAPE n", "line 1:19: Escape for LIKE expression must evaluate to a varchar (actual: integer)"),
        ("n NOT IN (1, 'a')", "line 1:14: IN value and list items must be the same type: integer"),
        ("n BETWEEN 1 AND 'a'", "line 1:3: Cannot check if integer is BETWEEN integer and varchar(1)"),
        ("+s = 'a'", "line 1:1: Unary '+' operator cannot by applied to varchar(25) type"),
        ("-s = 'a'", "line 1:1: '-' cannot be applied to varchar(25)"),
        ("a[s] = 1", "line 1:1: '[]' cannot be applied to array(integer), varchar(25)"),
        ("r[3] = 1", "line 1:3: Subscript index out of bounds: 3, max value is 2"),
        ("s.x = 1", "line 1:1: Expression s is not of type ROW"),
        ("t.r.x.y = 1", "line 1:1: Expression t.r.x is not of type ROW"),
        ("r.y.nope = 1", "line 1:1: Column 'r.y.nope' cannot be resolved"),
        ("nope.n = 1", "line 1:1: 'nope.n' cannot be resolved"),
        ("nosuch 'x' = 1", "line 1:1: Unknown type: nosuch"),
        ("DATE 'x' IS NULL", "line 1:1: Value cannot be cast to date: x"),
        ("n = 9223372036854775808", "line 1:1: Invalid numeric literal: 9223372036854775808"),
        ("x -> x", "line 1:1: Lambda expression should always be used inside a function"),
        ("any_match(a, (x, y) -> x > y)", "line 1:14: Expected a lambda that takes 1 argument(s) but got 2"),
        ("abs(n) FILTER (WHERE b) = 1", "line 1:1: Filter is only valid for aggregation functions"),
        ("abs(n ORDER BY n) = 1", "line 1:1: ORDER BY is only valid for aggregation functions"),
        ("rank() = 1", "line 1:1: Window function presto.default.rank requires an OVER clause"),
        ("a.b.abs(n) = 1", "line 1:1: Function a.b.abs not registered"),
        ("abs(*) = 1", "line 1:1: Star not allowed as argument of abs"),
        ("b AND sum(n) > 1", "line 1:7: WHERE clause cannot contain aggregations, window functions or grouping "
         'operations: ["sum"(n)]'),
        ("rank() OVER (ORDER BY n) > 1", "line 1:1: WHERE clause cannot contain aggregations, window functions or "
         'grouping operations: ["rank"() OVER (ORDER BY n ASC)]'),
    ],
)  # fmt: skip
def test_refusal(text: str, message: str) -> None:
    error = refused(text)
    assert (error.code, error.wire_message) == (ErrorCode.SYNTAX_ERROR, message)


@pytest.mark.parametrize("text", ["n IN (SELECT 1)", "EXISTS (SELECT 1)", "n = ALL (SELECT 1)", "n = (SELECT 1)"])
def test_subqueries_have_no_place_in_a_filter(text: str) -> None:
    error = refused(text)
    assert error.code is ErrorCode.NOT_SUPPORTED
    assert "Subquery here is not supported" in error.wire_message


def test_a_built_in_function_by_its_whole_name() -> None:
    assert analyze_predicate("presto.default.ABS(n) = 1", TABLE, Session(user="test")) == analyze_predicate(
        "abs(n) = 1", TABLE, Session(user="test")
    )


def test_a_type_without_literals() -> None:
    error = refused("COLOR 'x' IS NULL")
    assert (error.code, error.wire_message) == (
        ErrorCode.OPERATOR_NOT_FOUND,
        "CAST to color cannot be applied to varchar",
    )

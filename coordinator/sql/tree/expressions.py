"""Expressions. Parentheses leave no node; chains of AND and OR are one node, other operators nest to the left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from coordinator.sql.tree.node import Node
from shared.plan.expressions import SourceLocation

if TYPE_CHECKING:
    from coordinator.sql.tree.queries import Query


class Identifier(Node, frozen=True, kw_only=True):
    """A name as written; ``delimited`` where it stood in quotes."""

    value: str
    delimited: bool = False


class DereferenceExpression(Node, frozen=True, kw_only=True):
    """``base.field``."""

    base: Expression
    field: Identifier


class NullLiteral(Node, frozen=True, kw_only=True):
    """NULL."""


class BooleanLiteral(Node, frozen=True, kw_only=True):
    value: bool


class LongLiteral(Node, frozen=True, kw_only=True):
    """Digits alone; larger than a bigint is refused where it is analyzed, since a minus may stand before it."""

    value: int


class DecimalLiteral(Node, frozen=True, kw_only=True):
    """``1.5`` as written."""

    value: str


class DoubleLiteral(Node, frozen=True, kw_only=True):
    """``1.5E0`` as written."""

    value: str


class StringLiteral(Node, frozen=True, kw_only=True):
    """Also ``U&'…'``, decoded."""

    value: str


class BinaryLiteral(Node, frozen=True, kw_only=True):
    """``X'…'``: the bytes."""

    value: bytes


class GenericLiteral(Node, frozen=True, kw_only=True):
    """``type 'text'``: DATE, TIME, TIMESTAMP, DECIMAL, CHAR, JSON and so on; ``type`` as written."""

    type: str
    value: str


class IntervalLiteral(Node, frozen=True, kw_only=True):
    """``INTERVAL [+|-] 'value' start [TO end]``; units in lower case."""

    value: str
    sign: Literal[1, -1]
    start: str
    end: str | None = None


class Parameter(Node, frozen=True, kw_only=True):
    """``?``; ``position`` counts from 0 through the statement."""

    position: int


class ArithmeticUnaryExpression(Node, frozen=True, kw_only=True):
    sign: Literal["+", "-"]
    value: Expression


class ArithmeticBinaryExpression(Node, frozen=True, kw_only=True):
    """Long chains nest to the left, thousands deep: walk them."""

    operator: Literal["+", "-", "*", "/", "%"]
    left: Expression
    right: Expression


class Concatenation(Node, frozen=True, kw_only=True):
    """``left || right``, which Presto's parser makes a call of concat. Nests to the left like arithmetic."""

    left: Expression
    right: Expression


class ComparisonExpression(Node, frozen=True, kw_only=True):
    """``!=`` is ``<>``."""

    operator: Literal["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"]
    left: Expression
    right: Expression


class LogicalExpression(Node, frozen=True, kw_only=True):
    """``a AND b AND …``: two terms or more, none of them of the same operator unless parentheses say so.

    ``location`` is the last operator's, the root of Presto's tree.
    """

    operator: Literal["AND", "OR"]
    terms: tuple[Expression, ...]


class NotExpression(Node, frozen=True, kw_only=True):
    """Also the NOT of ``x NOT IN …`` and its like, and of ``IS NOT DISTINCT FROM``."""

    value: Expression


class IsNullPredicate(Node, frozen=True, kw_only=True):
    value: Expression


class IsNotNullPredicate(Node, frozen=True, kw_only=True):
    value: Expression


class BetweenPredicate(Node, frozen=True, kw_only=True):
    value: Expression
    min: Expression
    max: Expression


class InListExpression(Node, frozen=True, kw_only=True):
    values: tuple[Expression, ...]


class InPredicate(Node, frozen=True, kw_only=True):
    value: Expression
    value_list: InListExpression | SubqueryExpression


class LikePredicate(Node, frozen=True, kw_only=True):
    value: Expression
    pattern: Expression
    escape: Expression | None = None


class SubqueryExpression(Node, frozen=True, kw_only=True):
    """``(query)`` as a value, and the query of IN, EXISTS and quantified comparisons."""

    query: Query


class ExistsPredicate(Node, frozen=True, kw_only=True):
    subquery: SubqueryExpression


class QuantifiedComparisonExpression(Node, frozen=True, kw_only=True):
    """SOME is ANY."""

    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    quantifier: Literal["ALL", "ANY"]
    value: Expression
    subquery: SubqueryExpression


class Cast(Node, frozen=True, kw_only=True):
    """``type`` as written; ``safe`` is TRY_CAST."""

    expression: Expression
    type: str
    safe: bool = False


class WhenClause(Node, frozen=True, kw_only=True):
    operand: Expression
    result: Expression


class SimpleCaseExpression(Node, frozen=True, kw_only=True):
    operand: Expression
    when_clauses: tuple[WhenClause, ...]
    default: Expression | None = None


class SearchedCaseExpression(Node, frozen=True, kw_only=True):
    when_clauses: tuple[WhenClause, ...]
    default: Expression | None = None


class ArrayConstructor(Node, frozen=True, kw_only=True):
    """``ARRAY[…]``."""

    values: tuple[Expression, ...]


class Row(Node, frozen=True, kw_only=True):
    """``(a, b, …)`` of two items or more, and ``ROW(a, …)``; ``keyword`` where ROW was written."""

    items: tuple[Expression, ...]
    keyword: bool = False


class SubscriptExpression(Node, frozen=True, kw_only=True):
    base: Expression
    index: Expression


class LambdaExpression(Node, frozen=True, kw_only=True):
    arguments: tuple[Identifier, ...]
    body: Expression


class AtTimeZone(Node, frozen=True, kw_only=True):
    value: Expression
    time_zone: Expression


class Extract(Node, frozen=True, kw_only=True):
    """``EXTRACT(field FROM expression)``; the field as written."""

    field: str
    expression: Expression


class CurrentTime(Node, frozen=True, kw_only=True):
    """CURRENT_DATE and its like, also CURRENT_USER: ``function`` in lower case."""

    function: Literal[
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "current_user",
        "current_role",
    ]
    precision: int | None = None


class GroupingOperation(Node, frozen=True, kw_only=True):
    """``GROUPING(column, …)``."""

    columns: tuple[Expression, ...]


class SortItem(Node, frozen=True, kw_only=True):
    """NULLS LAST is the default of both directions, as in Presto."""

    sort_key: Expression
    descending: bool = False
    nulls_first: bool = False


class FrameBound(Node, frozen=True, kw_only=True):
    kind: Literal["UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"]
    value: Expression | None = None


class WindowFrame(Node, frozen=True, kw_only=True):
    """``end`` is None where only one bound was written."""

    kind: Literal["ROWS", "RANGE", "GROUPS"]
    start: FrameBound
    end: FrameBound | None = None


class Window(Node, frozen=True, kw_only=True):
    """What stands in OVER. ``name``: of a window of the WINDOW clause, alone or extended."""

    name: Identifier | None = None
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    order_by_location: SourceLocation | None = None
    frame: WindowFrame | None = None


class FunctionCall(Node, frozen=True, kw_only=True):
    """A call by name. ``name`` has its parts as written; ``star`` is ``count(*)``.

    Also ``IF``, ``NULLIF``, ``COALESCE``, ``TRY``, ``POSITION(a IN b)`` (as strpos(b, a)), ``SUBSTRING(a FROM
    b FOR c)``,
    ``TRIM([LEADING | TRAILING | BOTH] [b] FROM a)`` (as ltrim, rtrim, trim of a, b) and ``NORMALIZE(a, NFC)``.
    """

    name: tuple[Identifier, ...]
    arguments: tuple[Expression, ...] = ()
    star: bool = False
    distinct: bool = False
    order_by: tuple[SortItem, ...] = ()
    filter: Expression | None = None
    nulls: Literal["IGNORE", "RESPECT"] | None = None
    window: Window | None = None


Expression = (
    Identifier
    | DereferenceExpression
    | NullLiteral
    | BooleanLiteral
    | LongLiteral
    | DecimalLiteral
    | DoubleLiteral
    | StringLiteral
    | BinaryLiteral
    | GenericLiteral
    | IntervalLiteral
    | Parameter
    | ArithmeticUnaryExpression
    | ArithmeticBinaryExpression
    | Concatenation
    | ComparisonExpression
    | LogicalExpression
    | NotExpression
    | IsNullPredicate
    | IsNotNullPredicate
    | BetweenPredicate
    | InPredicate
    | LikePredicate
    | SubqueryExpression
    | ExistsPredicate
    | QuantifiedComparisonExpression
    | Cast
    | SimpleCaseExpression
    | SearchedCaseExpression
    | ArrayConstructor
    | Row
    | SubscriptExpression
    | LambdaExpression
    | AtTimeZone
    | Extract
    | CurrentTime
    | GroupingOperation
    | FunctionCall
)

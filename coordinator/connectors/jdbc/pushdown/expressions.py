"""Typed expressions as the remote dialect's SQL, where the database computes them with Presto's meaning.

The rules and the wrong answers without them: facts/jdbc_pushdown.md F4, each with a test in tests/jdbc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.pushdown.literals import literal, text, utc_timestamp
from coordinator.connectors.jdbc.pushdown.refusal import NotPushable
from coordinator.connectors.jdbc.remote_query import RemoteCollation, RemoteColumn
from coordinator.expressions.builders import NAMESPACE, value_of
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, StaticFunctionHandle, Variable, type_of
from shared.plan.types import UNBOUNDED_LENGTH, Type, parse_type

_COMPARISONS = {
    "$operator$equal": "=",
    "$operator$not_equal": "<>",
    "$operator$less_than": "<",
    "$operator$less_than_or_equal": "<=",
    "$operator$greater_than": ">",
    "$operator$greater_than_or_equal": ">=",
}
_EQUALITIES = frozenset({"=", "<>"})
_ARITHMETIC = {"$operator$add": "+", "$operator$subtract": "-", "$operator$multiply": "*"}
_INTEGERS = ("tinyint", "smallint", "integer", "bigint")
_NUMBERS = (*_INTEGERS, "decimal")
_ORDERED = (*_NUMBERS, "real", "double", "date", "timestamp", "timestamp with time zone")
_TEXT = ("varchar", "char")


@dataclass(frozen=True, slots=True)
class Remote:
    """A value in the remote dialect; ``collation`` is set for text that is a column, ``constant`` for literals.

    ``condition`` is set for booleans that only some databases take as values.
    """

    sql: str
    type: Type
    collation: RemoteCollation | None = None
    constant: bool = False
    condition: bool = False


class Translator:
    """Expressions over the columns of one or more remote queries, by variable name."""

    def __init__(self, columns: Mapping[str, RemoteColumn], dialect: Dialect) -> None:
        self._columns = columns
        self._dialect = dialect

    @property
    def dialect(self) -> Dialect:
        """Whose SQL this writes."""
        return self._dialect

    def condition(self, expression: RowExpression) -> str:
        """A boolean as a condition in SQL; raises NotPushable."""
        return self._boolean(expression)

    def wider(self, expression: RowExpression) -> str:
        """A condition that holds for at least the rows of ``expression``, to leave out others. Raises NotPushable."""
        if not self._dialect.semantics.wider_equality:
            raise NotPushable("an equality of text")
        match expression:
            case SpecialForm(form="AND" | "OR"):
                terms = [self._boolean_or_wider(argument) for argument in expression.arguments]
                return f"({f' {expression.form} '.join(terms)})"
            case SpecialForm(form="IN"):
                tested, *items = (self._text(argument) for argument in expression.arguments)
                return f"({tested} IN ({', '.join(items)}))"
            case Call() if _name(expression) == "$operator$equal":
                left, right = (self._text(argument) for argument in expression.arguments)
                return f"({left} = {right})"
            case _:
                raise NotPushable("no equality of text")

    def _boolean_or_wider(self, node: RowExpression) -> str:
        try:
            return self._boolean(node)
        except NotPushable:
            return self.wider(node)

    def _text(self, node: RowExpression) -> str:
        value = self._value(_bare(node))
        if value.type.base not in _TEXT:
            raise NotPushable(f"an equality of {value.type}")
        return value.sql

    def column(self, expression: RowExpression) -> RemoteColumn:
        """A value as a column of a query; raises NotPushable."""
        if isinstance(expression, Variable):
            return self._column(expression)
        made = self._value(expression)
        if made.type.base in _TEXT or (made.constant and made.type.base not in (*_INTEGERS, "boolean")):
            raise NotPushable(f"a computed column of type {made.type}")
        if made.constant and made.type.base != "boolean":
            # A bare number has the type that the database likes.
            name = self._dialect.syntax.type_name(made.type.base)
            return RemoteColumn(f"CAST({made.sql} AS {name})", str(made.type), computed=True)
        return RemoteColumn(self.truth(made.sql) if made.condition else made.sql, str(made.type), computed=True)

    def truth(self, condition: str) -> str:
        """A condition as a value; NULL where it is unknown."""
        if self._dialect.syntax.conditions_are_values:
            return condition
        yes, no = self._dialect.syntax.truths
        return f"(CASE WHEN {condition} THEN {yes} WHEN NOT {condition} THEN {no} END)"

    def order(self, variable: Variable) -> str:
        """A sort key without direction; text is made to sort by code point. Raises NotPushable."""
        value = self._value(variable)
        self._comparable("<", value, value)
        return self._collated(value, "<")

    def key(self, variable: Variable) -> str:
        """A grouping key; equal for exactly the values that Presto holds equal. Raises NotPushable."""
        value = self._value(variable)
        if value.type.base not in (*_ORDERED, *_TEXT, "boolean"):
            raise NotPushable(f"grouping by {value.type}")
        if value.type.base == "char" and not self._dialect.semantics.char_equality:
            raise NotPushable(f"grouping by {value.type}")
        return self._collated(value, "=")

    def _column(self, variable: Variable) -> RemoteColumn:
        column = self._columns.get(variable.name)
        if column is None:
            raise NotPushable(f"column {variable.name} of another source")
        return column

    def _value(self, expression: RowExpression) -> Remote:
        match expression:
            case Variable():
                column = self._column(expression)
                return Remote(column.sql, parse_type(column.type), column.collation)
            case Constant():
                type_ = parse_type(expression.type)
                return Remote(literal(value_of(expression), type_, self._dialect), type_, constant=True)
            case SpecialForm(form="COALESCE"):
                return self._coalesce(expression)
            case SpecialForm():
                return Remote(self._special(expression), parse_type("boolean"), condition=True)
            case Call():
                return self._call(expression)
            case _:
                raise NotPushable("a lambda")

    def _coalesce(self, node: SpecialForm) -> Remote:
        values = [self._value(argument) for argument in node.arguments]
        type_ = values[0].type
        if type_.base in _TEXT or any(value.type != type_ for value in values):
            raise NotPushable(f"COALESCE of {type_}")
        shown = [self.truth(value.sql) if value.condition else value.sql for value in values]
        return Remote(f"COALESCE({', '.join(shown)})", type_)

    def _special(self, node: SpecialForm) -> str:
        match node.form:
            case "AND" | "OR":
                terms = [self._boolean(argument) for argument in node.arguments]
                return f"({f' {node.form} '.join(terms)})"
            case "IS_NULL":
                return f"({self._operand(node.arguments[0]).sql} IS NULL)"
            case "IN":
                tested, *items = (self._operand(argument) for argument in node.arguments)
                for item in items:
                    self._comparable("=", tested, item)
                shown = ", ".join(item.sql for item in items)
                return f"({self._collated(tested, '=')} IN ({shown}))"
            case form:
                raise NotPushable(f"the expression {form}")

    def _boolean(self, node: RowExpression) -> str:
        value = self._value(node)
        if value.type.base != "boolean":
            raise NotPushable(f"a condition of type {value.type}")
        if value.condition or self._dialect.syntax.conditions_are_values:
            return value.sql
        return f"({value.sql} = {self._dialect.syntax.truths[0]})"

    def _operand(self, node: RowExpression) -> Remote:
        """A value that a comparison takes, which a condition is not everywhere."""
        value = self._value(node)
        if value.condition and not self._dialect.syntax.conditions_are_values:
            raise NotPushable("a condition as a value")
        return value

    def _call(self, node: Call) -> Remote:
        name = _name(node)
        if name in _COMPARISONS:
            return _condition(self._comparison(_COMPARISONS[name], node))
        match name:
            case "not":
                return _condition(f"(NOT {self._boolean(node.arguments[0])})")
            case "$operator$is_distinct_from" if (distinct := self._dialect.syntax.distinct) is not None:
                return _condition(distinct(*self._pair("=", node)))
            case "$operator$between":
                value, low, high = node.arguments
                at_least = self._compared(">=", value, low)
                return _condition(f"({at_least} AND {self._compared('<=', value, high)})")
            case "$operator$cast":
                return self._cast(node)
            case "like":
                return _condition(self._like(node))
            case _ if name in _ARITHMETIC:
                return self._arithmetic(_ARITHMETIC[name], node)
            case _:
                raise NotPushable(f"the function {node.displayName}")

    def _comparison(self, operator: str, node: Call) -> str:
        left, right = self._pair(operator, node)
        return f"({left} {operator} {right})"

    def _compared(self, operator: str, left: RowExpression, right: RowExpression) -> str:
        a, b = self._operand(_bare(left)), self._operand(_bare(right))
        self._comparable(operator, a, b)
        return f"({self._collated(a, operator)} {operator} {self._collated(b, operator)})"

    def _pair(self, operator: str, node: Call) -> tuple[str, str]:
        a, b = (self._operand(_bare(argument)) for argument in node.arguments)
        self._comparable(operator, a, b)
        # One explicit collation is enough for both sides, two different ones are an error.
        guard = next((v.collation for v in (a, b) if v.collation is not None and _unsafe(v.collation, operator)), None)
        if guard is not None or operator not in _EQUALITIES:
            return self._collated(a, operator), self._collated(b, operator)
        if a.collation is not None and b.collation is not None and a.collation.name != b.collation.name:
            return self._in_c(a.sql), self._in_c(b.sql)
        return a.sql, b.sql

    def _comparable(self, operator: str, a: Remote, b: Remote) -> None:
        """Raises NotPushable unless the database compares the two as Presto does."""
        left, right = a.type.base, b.type.base
        if left in _NUMBERS and right in _NUMBERS:
            return
        if left != right:
            raise NotPushable(f"comparing {a.type} with {b.type}")
        match left:
            case "boolean" if operator in _EQUALITIES:
                return
            case "char" if operator in _EQUALITIES and self._dialect.semantics.char_equality:
                return
            case "varchar":
                self._text_guard(a, operator)
                self._text_guard(b, operator)
            case _ if left in _ORDERED:
                return
            case _:
                raise NotPushable(f"the comparison {operator} of {a.type}")

    def _text_guard(self, value: Remote, operator: str) -> None:
        if value.constant or value.collation is None or self._dialect.semantics.binary_text is not None:
            return
        if _unsafe(value.collation, operator):
            raise NotPushable(f"the comparison {operator} under collation {value.collation.name}")

    def _collated(self, value: Remote, operator: str) -> str:
        """Text made to compare by its bytes, where its own collation might not."""
        if value.type.base not in _TEXT or value.collation is None or not _unsafe(value.collation, operator):
            return value.sql
        if self._dialect.semantics.binary_text is None:
            raise NotPushable(f"text under collation {value.collation.name}")
        return self._dialect.semantics.binary_text(value.sql)

    def _in_c(self, sql: str) -> str:
        if self._dialect.semantics.binary_text is None:
            raise NotPushable("text of two collations")
        return self._dialect.semantics.binary_text(sql)

    def _cast(self, node: Call) -> Remote:
        target, argument = parse_type(node.returnType), node.arguments[0]
        if isinstance(argument, Constant) and target.base == "timestamp with time zone":
            return Remote(literal(utc_timestamp(value_of(argument)), target, self._dialect), target, constant=True)
        source = self._value(argument)
        if source.constant or not _widens(source.type, target):
            raise NotPushable(f"CAST({source.type} AS {target})")
        name = self._dialect.syntax.type_name(target.base, target.numbers)
        if name is None:
            raise NotPushable(f"CAST({source.type} AS {target})")
        return Remote(f"CAST({source.sql} AS {name})", target)

    def _arithmetic(self, operator: str, node: Call) -> Remote:
        # Both sides refuse an overflow of integers; the scale of decimals is each database's own.
        target = parse_type(node.returnType)
        if target.base not in self._dialect.semantics.arithmetic:
            raise NotPushable(f"{operator} of type {target}")
        left, right = (self._integer(argument, target) for argument in node.arguments)
        return Remote(f"({left} {operator} {right})", target)

    def _integer(self, node: RowExpression, target: Type) -> str:
        """An operand in the type of the result, of which an overflow is told; a literal has what type it likes."""
        return f"CAST({self._value(node).sql} AS {self._dialect.syntax.type_name(target.base)})"

    def _like(self, node: Call) -> str:
        form = self._dialect.syntax.like
        if form is None:
            raise NotPushable("LIKE")
        value, pattern = self._value(node.arguments[0]), node.arguments[1]
        if isinstance(pattern, Call) and _name(pattern) == "$operator$cast":
            pattern = pattern.arguments[0]
        if value.type.base != "varchar" or not isinstance(pattern, Constant):
            raise NotPushable("LIKE with a computed pattern")
        wanted = text(value_of(pattern), self._dialect)
        return f"({self._collated(value, '=')} LIKE {wanted}{form})"


def _condition(sql: str) -> Remote:
    return Remote(sql, parse_type("boolean"), condition=True)


def _unsafe(collation: RemoteCollation, operator: str) -> bool:
    """Whether text under ``collation`` may compare otherwise than by its bytes."""
    return collation.pads or not (collation.deterministic if operator in _EQUALITIES else collation.binary)


def _widens(source: Type, target: Type) -> bool:
    a, b = source.base, target.base
    if a in _INTEGERS and b in _INTEGERS:
        return _INTEGERS.index(a) <= _INTEGERS.index(b)
    if b == "decimal":
        return a in _INTEGERS or (a == "decimal" and source.numbers[1] <= target.numbers[1])
    return (a, b) in {("smallint", "double"), ("integer", "double"), ("real", "double"), ("date", "timestamp")}


def _bare(expression: RowExpression) -> RowExpression:
    """A widening cast that a comparison does not need: indexes are on the bare column."""
    while isinstance(expression, Call) and _name(expression) == "$operator$cast":
        source, target = parse_type(type_of(expression.arguments[0])), parse_type(expression.returnType)
        exact = source.base in _NUMBERS and target.base in _NUMBERS and _widens(source, target)
        longer = source.base == target.base == "varchar" and _length(source) <= _length(target)
        if not exact and not longer:
            return expression
        expression = expression.arguments[0]
    return expression


def _name(node: Call) -> str:
    handle = node.functionHandle
    return handle.signature.name.removeprefix(NAMESPACE).lower() if isinstance(handle, StaticFunctionHandle) else ""


def _length(type_: Type) -> int:
    return type_.numbers[0] if type_.numbers else UNBOUNDED_LENGTH

"""sqlglot trees to typed RowExpressions: names, literals, operators and forms; calls are in ``calls``.

Every visited node says which of its arguments it reads; anything else is a located NOT_SUPPORTED.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from coordinator.analyzer import call_binding, calls
from coordinator.analyzer.builders import coerce, constant, function_call, not_, special, typed
from coordinator.analyzer.context import Context
from coordinator.analyzer.literal_nodes import (
    boolean_literal,
    hexadecimal,
    interval,
    literal,
    null,
    unicode_text,
)
from coordinator.analyzer.operators import (
    arithmetic,
    between,
    boolean,
    comparison,
    dereference,
    in_list,
    like,
    negate,
    row_subscript,
    subscript,
)
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.analyzer.syntax import parse_expression
from coordinator.analyzer.types import (
    BIGINT,
    BOOLEAN,
    UNKNOWN,
    array,
    common_super_type,
    row,
    type_text,
)
from coordinator.sql.tokens import too_large
from shared.errors import ErrorCode, ErrorLocation
from shared.plan.expressions import RowExpression, Variable
from shared.plan.types import Type
from shared.spi.connector import TableMetadata
from shared.spi.session import Session

_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
_PLAIN = ("Literal", "Null", "Boolean", "Placeholder")
_COMPARISON = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def analyze_predicate(text: str, table: TableMetadata, session: Session) -> RowExpression:
    """The WHERE condition ``text`` over the columns of ``table``; variables carry the columns' names.

    Raises located ProcessionErrors with Presto's texts, among them
    ``WHERE clause must evaluate to a boolean: actual type integer``.
    """
    tree = parse_expression(text)
    relation = (table.catalog.lower(), table.schema.lower(), table.name.lower())
    shown = [column for column in table.columns if not column.hidden]
    fields = tuple(ScopeField(c.name, Variable(name=c.name, type=c.type), relation) for c in shown)
    context = Context(text, session, Scope(fields), clause="WHERE clause")
    return analyze_condition(tree, context, "WHERE clause")


def analyze_condition(tree: Any, context: Context, what: str) -> RowExpression:
    """An expression that must be boolean."""
    return boolean(tree, analyze_expression(tree, context), context, what)


def analyze_expression(tree: Any, context: Context) -> RowExpression:
    """The typed form of a tree of ``syntax.parse_expression`` or ``parse_query``.

    Raises ProcessionError; an expression that nests too deeply is Presto's ``statement is too large``.
    """
    try:
        return _analyze(tree, context)
    except RecursionError as error:
        raise too_large(ErrorLocation(1, 1)) from error


def _analyze(node: Any, context: Context) -> RowExpression:
    name = type(node).__name__
    analyzer = _ANALYZERS.get(name)
    if analyzer is None:
        raise context.unsupported(node, f"{name.upper()} expression")
    return _placed(analyzer(node, context), node, context)


def _placed(expression: RowExpression, node: Any, context: Context) -> RowExpression:
    """``expression`` at the place of ``node``; parts that have a place, and plain literals, stay as they are."""
    if expression.sourceLocation is not None or context.places is None:
        return expression
    if isinstance(expression, Variable) or type(node).__name__ in _PLAIN:
        return expression
    place = context.places.of(node)
    return expression if place is None else replace(expression, sourceLocation=place)


def _paren(node: Any, context: Context) -> RowExpression:
    context.only(node, "this")
    return _analyze(node.this, context)


def _column(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "table", "db", "catalog")
    if type(node.this).__name__ == "Star":
        raise context.error(node, "'*' is not allowed here")
    parts = [str(node.args[k].name) for k in ("catalog", "db", "table", "this") if node.args.get(k)]
    if len(parts) == 1 and parts[0].lower() in context.lambdas:
        return context.lambdas[parts[0].lower()]
    if parts[0].lower() in context.lambdas:
        return _fields(node, context.lambdas[parts[0].lower()], parts[1:], context)
    return _resolve(node, parts, context)


def _identifier(node: Any, context: Context) -> RowExpression:
    variable = context.lambdas.get(str(node.this).lower())
    return variable if variable is not None else _resolve(node, [str(node.this)], context)


def _resolve(node: Any, parts: list[str], context: Context) -> RowExpression:
    lowered = [p.lower() for p in parts]
    scope: Scope | None = context.scope
    while scope is not None:
        for count in range(len(parts), 0, -1):
            found = scope.find(lowered[count - 1], tuple(lowered[: count - 1]))
            if len(found) > 1:
                raise context.error(node, f"Column '{'.'.join(lowered)}' is ambiguous")
            if found:
                return _fields(node, _reference(node, found[0].variable, context), parts[count:], context)
        scope = scope.parent
    what = "" if len(parts) > 1 else "Column "
    raise context.error(node, f"{what}'{'.'.join(lowered)}' cannot be resolved")


def _reference(node: Any, variable: Variable, context: Context) -> Variable:
    if context.places is None or variable.name not in context.places.columns:
        return variable
    place = context.places.of(node)
    return variable if place is None else Variable(name=variable.name, type=variable.type, sourceLocation=place)


def _fields(node: Any, base: RowExpression, names: list[str], context: Context) -> RowExpression:
    for count, name in enumerate(names):
        kind = typed(base)
        positions = [i for i, f in enumerate(kind.fields) if f.name is not None and f.name.lower() == name.lower()]
        if kind.base != "row":
            shown = _shown(node).rsplit(".", len(names) - count)[0]
            raise context.error(node, f"Expression {shown} is not of type ROW")
        if not positions:
            raise context.error(node, f"Column '{_shown(node)}' cannot be resolved")
        if len(positions) > 1:
            raise context.error(node, f"Column '{_shown(node)}' is ambiguous")
        base = dereference(base, positions[0], node, context)
    return base


def _shown(node: Any) -> str:
    return str(node.sql(dialect="trino")).lower().replace("fn$", "")


def _dot(node: Any, context: Context) -> RowExpression:
    if type(node.expression).__name__ == "Anonymous" and _shown(node.this) == "presto.default":
        return _analyze(node.expression, context)
    if type(node.expression).__name__ != "Identifier":
        raise context.error(node, f"Function {_shown(node).partition('(')[0]} not registered")
    return _fields(node, _analyze(node.this, context), [str(node.expression.this)], context)


def _bracket(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "expressions")
    if len(node.expressions) != 1:
        raise context.error(node, "mismatched input ','. Expecting: ']'")
    base, tree = _analyze(node.this, context), node.expressions[0]
    if typed(base).base == "row":
        return row_subscript(base, _analyze(tree, context) if type(tree).__name__ in _PLAIN else None, tree, context)
    return subscript(node, base, _analyze(tree, context), context)


def _array(node: Any, context: Context) -> RowExpression:
    context.only(node, "expressions", "value_constructor")
    items = [_analyze(e, context) for e in node.expressions]
    common: Type = UNKNOWN
    for item, expression in zip(node.expressions, items, strict=True):
        widened = common_super_type(common, typed(expression))
        if widened is None:
            message = f"All ARRAY elements must be the same type: {type_text(common)}"
            raise context.error(item, message)
        common = widened
    items = [coerce(i, common, context.zone) for i in items]
    return function_call("array_constructor", items, array(common), display="ARRAY")


def _tuple(node: Any, context: Context) -> RowExpression:
    context.only(node, "expressions")
    items = [_analyze(e, context) for e in node.expressions]
    return special("ROW_CONSTRUCTOR", row(tuple(typed(i) for i in items)), *items)


def _binary(node: Any, context: Context) -> RowExpression:
    # Left spines are walked, not recursed: a + b + c + … may be thousands long.
    spine = []
    while type(node).__name__ in _ARITHMETIC or type(node).__name__ == "DPipe":
        context.only(node, "this", "expression", "typed", "safe")
        spine.append(node)
        node = node.this
    result = _analyze(node, context)
    for part in reversed(spine):
        right = _analyze(part.expression, context)
        if type(part).__name__ == "DPipe":
            result = call_binding.call(part, "concat", (result, right), context, display="CONCAT")
        else:
            result = arithmetic(part, _ARITHMETIC[type(part).__name__], result, right, context)
        result = _placed(result, part, context)
    return result


def _comparison(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "expression")
    symbol = _COMPARISON[type(node).__name__]
    left = _analyze(node.this, context)
    quantified = _quantified(node.expression)
    if quantified is not None:
        if context.sinks is None:
            raise context.unsupported(node, "Quantified comparison here")
        return context.sinks.quantified(node, symbol, left, quantified[0], quantified[1], context)
    return comparison(node, symbol, left, _analyze(node.expression, context), context)


def _quantified(node: Any) -> tuple[bool, Any] | None:
    """Whether ALL, and the query, of ``ALL (query)`` and ``ANY (query)``."""
    kind = type(node).__name__
    if kind in ("All", "Any"):
        return kind == "All", node.this
    # Before VALUES or TABLE the parser takes the words for functions; true calls have names of their own here.
    name = str(node.this).lower() if kind == "Anonymous" else ""
    if name in ("all", "any", "some") and len(node.expressions) == 1:
        return name == "all", node.expressions[0]
    return None


def _logical(node: Any, context: Context) -> RowExpression:
    kind, form = type(node).__name__, "AND" if type(node).__name__ == "And" else "OR"
    spine = []
    while type(node).__name__ == kind:
        context.only(node, "this", "expression")
        spine.append(node)
        node = node.this
    operands = [node, *(part.expression for part in reversed(spine))]
    what = f"Logical {form} expression"
    terms = [_term(operand, context, what) for operand in operands]
    result = terms[0]
    if len(terms) > 100:
        return _balanced(form, terms)
    for term in terms[1:]:
        result = special("AND" if form == "AND" else "OR", BOOLEAN, result, term)
    return result


def _balanced(form: str, terms: list[RowExpression]) -> RowExpression:
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [special("AND" if form == "AND" else "OR", BOOLEAN, *p) if len(p) == 2 else p[0] for p in pairs]
    return terms[0]


def _term(operand: Any, context: Context, what: str) -> RowExpression:
    value = _analyze(operand, context)
    kind = typed(value)
    if kind.base not in ("boolean", "unknown"):
        raise context.error(operand, f"{what} term must evaluate to a boolean (actual: {type_text(kind)})"[:200])
    return coerce(value, BOOLEAN)


def _not(node: Any, context: Context) -> RowExpression:
    context.only(node, "this")
    value = _analyze(node.this, context)
    kind = typed(value)
    if kind.base not in ("boolean", "unknown"):
        message = f"Value of logical NOT expression must evaluate to a boolean (actual: {type_text(kind)})"
        raise context.error(node.this, message)
    return not_(coerce(value, BOOLEAN))


def _neg(node: Any, context: Context) -> RowExpression:
    context.only(node, "this")
    inner = node.this
    if type(inner).__name__ == "Literal" and str(inner.this) == "9223372036854775808":
        return constant(-(1 << 63), BIGINT)
    return negate(node, _analyze(inner, context), context)


def _is(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "expression")
    if type(node.expression).__name__ != "Null":
        raise context.error(node, "mismatched input. Expecting: 'DISTINCT', 'NOT', 'NULL'")
    return special("IS_NULL", BOOLEAN, _analyze(node.this, context))


def _distinct_from(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "expression")
    left, right = _analyze(node.this, context), _analyze(node.expression, context)
    result = comparison(node, "IS DISTINCT FROM", left, right, context)
    return not_(result) if type(node).__name__ == "NullSafeEQ" else result


def _between(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "low", "high")
    operands = [_analyze(node.args[k], context) for k in ("this", "low", "high")]
    return between(node, operands[0], operands[1], operands[2], context)


def _in(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "expressions", "query")
    value = _analyze(node.this, context)
    query = node.args.get("query")
    items = node.expressions
    if query is None and len(items) == 1 and type(items[0]).__name__ in ("Values", "Select", "Table"):
        query = items[0]
    if query is not None:
        if context.sinks is None:
            raise context.unsupported(node, "Subquery here")
        return context.sinks.in_subquery(node, value, query, context)
    return in_list(node, value, [_analyze(e, context) for e in items], context)


def _like(node: Any, context: Context) -> RowExpression:
    escape = None
    inner = node
    if type(node).__name__ == "Escape":
        context.only(node, "this", "expression")
        inner, escape = node.this, _analyze(node.expression, context)
        if type(inner).__name__ == "Not":
            return not_(_like_of(inner.this, escape, context))
    return _like_of(inner, escape, context)


def _like_of(node: Any, escape: RowExpression | None, context: Context) -> RowExpression:
    context.only(node, "this", "expression", "negate")
    value, pattern = _analyze(node.this, context), _analyze(node.expression, context)
    result = like(node, value, pattern, escape, context)
    return not_(result) if node.args.get("negate") else result


def _case(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "ifs", "default")
    operand = _analyze(node.this, context) if node.this is not None else None
    branches = []
    for branch in node.args["ifs"]:
        if operand is None:
            condition = analyze_condition(branch.this, context, "CASE WHEN clause")
        else:
            condition = comparison(branch, "=", operand, _analyze(branch.this, context), context)
        branches.append((condition, _analyze(branch.args["true"], context)))
    default = node.args.get("default")
    otherwise = _analyze(default, context) if default is not None else constant(None, UNKNOWN)
    result = call_binding.common_type(node, [v for _, v in branches] + [otherwise], "CASE", context)
    whens = [special("WHEN", result, c, coerce(v, result, context.zone)) for c, v in branches]
    return special("SWITCH", result, constant(True, BOOLEAN), *whens, coerce(otherwise, result, context.zone))


def _at_time_zone(node: Any, context: Context) -> RowExpression:
    context.only(node, "this", "zone")
    value, zone = _analyze(node.this, context), _analyze(node.args["zone"], context)
    kind = typed(value)
    if kind.base not in ("timestamp", "timestamp with time zone", "time", "time with time zone"):
        what = "Type of value must be a time or timestamp with or without time zone"
        raise context.error(node, f"{what} (actual {type_text(kind)})")
    if kind.base in ("timestamp", "time"):
        target = "time with time zone" if kind.base == "time" else "timestamp with time zone"
        value = coerce(value, Type(target), context.zone)
    return call_binding.call(node, "at_timezone", (value, zone), context)


def _subquery(node: Any, context: Context) -> RowExpression:
    if context.sinks is None:
        raise context.unsupported(node, "Subquery here")
    return context.sinks.scalar_subquery(node, context)


def _exists(node: Any, context: Context) -> RowExpression:
    context.only(node, "this")
    if context.sinks is None:
        raise context.unsupported(node, "EXISTS here")
    return context.sinks.exists(node, context)


def _window(node: Any, context: Context) -> RowExpression:
    if context.sinks is None:
        raise context.error(
            node, f"{context.clause} cannot contain aggregations, window functions or grouping operations"
        )
    return context.sinks.window(node, context)


def _placeholder(node: Any, context: Context) -> RowExpression:
    position = sum(1 for p in _placeholders(node.root()) if p.meta.get("start", 0) < node.meta.get("start", 0))
    if position >= len(context.parameters):
        message = f"Incorrect number of parameters: expected {position + 1} but found {len(context.parameters)}"
        raise context.error(node, message, ErrorCode.INVALID_ARGUMENTS)
    return context.parameters[position]


def _placeholders(tree: Any) -> list[Any]:
    return [n for n in tree.walk() if type(n).__name__ == "Placeholder"]


_Analyzer = Callable[[Any, Context], RowExpression]
_ANALYZERS: dict[str, _Analyzer] = {
    "Paren": _paren,
    "Literal": literal,
    "HexString": hexadecimal,
    "UnicodeString": unicode_text,
    "Null": null,
    "Boolean": boolean_literal,
    "Interval": interval,
    "Column": _column,
    "Identifier": _identifier,
    "Dot": _dot,
    "Bracket": _bracket,
    "Array": _array,
    "Tuple": _tuple,
    **dict.fromkeys((*_ARITHMETIC, "DPipe"), _binary),
    **dict.fromkeys(_COMPARISON, _comparison),
    "And": _logical,
    "Or": _logical,
    "Not": _not,
    "Neg": _neg,
    "Is": _is,
    "NullSafeEQ": _distinct_from,
    "NullSafeNEQ": _distinct_from,
    "Between": _between,
    "In": _in,
    "Like": _like,
    "Escape": _like,
    "Case": _case,
    "AtTimeZone": _at_time_zone,
    "Subquery": _subquery,
    "Select": _subquery,
    "Exists": _exists,
    "Window": _window,
    "Placeholder": _placeholder,
    "Anonymous": lambda node, context: calls.analyze_call(node, context, _analyze),
    "Filter": lambda node, context: calls.analyze_call(node, context, _analyze),
    "WithinGroup": lambda node, context: calls.analyze_call(node, context, _analyze),
}

"""RowExpressions as sqlglot trees of one engine, with Presto's meaning where the engine's own differs."""

from __future__ import annotations

from contextlib import nullcontext

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed, value_of
from coordinator.expressions.folding import folded
from coordinator.expressions.types import INTEGERS, displayed, length_of
from coordinator.kernels.functions.arrow_forms import field_name
from coordinator.kernels.functions.zones import zone_of
from coordinator.unparser.attempts import forgivable, forgiving
from coordinator.unparser.casts import (
    SHOWN,
    cast_on_spark,
    differs,
    renamed,
    represented,
    shown_as_text,
    text_to_text,
)
from coordinator.unparser.compared_maps import compared_value
from coordinator.unparser.conditions import in_order
from coordinator.unparser.constants import literal, row
from coordinator.unparser.functions import SCALARS, apply, needs_cast
from coordinator.unparser.guarded_programs import with_guarded_programs
from coordinator.unparser.operators import arithmetic, subscript
from coordinator.unparser.patterns_on_spark import SteadyLike, steady_like
from coordinator.unparser.program_choice import (
    COMPARED_BY_KERNELS,
    COMPARISON,
    OPAQUE,
    TEXT,
    carries_zone,
    cast_in_python,
    likes_by_row,
    needs_python,
    operator_in_python,
    wholly_in_python,
)
from coordinator.unparser.programs import calls_python, kernel_call, runs_in_python
from coordinator.unparser.qualified_columns import column_of, declared
from coordinator.unparser.refusals import place_refusal, unsupported
from coordinator.unparser.repeated_values import (
    MOST_TWICE,
    RepeatedValueError,
    programs_may_stand,
    repeatable,
    without_programs,
    without_repeated,
)
from coordinator.unparser.session_zone import session_zone
from coordinator.unparser.spark_numbers import SPARK_DIGITS, negated
from coordinator.unparser.spark_overloads import spark_overload
from coordinator.unparser.spark_programs import program
from coordinator.unparser.trees import binary, call, case, cast, is_null, name, number, text
from coordinator.unparser.vectorised import vectorised
from shared.errors import ProcessionError
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RowExpression,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)
from shared.plan.types import Type


def expression(node: RowExpression, dialect: str) -> exp.Expr:
    """The tree of an expression; a refusal says where in the statement the refused part stands."""
    try:
        return _expression(node, dialect)
    except ProcessionError as error:
        place_refusal(error, node.sourceLocation)
        raise


def _expression(node: RowExpression, dialect: str) -> exp.Expr:
    match node:
        case Variable():
            return column_of(node)
        case Constant():
            return literal(value_of(node), typed(node), dialect)
        case SpecialForm() | Call():
            ahead = without_programs() if dialect == "spark" and _takes_no_programs(node) else nullcontext()
            try:
                with ahead:
                    return _special(node, dialect) if isinstance(node, SpecialForm) else _call(node, dialect)
            except RepeatedValueError:
                if not programs_may_stand():
                    raise
                return program(node, dialect, expression)
        case Lambda():
            parameters = [name(a) for a in node.arguments]
            with declared(node.arguments):
                return exp.Lambda(this=expression(node.body, dialect), expressions=parameters)


_BRANCHES = ("IF", "SWITCH", "COALESCE")
_ALL = 1 << 20
"""Nodes that are looked at where an engine keeps a value of any size by itself, but for chance."""


def _takes_no_programs(node: Call | SpecialForm) -> bool:
    """Spark computes Python functions before branches are chosen: errors of rows that take another one.

    Its lambdas, of which TRY is one here, do not call them.
    """
    if isinstance(node, SpecialForm):
        return node.form in _BRANCHES
    return any(isinstance(argument, Lambda) for argument in node.arguments)


def _special(form: SpecialForm, dialect: str) -> exp.Expr:
    if dialect == "spark" and form.form in _BRANCHES and needs_python(form, dialect):
        by_branch = with_guarded_programs(form)
        return program(form, dialect, expression) if by_branch is None else _form(by_branch, dialect)
    return _form(form, dialect)


def _form(form: SpecialForm, dialect: str) -> exp.Expr:
    type_ = typed(form)
    if form.form in ("IN", "NULL_IF", "SWITCH") and typed(form.arguments[0]).base in COMPARED_BY_KERNELS:
        return program(form, dialect, expression)
    if form.form == "SWITCH":
        return _switch(form, dialect)
    if form.form in ("AND", "OR"):
        return in_order(form, dialect, lambda term: expression(term, dialect))
    arguments = [expression(a, dialect) for a in form.arguments]
    match form.form:
        case "IF":
            return case([(arguments[0], arguments[1])], arguments[2])
        case "NULL_IF":
            # A macro in DuckDB; Spark keeps the value.
            return call("nullif", repeatable(arguments[0], MOST_TWICE if dialect == "duckdb" else _ALL), *arguments[1:])
        case "COALESCE":
            return call("coalesce", *arguments)
        case "IS_NULL":
            return is_null(arguments[0])
        case "IN":
            return _in(form, arguments, dialect)
        case "ROW_CONSTRUCTOR":
            return row(arguments, type_)
        case "DEREFERENCE":
            base = typed(form.arguments[0])
            index = form.arguments[1]
            assert isinstance(index, Constant)
            return exp.Dot(this=exp.Paren(this=arguments[0]), expression=name(field_name(base, value_of(index))))
        case _:
            raise unsupported(f"Special form {form.form}", dialect)


def _in(form: SpecialForm, arguments: list[exp.Expr], dialect: str) -> exp.Expr:
    value, *listed = arguments
    if len(listed) > 1:
        repeatable(value, _ALL)
    if dialect == "spark" and typed(form.arguments[0]).base == "varbinary":
        # Iceberg's filters fail over a NULL among bytes, whose part in the answer is that of OR NULL.
        known = [t for t, a in zip(listed, form.arguments[1:], strict=True) if not _is_null(a)]
        if len(known) < len(listed):
            null = cast(exp.Null(), Type("boolean"), dialect)
            return binary(exp.Or, exp.In(this=value, expressions=known), null) if known else null
    return exp.Paren(this=exp.In(this=value, expressions=listed))


def _is_null(node: RowExpression) -> bool:
    return isinstance(node, Constant) and value_of(node) is None


def _switch(form: SpecialForm, dialect: str) -> exp.Expr:
    operand, *whens, otherwise = form.arguments
    searched = isinstance(operand, Constant) and value_of(operand) is True
    compared = None if searched else expression(operand, dialect)
    if compared is not None and len(whens) > 1:
        repeatable(compared, MOST_TWICE // len(whens))
    branches = []
    for when in whens:
        assert isinstance(when, SpecialForm)
        condition = expression(when.arguments[0], dialect)
        if compared is not None:
            condition = binary(exp.EQ, compared.copy(), condition)
        branches.append((condition, expression(when.arguments[1], dialect)))
    return case(branches, expression(otherwise, dialect))


def _call(node: Call, dialect: str) -> exp.Expr:
    handle = node.functionHandle
    if not isinstance(handle, StaticFunctionHandle):
        raise unsupported(f"Function {node.displayName}", dialect)
    function = handle.signature.name.removeprefix(NAMESPACE)
    folded = _folded(node, dialect)
    if folded is not None:
        return folded
    if dialect == "duckdb" and (made := vectorised(node, expression)) is not None:
        return made
    if function in ("$operator$cast", "try_cast"):
        return _cast(node, function == "try_cast", dialect)
    if function.startswith("$operator$"):
        return _operator(node, function.removeprefix("$operator$"), dialect)
    if function == "mod" and dialect == "spark":
        return _operator(node, "modulus", dialect)
    if function == "$internal$try":
        return _try(node, dialect)
    if function == "like":
        return _like(node, dialect)
    if wholly_in_python(node, function, dialect):
        return program(node, dialect, expression)
    arguments = [expression(a, dialect) for a in node.arguments]
    if function == "not":
        return exp.Paren(this=exp.Not(this=arguments[0]))
    if function == "array_constructor":
        return cast(exp.Array(expressions=arguments), typed(node), dialect)
    return without_repeated(arguments, dialect, lambda made: _function(node, function, made, dialect))


def _function(node: Call, function: str, arguments: list[exp.Expr], dialect: str) -> exp.Expr:
    type_ = typed(node)
    made = spark_overload(node, function, arguments) if dialect == "spark" else None
    if made is not None:
        return made
    if function in ("concat", "length", "element_at", "typeof"):
        special = _overloaded(node, function, arguments, dialect)
        if special is not None:
            return special
    template = SCALARS[dialect].get(function)
    if template is None:
        if runs_in_python(function):
            return program(node, dialect, expression)
        raise unsupported(f"Function {function}", dialect)
    try:
        result = apply(template, arguments)
    except TypeError as error:
        if runs_in_python(function):
            return program(node, dialect, expression)
        raise unsupported(f"Function {function} with {len(arguments)} arguments", dialect) from error
    return cast(result, type_, dialect) if needs_cast(function, type_, dialect) else result


def _overloaded(node: Call, function: str, arguments: list[exp.Expr], dialect: str) -> exp.Expr | None:
    first = typed(node.arguments[0]).base if node.arguments else ""
    if function == "typeof":
        return text(displayed(typed(node.arguments[0])))
    if function == "length" and first == "char":
        # Without its padding the text is shorter than Presto's, which counts it.
        whole = cast(number(length_of(typed(node.arguments[0]))), typed(node), dialect)
        return case([(is_null(arguments[0]), exp.Null())], whole)
    if function == "element_at" and first == "array" and dialect == "spark":
        return call("try_element_at", arguments[0], cast(arguments[1], Type("integer"), dialect))
    if function == "concat":
        if typed(node).base == "array" and dialect == "duckdb":
            return program(node, dialect, expression)
        return _concat(node, first, arguments)
    return None


def _concat(node: Call, first: str, arguments: list[exp.Expr]) -> exp.Expr:
    if typed(node).base == "array":
        whole = _depth(typed(node))
        parts = []
        for given, argument in zip(node.arguments, arguments, strict=True):
            is_array = _depth(typed(given)) == whole
            source = typed(given) if is_array else Type("array", (typed(given),))
            parts.append(renamed(argument if is_array else _list(argument), source, typed(node), "spark"))
        return call("concat", *parts)
    if first == "char":
        left = call("rpad", arguments[0], number(length_of(typed(node.arguments[0]))), text(" "))
        return call("rtrim", binary(exp.DPipe, left, arguments[1]))
    # || gives NULL for a NULL part, as Presto's concat does; the engines' concat() may skip it.
    result = arguments[0]
    for argument in arguments[1:]:
        result = binary(exp.DPipe, result, argument)
    return result


def _depth(type_: Type) -> int:
    """How deep arrays are in each other. Types alone do not tell an element: those of texts have lengths."""
    return 1 + _depth(type_.arguments[0]) if type_.base == "array" else 0


def _list(element: exp.Expr) -> exp.Expr:
    """An element as a list of one; NULL of NULL, which makes Presto's whole result NULL."""
    return case([(is_null(element), exp.Null())], exp.Array(expressions=[element.copy()]))


def _folded(node: Call, dialect: str) -> exp.Expr | None:
    """A call over constants alone, computed here: exact, and with Presto's own errors left to the engine."""
    if not all(isinstance(a, Constant) for a in node.arguments):
        return None
    made = folded(node, zone_of(session_zone()))
    return literal(value_of(made), typed(node), dialect) if isinstance(made, Constant) else None


def _operator(node: Call, operator: str, dialect: str) -> exp.Expr:
    types = [typed(a) for a in node.arguments]
    if operator_in_python(node, operator, dialect):
        if dialect == "spark" and typed(node).base == "decimal":
            return _decimal_program(node, operator, types)
        return program(node, dialect, expression)
    arguments = [expression(a, dialect) for a in node.arguments]
    if operator in COMPARISON:
        return binary(COMPARISON[operator], *arguments)
    if operator == "is_distinct_from":
        arguments = [compared_value(a, k, dialect) for a, k in zip(arguments, types, strict=True)]
        return exp.Paren(this=exp.NullSafeNEQ(this=arguments[0], expression=arguments[1]))
    if operator == "between":
        return exp.Paren(this=exp.Between(this=repeatable(arguments[0], _ALL), low=arguments[1], high=arguments[2]))
    if operator == "negation":
        if dialect == "spark" and types[0].base == "decimal" and types[0].numbers[0] > SPARK_DIGITS:
            return negated(arguments[0], types[0])
        return exp.Paren(this=exp.Neg(this=exp.Paren(this=arguments[0])))
    if operator == "subscript":
        return without_repeated(arguments, dialect, lambda made: subscript(types[0], made, dialect))
    if operator in ("divide", "modulus"):
        return without_repeated(arguments, dialect, lambda made: arithmetic(node, operator, types, made, dialect))
    return arithmetic(node, operator, types, arguments, dialect)


def _decimal_program(node: Call, operator: str, types: list[Type]) -> exp.Expr:
    """The operator by itself, over operands that Spark computes: so our classes in Spark's JVM know it."""
    operands = [cast(expression(a, "spark"), k, "spark") for a, k in zip(node.arguments, types, strict=True)]
    return kernel_call(f"$operator${operator}", tuple(types), typed(node), operands, "spark")


def _like(node: Call, dialect: str) -> exp.Expr:
    value, pattern = node.arguments
    assert isinstance(pattern, Call)
    if dialect == "spark":
        if likes_by_row(pattern):
            return program(node, dialect, expression)  # Spark goes back over what it tried
        steady = steady_like(*(value_of(a) for a in pattern.arguments if isinstance(a, Constant)))
        if steady is not None:
            return _steady(expression(value, dialect), steady)
    inner = [expression(a, dialect) for a in pattern.arguments]
    escape: exp.Expr | None = None
    if len(inner) == 2:
        escape = inner[1]
    elif dialect == "spark":
        # Spark's LIKE escapes with a backslash unless told otherwise; Presto's does not escape.
        inner[0] = call("replace", inner[0], text("\\"), text("\\\\"))
    like: exp.Expr = exp.Like(this=expression(value, dialect), expression=inner[0])
    return exp.Paren(this=exp.Escape(this=like, expression=escape) if escape is not None else like)


def _steady(value: exp.Expr, like: SteadyLike) -> exp.Expr:
    """Most texts lack a piece, which Spark sees in their bytes; a regular expression asks for a text of Java's."""
    found: exp.Expr = exp.RegexpLike(this=value, expression=text(like.pattern))
    if isinstance(value, exp.Column):
        for piece in reversed(like.pieces):
            found = exp.And(this=call("contains", value.copy(), text(piece)), expression=found)
    return exp.Paren(this=found)


def _try(node: Call, dialect: str) -> exp.Expr:
    thunk = node.arguments[0]
    assert isinstance(thunk, Lambda)
    if dialect == "duckdb" or not forgivable(thunk.body) or needs_python(thunk.body, dialect):
        return program(node, dialect, expression)
    tree = expression(thunk.body, dialect)
    return program(node, dialect, expression) if calls_python(tree) else forgiving(tree)


def _cast(node: Call, attempt: bool, dialect: str) -> exp.Expr:
    inner = node.arguments[0]
    source, target = typed(inner), typed(node)
    if source.base == "unknown" and isinstance(inner, Variable | Constant) and target.base not in OPAQUE:
        # Engines hold it as a number, which they would not cast to dates, bytes or arrays.
        return cast(exp.Null(), target, dialect)
    instants = {source.base, target.base}
    zoned = "timestamp with time zone" in instants and len(instants) > 1 and session_zone() != "UTC"
    zoned |= source.base in TEXT and target.base == "timestamp" and session_zone() != "UTC"
    if cast_in_python(source, target, dialect) or (carries_zone(inner) and source != target) or zoned:
        return program(node, dialect, expression)
    value = expression(inner, dialect)
    return without_repeated([value], dialect, lambda made: _cast_value(made[0], source, target, attempt, dialect))


def _cast_value(value: exp.Expr, source: Type, target: Type, attempt: bool, dialect: str) -> exp.Expr:
    if target.base in OPAQUE:
        return value
    if target.base in TEXT and source.base in TEXT:
        return text_to_text(value, source, target, dialect)
    if source.base in ("double", "real", "decimal") and target.base in INTEGERS:
        # The engines cut or round to even; Presto rounds half away from zero.
        value = call("round", value)
    if target.base == "timestamp with time zone" and source.base in TEXT and dialect == "duckdb":
        value = call("regexp_replace", value, text(r"(\d) ([+-]\d)"), text(r"\1\2"))
    if dialect == "spark" and (made := cast_on_spark(value, source, target, attempt=attempt)) is not None:
        return made
    if target.base == "varchar" and source.base in SHOWN:
        return shown_as_text(value, source, target, dialect)
    if source.base == target.base and source.base in ("row", "array", "map") and differs(source, target, dialect):
        value = renamed(value, source, target, dialect)
    result = cast(value, target, dialect, attempt=attempt)
    if target.base == "varchar" and target.numbers and source.base == "bigint":
        return represented(result, target, attempt, dialect)
    return result

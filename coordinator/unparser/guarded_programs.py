"""Programs of Spark's JVM in branches of IF and CASE: Python, in its place, would be called for the rows of all.

Over NULL a program does nothing: a quotient of decimals, or a ``date_parse``, in a branch gets NULL in the rows that
take another one, and Spark chooses among the branches. ``IF(b = 0, 0, a / b)`` is asked for in every second report.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from coordinator.expressions.builders import constant, special, typed
from coordinator.unparser.java_calls import in_jvm, name_of, never_fails
from coordinator.unparser.program_choice import needs_python
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.traversal import walk_expression

Guard = Callable[[RowExpression], SpecialForm]
"""An expression where a branch is taken, elsewhere NULL."""


MOST_GUARDED = 8
"""Branches of a form, and quotients in it: each has the form around it once more."""
_QUOTIENTS = ("DIVIDE", "MODULUS")


class _OtherProgramError(Exception):
    """More than a few that may fail, or one that is none of the JVM's."""


def with_guarded_programs(form: SpecialForm) -> SpecialForm | None:
    """An IF, SWITCH or COALESCE that Spark may compute branch by branch; None where that takes other programs."""
    if len(form.arguments) > MOST_GUARDED + 2 or sum(map(_may_fail, walk_expression(form))) > MOST_GUARDED:
        return None
    try:
        match form:
            case SpecialForm(form="IF", arguments=(condition, *values)):
                _check(condition, always=True)
                made = [_guarded(value, _taken(form, place)) for place, value in enumerate(values, 1)]
                return replace(form, arguments=(condition, *made))
            case SpecialForm(form="SWITCH", arguments=(operand, *_)):
                _check(operand, always=True)
                changed = [_branch(form, place) for place in range(1, len(form.arguments))]
                return replace(form, arguments=(operand, *changed))
            case SpecialForm(form="COALESCE", arguments=(first, *others)):
                for each in others:
                    _check(each)
                return replace(form, arguments=(_guarded(first, None), *others))
    except _OtherProgramError:
        pass
    return None


def _check(expression: RowExpression, *, always: bool = False) -> None:
    """What is computed whichever branch is taken must not fail, but where it is computed in any case."""
    if only_unfailing(expression):
        return
    branches = isinstance(expression, SpecialForm) and expression.form in ("IF", "SWITCH", "COALESCE")
    by_itself = isinstance(expression, Call) and needs_python(_over_columns(expression), "spark")
    if not always or branches or isinstance(expression, Lambda) or (by_itself and not in_jvm(expression)):
        raise _OtherProgramError
    lazy = isinstance(expression, SpecialForm) and expression.form in ("AND", "OR")
    for place, argument in enumerate(_arguments(expression)):
        _check(argument, always=not lazy or place == 0)


def only_unfailing(expression: RowExpression) -> bool:
    """Whether no program in it can fail, so that it may be computed for any row."""
    if not needs_python(expression, "spark"):
        return True
    if isinstance(expression, Call):
        by_itself = needs_python(_over_columns(expression), "spark")
        if by_itself and not (in_jvm(expression) and never_fails(expression)):
            return False
        if name_of(expression) == "$internal$try":
            return True
    given = _arguments(expression)
    return bool(given) and all(map(only_unfailing, given))


def _arguments(expression: RowExpression) -> tuple[RowExpression, ...]:
    given = expression.arguments if isinstance(expression, Call | SpecialForm) else ()
    return tuple(a for a in given if not isinstance(a, Lambda) and typed(a).base != "jsonpath")


def _branch(form: SpecialForm, place: int) -> RowExpression:
    branch, taken = form.arguments[place], _taken(form, place)
    if isinstance(branch, SpecialForm) and branch.form == "WHEN":
        condition, value = branch.arguments
        _check(condition)
        return replace(branch, arguments=(condition, _guarded(value, taken)))
    return _guarded(branch, taken)


def _taken(form: SpecialForm, place: int) -> Guard:
    """The form with NULL for all values but the one at ``place``."""

    def guard(value: RowExpression) -> SpecialForm:
        type_ = typed(value)
        null = constant(None, type_)
        made: list[RowExpression] = [form.arguments[0]]
        for number, each in enumerate(form.arguments[1:], 1):
            chosen: RowExpression = value if number == place else null
            if isinstance(each, SpecialForm) and each.form == "WHEN":
                chosen = special("WHEN", type_, each.arguments[0], chosen)
            made.append(chosen)
        return special(form.form, type_, *made)

    return guard


def _guarded(expression: RowExpression, guard: Guard | None, *, inside: bool = False) -> RowExpression:
    """``inside`` of what may fail, which must get NULL."""
    if not needs_python(expression, "spark") or (not inside and only_unfailing(expression)):
        return expression
    if not isinstance(expression, Call):
        raise _OtherProgramError
    if not needs_python(_over_columns(expression), "spark"):
        if inside:
            raise _OtherProgramError
        return replace(expression, arguments=tuple(_guarded(a, guard) for a in expression.arguments))
    if in_jvm(expression):
        return _guarded_call(expression, guard, fails=inside or not never_fails(expression))
    if typed(expression).base != "decimal" or not _is_quotient(expression):
        raise _OtherProgramError
    for operand in expression.arguments:
        _check(operand)
    dividend, divisor = expression.arguments
    return expression if guard is None else replace(expression, arguments=(guard(dividend), divisor))


def _guarded_call(expression: Call, guard: Guard | None, *, fails: bool) -> Call:
    """By its first argument, of which NULL makes NULL; ``fails`` where it, or what is made of it, may."""
    if name_of(expression) == "$internal$try":
        if fails:
            raise _OtherProgramError
        return expression
    first, *others = expression.arguments
    for other in others:
        if typed(other).base != "jsonpath":
            _check(other)
    if needs_python(first, "spark"):
        first = _guarded(first, guard, inside=fails)
    elif guard is not None and fails:
        first = guard(first)
    return replace(expression, arguments=(first, *others))


def _is_quotient(node: RowExpression) -> bool:
    return isinstance(node, Call) and node.displayName in _QUOTIENTS


def _may_fail(node: RowExpression) -> bool:
    return _is_quotient(node) or (in_jvm(node) and not never_fails(node))


def _over_columns(call: Call) -> Call:
    """The call by itself."""
    arguments = (a if isinstance(a, Lambda) else Variable(name="x", type=str(typed(a))) for a in call.arguments)
    return replace(call, arguments=tuple(arguments))

"""Quotients of decimals in branches of IF and CASE on Spark, where a program is called for the rows of all of them.

Over NULL a program does nothing: a quotient in a branch gets NULL in the rows that take another one, and Spark chooses
among the branches. ``IF(b = 0, 0, a / b)`` is asked for in every second report.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from coordinator.expressions.builders import constant, special, typed
from coordinator.unparser.program_choice import needs_python
from shared.plan.expressions import Call, Lambda, RowExpression, SpecialForm, Variable
from shared.plan.traversal import walk_expression

Guard = Callable[[RowExpression], SpecialForm]
"""An expression where a branch is taken, elsewhere NULL."""


MOST_GUARDED = 8
"""Branches of a form, and quotients in it: each has the form around it once more."""
_QUOTIENTS = ("DIVIDE", "MODULUS")


class _OtherProgramError(Exception):
    """More than a few quotients of what Spark computes."""


def with_guarded_quotients(form: SpecialForm) -> SpecialForm | None:
    """An IF, SWITCH or COALESCE that Spark may compute branch by branch; None where that takes other programs."""
    if len(form.arguments) > MOST_GUARDED + 2 or sum(map(_is_quotient, walk_expression(form))) > MOST_GUARDED:
        return None
    try:
        match form:
            case SpecialForm(form="IF", arguments=(condition, *values)):
                _check(condition)
                made = [_guarded(value, _taken(form, place)) for place, value in enumerate(values, 1)]
                return replace(form, arguments=(condition, *made))
            case SpecialForm(form="SWITCH", arguments=(operand, *_)):
                _check(operand)
                changed = [_branch(form, place) for place in range(1, len(form.arguments))]
                return replace(form, arguments=(operand, *changed))
            case SpecialForm(form="COALESCE", arguments=(first, *others)):
                for each in others:
                    _check(each)
                return replace(form, arguments=(_guarded(first, None), *others))
    except _OtherProgramError:
        pass
    return None


def _check(expression: RowExpression) -> None:
    if needs_python(expression, "spark"):
        raise _OtherProgramError


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


def _guarded(expression: RowExpression, guard: Guard | None) -> RowExpression:
    if not needs_python(expression, "spark"):
        return expression
    if not isinstance(expression, Call):
        raise _OtherProgramError
    if not needs_python(_over_columns(expression), "spark"):
        return replace(expression, arguments=tuple(_guarded(a, guard) for a in expression.arguments))
    if typed(expression).base != "decimal" or not _is_quotient(expression):
        raise _OtherProgramError
    for operand in expression.arguments:
        _check(operand)
    dividend, divisor = expression.arguments
    return expression if guard is None else replace(expression, arguments=(guard(dividend), divisor))


def _is_quotient(node: RowExpression) -> bool:
    return isinstance(node, Call) and node.displayName in _QUOTIENTS


def _over_columns(call: Call) -> Call:
    """The call by itself."""
    arguments = (a if isinstance(a, Lambda) else Variable(name="x", type=str(typed(a))) for a in call.arguments)
    return replace(call, arguments=tuple(arguments))

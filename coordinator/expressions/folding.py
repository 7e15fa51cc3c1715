"""The values of expressions that read no row, by the evaluator that runs them on rows too: ``kernels.functions``."""

from __future__ import annotations

from datetime import tzinfo

from coordinator.expressions.builders import constant, typed, value_of
from coordinator.expressions.clock import note_clock
from coordinator.expressions.kernel_values import from_kernel, raised
from coordinator.expressions.programs import ProgramBuilder
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.program import evaluated
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable

_LONGEST = 1 << 16
"""Characters of the longest constant that is put into a plan in place of its expression."""


class NotConstantError(Exception):
    """The expression needs a row, gives another value each time, or has no value that Python holds."""


def evaluate(expression: RowExpression, zone: tzinfo) -> object:
    """The value as ``shared.spi.procedure.Arguments`` says.

    Raises NotConstantError, or ProcessionError as Presto does at run time.
    """
    if isinstance(expression, Constant):
        return value_of(expression)
    if isinstance(expression, Variable | Lambda):
        raise NotConstantError(_named(expression))
    build = ProgramBuilder(_not_here)
    program = build.expression(expression)
    if build.columns or build.volatile:
        raise NotConstantError(_named(next(iter(build.columns), expression)))
    if _reads_clock(expression):
        note_clock()
    try:
        return from_kernel(evaluated(program, zone), typed(expression))
    except KernelError as error:
        raise raised(error) from error
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise NotConstantError(str(error)) from error


def folded(expression: RowExpression, zone: tzinfo) -> RowExpression:
    """The constant that the expression is; itself where it is none, fails when it runs, or is long.

    Raises ProcessionError for what takes too long: it would hold an engine just as it holds the planner.
    """
    if isinstance(expression, Constant):
        return expression
    try:
        made = constant(evaluate(expression, zone), typed(expression))
    except (NotConstantError, ValueError):
        return expression
    except ProcessionError as error:
        if error.code is ErrorCode.EXCEEDED_TIME_LIMIT:
            raise
        return expression
    return expression if len(made.valueBlock) > _LONGEST else made


def _named(expression: RowExpression) -> str:
    match expression:
        case Variable():
            return expression.name
        case Call():
            return expression.displayName
        case _:
            return "an expression"


def _not_here(what: str) -> ProcessionError:
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"{what} is not supported")


def _reads_clock(expression: RowExpression) -> bool:
    """A time with time zone is as far from UTC as its zone is today."""
    match expression:
        case Call() | SpecialForm():
            clock = "time with time zone" in expression.returnType
            return clock or any(_reads_clock(a) for a in expression.arguments)
        case Lambda():
            return _reads_clock(expression.body)
        case _:
            return "time with time zone" in expression.type

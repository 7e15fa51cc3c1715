"""Programs as calls of an engine, with what it computes itself as columns of those that take whole columns.

On Spark those are what its JVM computes, too.
"""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.expressions.types import INTEGERS
from coordinator.unparser.guarded_programs import only_unfailing
from coordinator.unparser.java_calls import by_engine, in_jvm, name_of, unfailing
from coordinator.unparser.program_choice import needs_python
from coordinator.unparser.programs import Unparse, python_call
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, SpecialForm, Variable

_READERS = ("from_iso8601_timestamp", "from_iso8601_date")


def program(node: RowExpression, dialect: str, unparse: Unparse) -> exp.Expr:
    """The call of the program of ``node``. Raises NOT_SUPPORTED for a function that the kernels lack too."""
    return python_call(node, dialect, unparse, by_engine=_left_to_spark if dialect == "spark" else _read_by_columns)


def _read_by_columns(call: RowExpression, argument: RowExpression, tried: bool) -> bool:
    """Whether a text that is read column by column may be one that the engine computes."""
    computed = not isinstance(argument, Constant | Lambda | Variable) and typed(argument).base == "varchar"
    return computed and name_of(call) in _READERS and (not tried or unfailing(argument))


def _left_to_spark(call: RowExpression, argument: RowExpression, tried: bool) -> bool:
    if _read_by_columns(call, argument, tried) and in_jvm(argument):
        return True
    if not (by_engine(call, argument, tried) or _read_by_columns(call, argument, tried)) or _is_whole(argument):
        return False
    return only_unfailing(argument) if isinstance(argument, SpecialForm) else not needs_python(argument, "spark")


def _is_whole(node: RowExpression) -> bool:
    """A whole number as a double, which our classes take as it is."""
    cast = isinstance(node, Call) and name_of(node) == "$operator$cast" and typed(node).base == "double"
    if not cast or not isinstance(node, Call):
        return False
    return isinstance(node.arguments[0], Variable) and typed(node.arguments[0]).base in INTEGERS

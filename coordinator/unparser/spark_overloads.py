"""Overloads of functions on Spark: those of dates go by days, as its functions of any unit make timestamps of them."""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import typed, value_of
from coordinator.expressions.types import BIGINT, DATE
from coordinator.unparser.spark_numbers import SPARK_NUMBERS, spark_number
from coordinator.unparser.trees import binary, call, cast, number, text
from shared.plan.expressions import Call, Constant

_DAYS, _MONTHS = {"day": 1, "week": 7}, {"month": 1, "quarter": 3, "year": 12}
_MOST_STEPS = 1_000_000
"""Beyond its numbers Spark's dates begin anew, where its timestamps fail."""


def spark_overload(node: Call, function: str, arguments: list[exp.Expr]) -> exp.Expr | None:
    """The call where Spark has another function for these types; None for other calls."""
    if function in SPARK_NUMBERS:
        return spark_number(node, function, arguments[0])
    return _of_days(node, function, arguments) if function in ("date_add", "date_diff", "date_trunc") else None


def _of_days(node: Call, function: str, arguments: list[exp.Expr]) -> exp.Expr | None:
    """Over dates; None for other types, and where the unit is none of a date's or differs by row."""
    unit = _constant(node, 0)
    dates = node.arguments[1:] if function == "date_diff" else node.arguments[-1:]
    if not isinstance(unit, str) or any(typed(each).base != "date" for each in dates):
        return None
    days, months = _DAYS.get(unit.lower()), _MONTHS.get(unit.lower())
    match function, _constant(node, 1):
        case "date_trunc", _ if days == 1:
            return arguments[1]
        case "date_trunc", _ if days or months:
            return cast(call("trunc", arguments[1], text(unit.upper())), DATE, "spark")
        case "date_add", int(count) if abs(count) <= _MOST_STEPS and (days or months):
            name, steps = ("date_add", days) if days else ("add_months", months or 1)
            return cast(call(name, arguments[2], number(count * steps)), DATE, "spark")
        case "date_diff", _ if days:
            apart = cast(call("datediff", arguments[2], arguments[1]), BIGINT, "spark")
            return apart if days == 1 else cast(binary(exp.IntDiv, apart, number(days)), BIGINT, "spark")
    return None


def _constant(node: Call, place: int) -> object:
    argument = node.arguments[place]
    return value_of(argument) if isinstance(argument, Constant) else None

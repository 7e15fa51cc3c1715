"""Between which numbers expressions lie, from the bounds that files keep of their columns: interval arithmetic.

Dates count as days, timestamps as microseconds, both since 1970; other types have no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from coordinator.expressions.builders import value_of
from coordinator.optimizer.rule import ColumnBoundsOf
from shared.plan import nodes
from shared.plan.expressions import Call, Constant, RowExpression, Variable, type_of
from shared.plan.nodes import PlanNode
from shared.plan.traversal import sources, variable_of_key
from shared.plan.types import parse_type
from shared.spi.handles import column_name

_WHOLE = frozenset({"tinyint", "smallint", "integer", "bigint", "date"})
_NUMBERS = _WHOLE | {"decimal", "double", "real", "timestamp"}
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Interval:
    """All values are from ``low`` to ``high``; ``whole``: they are integers."""

    low: float
    high: float
    whole: bool = False

    @property
    def values(self) -> float:
        """How many values there can be, as far as they can be counted."""
        return self.high - self.low + 1 if self.whole else math.inf

    def share_below(self, limit: float, *, inclusive: bool) -> float:
        """The share of values below ``limit`` if they are spread evenly."""
        if self.whole:
            last = math.floor(limit) if inclusive else math.ceil(limit) - 1
            return min(1.0, max(0.0, (last - self.low + 1) / self.values))
        if self.low == self.high:
            return float(self.low <= limit if inclusive else self.low < limit)
        return min(1.0, max(0.0, (limit - self.low) / (self.high - self.low)))


Intervals = Mapping[str, Interval]
"""By variable, whose names are unique in a plan."""


def intervals(root: PlanNode, bounds_of: ColumnBoundsOf) -> Intervals:
    """Of all variables of a plan for which they are known."""
    return dict(_found(root, bounds_of, {}))


def _found(node: PlanNode, bounds_of: ColumnBoundsOf, known: dict[str, Interval]) -> Iterator[tuple[str, Interval]]:
    for source in sources(node):
        known |= dict(_found(source, bounds_of, known))
    match node:
        case nodes.TableScanNode():
            bounds = bounds_of(node)
            for key, handle in node.assignments.items():
                variable = variable_of_key(key)
                ranges = bounds.get(column_name(handle))
                base = parse_type(variable.type).base
                if ranges and base in _NUMBERS:
                    low, high = min(r.low for r in ranges), max(r.high for r in ranges)
                    known[variable.name] = Interval(low, high, whole=base in _WHOLE)
        case nodes.ProjectNode():
            for key, expression in node.assignments.assignments.items():
                found = interval(expression, known)
                if found is not None:
                    known[variable_of_key(key).name] = found
        case _:
            pass
    yield from known.items()


def interval(expression: RowExpression, known: Intervals) -> Interval | None:
    """Where the values of ``expression`` are; None when nothing is known."""
    match expression:
        case Variable(name=name):
            return known.get(name)
        case Constant(type=found_type):
            base = parse_type(found_type).base
            number = _number(value_of(expression)) if base in _NUMBERS else None
            return None if number is None else Interval(number, number, whole=base in _WHOLE)
        case Call(displayName=name) if all(_is_number(type_) for type_ in _types(expression)):
            parts = [interval(argument, known) for argument in expression.arguments]
            if any(part is None for part in parts):
                return None
            return _computed(name.lower(), [part for part in parts if part is not None], expression)
        case _:
            return None


def _is_number(type_: str) -> bool:
    return not type_.startswith("function(") and parse_type(type_).base in _NUMBERS


def _types(call: Call) -> list[str]:
    return [call.returnType, *map(type_of, call.arguments)]


def _computed(name: str, parts: list[Interval], call: Call) -> Interval | None:
    whole = all(part.whole for part in parts)
    match name, parts:
        case "add", [a, b]:
            return Interval(a.low + b.low, a.high + b.high, whole)
        case "subtract", [a, b]:
            return Interval(a.low - b.high, a.high - b.low, whole)
        case "multiply", [a, b]:
            products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return Interval(min(products), max(products), whole)
        case "negation", [a]:
            return Interval(-a.high, -a.low, whole)
        case "cast", [a]:
            target = parse_type(call.returnType).base
            same = (target in ("date", "timestamp")) == (_types(call)[1].startswith(("date", "timestamp")))
            if not same or target in ("date", "timestamp"):
                return None
            # Rounding to whole numbers moves a bound by less than one.
            return Interval(math.floor(a.low), math.ceil(a.high), whole=True) if target in _WHOLE else a
        case _:
            return None


def _number(value: object) -> float | None:
    match value:
        case bool() | None:
            return None
        case int() | float() | Decimal():
            return float(value)
        case datetime():
            return (value.replace(tzinfo=None) - _EPOCH).total_seconds() * 1e6
        case date():
            return float((value - _EPOCH.date()).days)
        case _:
            return None

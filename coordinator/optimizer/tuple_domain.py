"""What a predicate says of single columns, as Presto's domains: sorted, disjoint ranges and whether NULL passes.

A domain may hold more values than the predicate accepts, never fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shared.plan.blocks import decode_constant
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.types import parse_type

_ORDERED = {
    "bigint",
    "integer",
    "smallint",
    "tinyint",
    "double",
    "real",
    "decimal",
    "varchar",
    "date",
    "timestamp",
    "boolean",
}
_MAX_RANGES = 1000
_FLIPPED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range: the value, its wire block, and whether it belongs to the range."""

    value: Any
    block: str
    inclusive: bool


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` to ``high``; None is unbounded."""

    low: Bound | None
    high: Bound | None


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a column may have; ``ranges`` None stands for every value that is not NULL."""

    type: str
    ranges: tuple[Range, ...] | None
    null_allowed: bool

    def intersect(self, other: Domain) -> Domain:
        """The values in both."""
        null_allowed = self.null_allowed and other.null_allowed
        if self.ranges is None or other.ranges is None:
            return Domain(self.type, self.ranges if other.ranges is None else other.ranges, null_allowed)
        met = [_meet(a, b) for a in self.ranges for b in other.ranges]  # both sorted, so the result is
        return Domain(self.type, tuple(r for r in met if r is not None), null_allowed)

    def wire(self) -> dict[str, object]:
        """Presto's Domain JSON."""
        ranges = (Range(None, None),) if self.ranges is None else self.ranges
        values = [{"low": self._marker(r.low, low=True), "high": self._marker(r.high, low=False)} for r in ranges]
        return {
            "values": {"@type": "sortable", "type": self.type, "ranges": values},
            "nullAllowed": self.null_allowed,
        }

    def _marker(self, bound: Bound | None, *, low: bool) -> dict[str, object]:
        outside = "ABOVE" if low else "BELOW"
        if bound is None:
            return {"type": self.type, "bound": outside}
        return {"type": self.type, "valueBlock": bound.block, "bound": "EXACTLY" if bound.inclusive else outside}


def column_domains(predicate: RowExpression) -> dict[Variable, Domain]:
    """The domains of the columns that the conjuncts of ``predicate`` compare with constants."""
    domains: dict[Variable, Domain] = {}
    for conjunct in _conjuncts(predicate):
        found = _domain(conjunct)
        if found is None:
            continue
        variable, domain = found
        key = Variable(name=variable.name, type=variable.type)
        domains[key] = domain if key not in domains else domains[key].intersect(domain)
    return domains


def _conjuncts(predicate: RowExpression) -> list[RowExpression]:
    if isinstance(predicate, SpecialForm) and predicate.form == "AND":
        return [part for argument in predicate.arguments for part in _conjuncts(argument)]
    return [predicate]


def _domain(conjunct: RowExpression) -> tuple[Variable, Domain] | None:
    match conjunct:
        case Variable(type="boolean"):
            return None
        case Call(displayName="not" | "NOT", arguments=(SpecialForm(form="IS_NULL", arguments=(Variable() as v,)),)):
            return _ordered(v, None)
        case SpecialForm(form="IS_NULL", arguments=(Variable() as v,)):
            return (v, Domain(v.type, (), null_allowed=True)) if _is_ordered(v) else None
        case SpecialForm(form="IN", arguments=(Variable() as v, *options)):
            return _in(v, options)
        case Call(arguments=arguments):
            return _comparison(_operator(conjunct), arguments)
        case _:
            return None


def _operator(call: Call) -> str:
    signature = getattr(call.functionHandle, "signature", None)
    name = "" if signature is None else signature.name
    return name.rpartition("$operator$")[2] if "$operator$" in name else ""


def _comparison(operator: str, arguments: tuple[RowExpression, ...]) -> tuple[Variable, Domain] | None:
    match operator, arguments:
        case "between", (Variable() as v, Constant() as low, Constant() as high):
            lower, upper = _bound(low, inclusive=True), _bound(high, inclusive=True)
            if lower is None or upper is None:
                return None
            between = _meet(Range(lower, None), Range(None, upper))
            return _ordered(v, () if between is None else (between,))
        case _, (Variable() as v, Constant() as constant) if operator in _FLIPPED:
            return _compared(v, operator, constant)
        case _, (Constant() as constant, Variable() as v) if operator in _FLIPPED:
            return _compared(v, _FLIPPED[operator], constant)
        case _:
            return None


def _compared(variable: Variable, operator: str, constant: Constant) -> tuple[Variable, Domain] | None:
    bound = _bound(constant, inclusive=operator not in {"less_than", "greater_than", "not_equal"})
    if bound is None:
        return None
    match operator:
        case "equal":
            ranges: tuple[Range, ...] = (Range(bound, bound),)
        case "not_equal":
            ranges = (Range(None, bound), Range(bound, None))
        case "less_than" | "less_than_or_equal":
            ranges = (Range(None, bound),)
        case _:
            ranges = (Range(bound, None),)
    return _ordered(variable, ranges)


def _in(variable: Variable, options: list[RowExpression]) -> tuple[Variable, Domain] | None:
    bounds: dict[Any, Bound] = {}
    for option in options:
        bound = _bound(option, inclusive=True) if isinstance(option, Constant) else None
        if bound is None or len(bounds) >= _MAX_RANGES:
            return None
        bounds[bound.value] = bound
    ranges = tuple(Range(bounds[value], bounds[value]) for value in sorted(bounds))
    return _ordered(variable, ranges)


def _bound(constant: Constant, *, inclusive: bool) -> Bound | None:
    if not _is_ordered(constant):
        return None
    value = decode_constant(constant.valueBlock, constant.type)
    if value is None or value != value:  # NULL and NaN compare with nothing
        return None
    return Bound(value, constant.valueBlock, inclusive)


def _is_ordered(expression: Variable | Constant) -> bool:
    return parse_type(expression.type).base in _ORDERED


def _ordered(variable: Variable, ranges: tuple[Range, ...] | None) -> tuple[Variable, Domain] | None:
    return (variable, Domain(variable.type, ranges, null_allowed=False)) if _is_ordered(variable) else None


def _meet(a: Range, b: Range) -> Range | None:
    low = a.low if _compare_low(a.low, b.low) >= 0 else b.low
    high = a.high if _compare_high(a.high, b.high) <= 0 else b.high
    if low is None or high is None or low.value < high.value:
        return Range(low, high)
    empty = low.value > high.value or not (low.inclusive and high.inclusive)
    return None if empty else Range(low, high)


def _compare_low(a: Bound | None, b: Bound | None) -> int:
    if a is None or b is None:
        return (b is None) - (a is None)
    if a.value != b.value:
        return 1 if a.value > b.value else -1
    return b.inclusive - a.inclusive


def _compare_high(a: Bound | None, b: Bound | None) -> int:
    if a is None or b is None:
        return (a is None) - (b is None)
    if a.value != b.value:
        return 1 if a.value > b.value else -1
    return a.inclusive - b.inclusive

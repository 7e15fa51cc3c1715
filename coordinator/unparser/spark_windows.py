"""Window frames and offsets that Spark refuses: empty frames, numbers beyond an int, offsets that are no constants."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from coordinator.expressions.builders import value_of
from coordinator.unparser.frames import constant_offset
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.trees import cast, number
from shared.plan.expressions import Call, Constant, RowExpression, Variable
from shared.plan.nodes import WindowFrame
from shared.plan.types import parse_type

_FAR = 1_000_000_000
"""Beyond the rows that a window's partition has in one task; twice as much is still an int, which Spark computes in."""
_PLACES = {"ntile": 0, "nth_value": 1, "lag": 1, "lead": 1}


def without_offset(function: str, node: Call, known: Mapping[str, RowExpression]) -> exp.Expr | None:
    """NULL where the offset of a function is; raises NOT_SUPPORTED where it differs by row, which Spark cannot do."""
    place = _PLACES.get(function)
    if place is None or len(node.arguments) <= place:
        return None
    offset = node.arguments[place]
    if isinstance(offset, Variable):
        offset = known.get(offset.name, offset)
    if not isinstance(offset, Constant):
        raise unsupported(f"{function} whose offset is no constant", "spark")
    return cast(exp.Null(), parse_type(node.returnType), "spark") if value_of(offset) is None else None


def fitted(frame: WindowFrame, known: Mapping[str, RowExpression]) -> exp.WindowSpec | None:
    """A frame in place of one that Spark refuses; None for the others. Raises NOT_SUPPORTED where there is none."""
    start = _offset(frame, frame.startType, frame.startValue, known)
    end = _offset(frame, frame.endType, frame.endValue, known)
    if frame.type == "RANGE":
        _refuse_range(frame, start, end)
        return None
    low, high = _rows(frame.startType, start), _rows(frame.endType, end)
    if low > high or low > _FAR or high < -_FAR:
        return _spec(_FAR, "FOLLOWING", _FAR, "FOLLOWING", "ROWS")
    if low >= -_FAR and high <= _FAR:
        return None
    if frame.startType.startswith("UNBOUNDED") and frame.endType.startswith("UNBOUNDED"):
        return None
    first = None if low < -_FAR else abs(low)
    last = None if high > _FAR else abs(high)
    sides = ("PRECEDING" if low <= 0 else "FOLLOWING", "PRECEDING" if high <= 0 else "FOLLOWING")
    return _spec(first, sides[0], last, sides[1], "ROWS" if frame.type == "ROWS" else "RANGE")


def _spec(first: int | None, side: str, last: int | None, last_side: str, kind: str) -> exp.WindowSpec:
    def bound(count: int | None) -> exp.Expr | str:
        return "UNBOUNDED" if count is None else number(count)

    return exp.WindowSpec(kind=kind, start=bound(first), start_side=side, end=bound(last), end_side=last_side)


def _offset(
    frame: WindowFrame, kind: str, value: Variable | None, known: Mapping[str, RowExpression]
) -> Constant | None:
    if value is None or kind not in ("PRECEDING", "FOLLOWING"):
        return None
    return constant_offset(frame, value, dict(known))


def _rows(kind: str, offset: Constant | None) -> int:
    """A bound as a distance in rows, those before the current one negative."""
    if kind == "CURRENT_ROW":
        return 0
    if kind.startswith("UNBOUNDED"):
        return -(2**63) if kind.endswith("PRECEDING") else 2**63
    count = value_of(offset) if offset is not None else None
    rows = count if isinstance(count, int) else 0
    return -rows if kind == "PRECEDING" else rows


def _refuse_range(frame: WindowFrame, start: Constant | None, end: Constant | None) -> None:
    if start is None or end is None:
        return
    if start.type != end.type and "interval" in start.type:
        raise unsupported("A window frame between months and shorter times", "spark")
    nearer, farther = (start, end) if frame.endType == "PRECEDING" else (end, start)
    if frame.startType == frame.endType and _less(value_of(nearer), value_of(farther)):
        raise unsupported("A window frame that ends before it starts", "spark")


def _less(left: object, right: object) -> bool:
    try:
        return bool(left < right)  # type: ignore[operator]
    except TypeError:
        return False

"""CAST: which pairs of types Presto casts. The values are ``kernels.functions.casts``'s."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.analyzer.context import Analyze, Context
from coordinator.expressions.builders import cast, function_call, typed
from coordinator.expressions.types import DOUBLE, INTEGERS, NUMERIC, read_type, type_text
from coordinator.sql.tree.expressions import Cast
from shared.errors import ErrorCode
from shared.plan.expressions import RowExpression
from shared.plan.types import Type

_TEXT = ("varchar", "char")
_DATETIME = ("date", "timestamp", "timestamp with time zone")
_FROM_TEXT = (
    *NUMERIC, *_TEXT, *_DATETIME, "boolean", "varbinary", "json", "time", "time with time zone", "uuid", "ipaddress",
    "ipprefix",
)  # fmt: skip
_CASTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMERIC, (*NUMERIC, "varchar", "boolean", "json")),
    "boolean": (*NUMERIC, "varchar", "json"),
    "varchar": _FROM_TEXT,
    "char": (*INTEGERS, "real", "double", *_TEXT),
    "date": (*_DATETIME, "varchar", "json"),
    "timestamp": (*_DATETIME, "time", "varchar", "json", "time with time zone"),
    "timestamp with time zone": (*_DATETIME, "time", "time with time zone", "varchar"),
    "time": ("time with time zone", "timestamp", "timestamp with time zone", "varchar"),
    "time with time zone": ("time", "timestamp", "timestamp with time zone", "varchar"),
    "json": (*NUMERIC, "varchar", "boolean", "array", "map", "row"),
    "array": ("json",),
    "map": ("json",),
    "row": ("json",),
    "uuid": ("varchar", "varbinary"),
    "ipaddress": ("varchar", "varbinary", "ipprefix"),
    "ipprefix": ("varchar", "ipaddress"),
    "varbinary": ("hyperloglog", "uuid", "ipaddress", "tdigest", "qdigest", "khyperloglog", "setdigest", "sfmsketch"),
    "interval day to second": ("varchar",),
    "interval year to month": ("varchar",),
    "hyperloglog": ("varbinary", "p4hyperloglog"),
    "p4hyperloglog": ("hyperloglog",),
    "tdigest": ("varbinary",),
    **dict.fromkeys(("qdigest", "setdigest", "khyperloglog", "sfmsketch"), ("varbinary",)),
}
_SKETCHES = ("hyperloglog", "p4hyperloglog", "tdigest", "qdigest", "khyperloglog", "setdigest", "sfmsketch")
_DOUBLES = Type("tdigest", (DOUBLE,))


def can_cast(source: Type, target: Type) -> bool:
    """Whether ``CAST(source AS target)`` exists."""
    if source == target or source.base == "unknown":
        return True
    if source.base == target.base and source.base in ("array", "map", "row"):
        if len(source.parameters) != len(target.parameters):
            return False
        return all(can_cast(s, t) for s, t in zip(source.arguments, target.arguments, strict=True))
    if source.base == target.base:
        return True
    if "tdigest" in (source.base, target.base) and _DOUBLES not in (source, target):
        return False
    if source.base in ("uuid", "ipaddress", "ipprefix") and target.base == "varchar":
        return not target.numbers
    return target.base in _CASTS.get(source.base, ())


def _without_json(type_: Type) -> bool:
    """Whether something in it has no form in JSON (Presto's JsonUtil)."""
    if type_.arguments and type_.base in ("array", "map", "row"):
        return any(map(_without_json, type_.arguments))
    return type_.base == "varbinary" or type_.base.startswith("interval") or type_.base in _SKETCHES


def analyze_cast(node: Cast, context: Context, analyze: Analyze) -> RowExpression:
    """``CAST(value AS type)`` and ``TRY_CAST``."""
    value = analyze(node.expression, context)
    try:
        target = read_type(node.type)
    except ValueError as error:
        raise context.error(node, str(error)) from error
    if target.base == "unknown":
        raise context.error(node, "UNKNOWN is not a valid type")
    source = typed(value)
    if not can_cast(source, target):
        raise context.error(node, f"Cannot cast {type_text(source)} to {type_text(target)}")
    if target.base == "json" and source.arguments and _without_json(source):
        message = f"Cannot cast {type_text(source)} to JSON"
        raise context.planning_error(node, message, ErrorCode.INVALID_CAST_ARGUMENT)
    if source.base == "json" and target.arguments and _without_json(target):
        message = f"Cannot cast JSON to {type_text(target)}"
        raise context.planning_error(node, message, ErrorCode.INVALID_CAST_ARGUMENT)
    if node.safe:
        return function_call("try_cast", (value,), target, display="TRY_CAST")
    made = cast(value, target, context.zone)
    return made if made is value else replace(made, sourceLocation=context.place(node))

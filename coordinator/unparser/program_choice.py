"""Which calls, casts and operators run as programs of the kernels, because the engine lacks Presto's meaning."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed, value_of
from coordinator.expressions.types import INTEGERS, NUMERIC
from coordinator.unparser.attempts import forgivable
from coordinator.unparser.compared_maps import holds_map
from coordinator.unparser.functions import SCALARS
from coordinator.unparser.programs import runs_in_python
from coordinator.unparser.session_zone import session_zone
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

COMPARISON = {
    "equal": exp.EQ, "not_equal": exp.NEQ, "less_than": exp.LT, "less_than_or_equal": exp.LTE,
    "greater_than": exp.GT, "greater_than_or_equal": exp.GTE,
}  # fmt: skip

TEXT = ("varchar", "char")
COMPARED_BY_KERNELS = ("array", "row", "map", "time with time zone", "ipaddress", "ipprefix")


def wholly_in_python(node: Call, function: str, dialect: str) -> bool:
    """Functions that only the kernels get right, and lambdas over what only the kernels have."""
    if _by_itself_in_python(node, function, dialect):
        return True
    lambdas = [a for a in node.arguments if isinstance(a, Lambda)]
    return dialect == "spark" and any(needs_python(a.body, dialect) for a in lambdas)


def _by_itself_in_python(node: Call, function: str, dialect: str) -> bool:
    """Whatever its lambdas compute."""
    if function not in _BUILT and _kernels_alone(function, dialect):
        return True
    first = typed(node.arguments[0]).base if node.arguments and not isinstance(node.arguments[0], Lambda) else ""
    if runs_in_python(function) and any(carries_zone(a) or _clock_on_spark(a, dialect) for a in node.arguments):
        return True
    if dialect == "spark" and function == "to_unixtime" and first == "timestamp" and session_zone() != "UTC":
        return True  # a time in the session's zone, which Spark takes for one in UTC
    if first in _BY_KERNELS.get(function, ()) or (dialect == "spark" and first in _NO_CLOCKS):
        return True
    return dialect == "spark" and first == "array" and _of_elements_in_python(function, typed(node.arguments[0]))


def _of_elements_in_python(function: str, array: Type) -> bool:
    """Spark compares elements with NULLs inside, and shows elements as text, otherwise."""
    (element,) = array.arguments
    if function == "array_join":
        return element.base not in ("varchar", "boolean", *INTEGERS)
    if function in _DISTINGUISHING:
        return holds_map(element)
    return function in _COMPARING and element.base in ("array", "row", "map")


def _clock_on_spark(node: RowExpression, dialect: str) -> bool:
    """A time of day is text there, which Spark's functions of dates take for a timestamp."""
    return dialect == "spark" and not isinstance(node, Lambda) and typed(node).base in ("time", "time with time zone")


def carries_zone(node: RowExpression) -> bool:
    """A computed moment may have a zone of its own, which the engines drop; columns are in UTC."""
    return not isinstance(node, Lambda | Variable) and typed(node).base == "timestamp with time zone"


def _kernels_alone(function: str, dialect: str) -> bool:
    if function.startswith("$") or not runs_in_python(function):
        return False
    return function not in SCALARS[dialect]


def likes_by_row(pattern: Call) -> bool:
    """Whether LIKE's pattern is another one for each row."""
    return not all(isinstance(argument, Constant) for argument in pattern.arguments)


def needs_python(node: RowExpression, dialect: str) -> bool:
    """Whether anything inside becomes a call of a Python function."""
    if isinstance(node, Lambda):
        return needs_python(node.body, dialect)
    if isinstance(node, Call) and isinstance(node.functionHandle, StaticFunctionHandle):
        function = node.functionHandle.signature.name.removeprefix(NAMESPACE)
        if function in ("$operator$cast", "try_cast"):
            if cast_in_python(typed(node.arguments[0]), typed(node), dialect):
                return True
        elif function == "$internal$try":
            (thunk,) = node.arguments
            assert isinstance(thunk, Lambda)
            if dialect == "duckdb" or not forgivable(thunk.body):
                return True
        elif function.startswith("$operator$"):
            if operator_in_python(node, function.removeprefix("$operator$"), dialect):
                return True
        elif function == "like_pattern":
            if dialect == "spark" and likes_by_row(node):
                return True
        elif function != "like" and _by_itself_in_python(node, function, dialect):
            return True
    arguments = node.arguments if isinstance(node, Call | SpecialForm) else ()
    return any(needs_python(a, dialect) for a in arguments)


_BY_KERNELS = {
    "cardinality": ("hyperloglog", "p4hyperloglog", "khyperloglog", "setdigest", "sfmsketch"),
    **dict.fromkeys(("reverse", "lpad", "rpad", "substr"), ("varbinary",)), "truncate": ("decimal", "real"),
    "sign": ("decimal",), "abs": ("tinyint", "smallint"),
}  # fmt: skip
"""Overloads, by the type of the first argument, that engines lack."""

_DAY = timedelta(days=1)
_DISTINGUISHING = ("array_distinct", "array_union", "array_intersect", "array_except", "arrays_overlap")
"""Of maps, which Spark does not compare."""
_COMPARING = ("contains", "array_min", "array_max", "array_position", "array_remove", "array_sort")

_NO_CLOCKS = ("time", "time with time zone", "interval day to second", "interval year to month")

_BUILT = ("not", "like", "like_pattern", "array_constructor", "concat")

OPAQUE = ("re2jregexp", "joniregexp", "jsonpath", "likepattern", "codepoints")

MAX_DECIMAL_PRECISION = 38
_DIGITS = {"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19}

_NETWORK = ("json", "uuid", "ipaddress", "ipprefix", "time", "time with time zone")


def cast_in_python(source: Type, target: Type, dialect: str) -> bool:
    """Casts that the engine does not do with Presto's meaning."""
    if source == target or source.base == "unknown" or target.base in OPAQUE:
        return False
    if source.base in _NETWORK or target.base in _NETWORK or source.base.startswith("interval"):
        return True
    if target.base == "p4hyperloglog":
        return True
    if source.arguments and source.base == target.base:
        pairs = zip(source.arguments, target.arguments, strict=True)
        if source.base == "map" or any(cast_in_python(s, t, dialect) for s, t in pairs):
            return True
        return dialect == "spark" and not _alike_within(source, target)
    # Exactness before speed, for what ``vectorised`` has no form of.
    numbers = source.base in NUMERIC and target.base in NUMERIC and source.base not in ("double", "real")
    numbers &= source.base != "decimal" or target.base not in INTEGERS
    numbers &= source.base not in INTEGERS or target.base != "decimal" or _always_fits(source, target)
    return dialect == "duckdb" and not numbers and not (source.base in TEXT and target.base in TEXT)


def _alike_within(source: Type, target: Type) -> bool:
    """Whether Spark casts what is inside as Presto does: it cuts numbers, and writes moments in its own way."""
    if source == target or source.base == "unknown" or (source.base in TEXT and target.base in TEXT):
        return True
    if source.arguments:
        return all(map(_alike_within, source.arguments, target.arguments))
    if source.base in INTEGERS:
        wider = target.base in INTEGERS and _DIGITS[source.base] < _DIGITS[target.base]
        return wider or target.base == "double" or (target.base == "decimal" and _always_fits(source, target))
    if source.base == "decimal" and target.base == "decimal":
        (precision, scale), (other, more) = source.numbers, target.numbers
        return more >= scale and other - more >= precision - scale
    return (source.base, target.base) in (("real", "double"), ("date", "timestamp"))


def _always_fits(source: Type, target: Type) -> bool:
    precision, scale = target.numbers
    return precision - scale >= _DIGITS[source.base]


def _decimals_in_python(operator: str, types: list[Type], result: Type, dialect: str) -> bool:
    """Arithmetic of decimals that an engine does inexactly, or refuses though the result fits."""
    if result.base != "decimal":
        return False
    if dialect == "spark":
        return operator in ("divide", "modulus") and not _spark_divides(operator, types)
    if operator in ("divide", "modulus"):
        return True
    scale = result.numbers[1]
    widened = (k.numbers[0] - k.numbers[1] + scale for k in types)
    return operator in ("add", "subtract") and max(widened) > MAX_DECIMAL_PRECISION


def _spark_divides(operator: str, types: list[Type]) -> bool:
    """Whether Spark's quotient has digits enough that rounding it once more rounds the exact one, and room for them.

    Its remainder needs whole quotients of up to 38 digits.
    """
    (precision, scale), (other, others) = (k.numbers for k in types)
    whole = precision - scale + others
    behind = max(6, max(scale, others) + other + 1)
    return whole + (behind if operator == "divide" else 0) <= MAX_DECIMAL_PRECISION


def _hours_on_date(node: Call, types: list[Type]) -> bool:
    """A date takes whole days alone; the engines cut hours off, where Presto fails."""
    if sorted(k.base for k in types) != ["date", "interval day to second"]:
        return False
    interval = node.arguments[types[0].base == "date"]
    return not isinstance(interval, Constant) or bool((value_of(interval) or _DAY) % _DAY)


def _holds_map(type_: Type) -> bool:
    return type_.base == "map" or any(map(_holds_map, type_.arguments))


def operator_in_python(node: Call, operator: str, dialect: str) -> bool:
    """Whether an operator's call is a program."""
    types = [typed(argument) for argument in node.arguments]
    if _of_types_in_python(operator, types, dialect) or _hours_on_date(node, types):
        return True
    if any(k.base == "interval year to month" for k in types) and any(map(carries_zone, node.arguments)):
        return True  # months by the clocks of its zone
    return _decimals_in_python(operator, types, typed(node), dialect)


def _of_types_in_python(operator: str, types: list[Type], dialect: str) -> bool:
    """NULLs inside what is compared leave the answer open in Presto alone; times of day and intervals are no types."""
    if operator in COMPARISON or operator == "between":
        return types[0].base in COMPARED_BY_KERNELS
    if operator == "is_distinct_from":
        by_text = types[0].base == "time with time zone"
        return by_text or (dialect == "spark" and any(map(_holds_map, types)))  # which Spark compares with nothing
    if operator == "subscript" and types[0].base == "map":
        return types[0].arguments[0].base not in ("varchar", "boolean", *INTEGERS)
    clocks = any(k.base in ("time", "time with time zone") or k.base.startswith("interval") for k in types)
    if operator in ("add", "subtract", "multiply", "divide", "modulus"):
        instants = any(k.base.startswith("timestamp") or k.base == "date" for k in types)
        return clocks and (dialect == "duckdb" or not instants)
    return False

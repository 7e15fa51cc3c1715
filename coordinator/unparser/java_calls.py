"""Calls that our classes compute in Spark's JVM (``engine/spark/jvm/procession/spark/Forms.java``), by their trees.

What is said here to be one must be one there: Spark hands any other program to Python for all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from coordinator.expressions.builders import NAMESPACE, typed, value_of
from coordinator.kernels.functions.zones import zone_of
from coordinator.unparser.session_zone import session_zone
from coordinator.values.java_forms import JAVA_CASTS
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, StaticFunctionHandle, Variable

_JSONS = ("varchar", "json")
_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]{1,6}\]|\[\"[A-Za-z0-9_ .-]+\"\])*")
_MYSQL = re.compile(r"([^%]|%[^DUuVwX])*", re.DOTALL)
_JODA = re.compile(r"([yYMdHhmsSEaxwDekKC]|'[^']+'|[^A-Za-z'])*", re.DOTALL)
_ZONE = re.compile(r"UTC|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+")
_LONGEST = 100
_UNFAILING_TEXTS = ("lower", "upper", "trim", "ltrim", "rtrim", "substr", "replace", "concat", "reverse")
_URL_PARTS = tuple(f"url_extract_{part}" for part in ("protocol", "host", "path", "query", "fragment", "parameter"))
_NEVER_FAIL = ("json_extract", "json_extract_scalar", "json_size", "json_array_get", "json_array_contains", *_URL_PARTS)


def name_of(node: RowExpression) -> str:
    """The function of a call of a built-in one, empty for anything else."""
    handle = node.functionHandle if isinstance(node, Call) else None
    return handle.signature.name.removeprefix(NAMESPACE) if isinstance(handle, StaticFunctionHandle) else ""


def in_jvm(node: RowExpression) -> bool:
    """Whether a call or cast is computed there, where its arguments are."""
    if not isinstance(node, Call):
        return False
    function = name_of(node)
    if function == "$internal$try":
        return _tried_in_jvm(node.arguments[0])
    if function in ("$operator$cast", "try_cast"):
        return f"{typed(node.arguments[0])} {typed(node)}" in JAVA_CASTS
    known = _CALLS.get(function)
    return known is not None and known(node)


def never_fails(node: RowExpression) -> bool:
    """Whether a call that is computed there has a value for all arguments."""
    return name_of(node) in (*_NEVER_FAIL, "$internal$try", "try_cast")


def by_engine(call: RowExpression, argument: RowExpression, tried: bool) -> bool:
    """Whether an argument of a program of the JVM may be a column that Spark computes; within TRY if it cannot fail."""
    if isinstance(argument, Constant | Lambda | Variable) or not in_jvm(call):
        return False
    return (not tried or unfailing(argument)) and typed(argument).base not in ("jsonpath", "unknown")


def _tried_in_jvm(thunk: RowExpression) -> bool:
    return isinstance(thunk, Lambda) and in_jvm(thunk.body) and _inner_in_jvm(thunk.body)


def _inner_in_jvm(call: RowExpression) -> bool:
    """Whether a program within TRY has nothing in it that is neither a column nor computed there."""
    assert isinstance(call, Call)
    for argument in call.arguments:
        plain = isinstance(argument, Variable | Constant) or typed(argument).base == "jsonpath" or unfailing(argument)
        if not plain and not (in_jvm(argument) and _inner_in_jvm(argument)):
            return False
    return True


def unfailing(node: RowExpression) -> bool:
    """Whether a text has a value whatever the columns are."""
    if isinstance(node, Variable | Constant):
        return True
    return name_of(node) in _UNFAILING_TEXTS and isinstance(node, Call) and all(map(unfailing, node.arguments))


def _text(node: Call, place: int) -> str:
    """A constant text, or what is cast to a path of it; an impossible one for others."""
    argument = node.arguments[place]
    if isinstance(argument, Call) and typed(argument).base == "jsonpath":
        argument = argument.arguments[0]
    value = value_of(argument) if isinstance(argument, Constant) else None
    return value if isinstance(value, str) else "\0"


def _first(*bases: str) -> Callable[[Call], bool]:
    return lambda node: typed(node.arguments[0]).base in bases


def _at_path(node: Call) -> bool:
    return typed(node.arguments[0]).base in _JSONS and _PATH.fullmatch(_text(node, 1)) is not None


def _contains(node: Call) -> bool:
    return _first(*_JSONS)(node) and typed(node.arguments[1]).base in ("boolean", "bigint", "double", "varchar")


def _date_parse(node: Call) -> bool:
    return "\0" not in _text(node, 1) and _MYSQL.fullmatch(_text(node, 1)) is not None


def _format(node: Call) -> bool:
    pattern = _text(node, 1)
    stamped = _first("timestamp", "timestamp with time zone", "date")(node) and isinstance(node.arguments[0], Variable)
    return stamped and len(pattern) < _LONGEST and _JODA.fullmatch(pattern) is not None and _is_zone(session_zone())


def _from_unixtime(node: Call) -> bool:
    return len(node.arguments) < 3 and _is_zone(_text(node, 1) if len(node.arguments) == 2 else session_zone())


def _is_zone(name: str) -> bool:
    try:
        return _ZONE.fullmatch(name) is not None and zone_of(name) is not None
    except ValueError:
        return False


_CALLS: dict[str, Callable[[Call], bool]] = {
    "json_extract": _at_path, "json_extract_scalar": _at_path, "json_size": _at_path,
    **dict.fromkeys(("json_parse", "is_json_scalar", "json_array_get"), _first(*_JSONS)),
    "json_array_contains": _contains, "date_parse": _date_parse, "format_datetime": _format,
    "from_unixtime": _from_unixtime, **dict.fromkeys((*_URL_PARTS, "url_extract_port"), _first("varchar")),
}  # fmt: skip

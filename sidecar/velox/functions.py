"""Names: Presto function handles to Velox functions.

Presto C++ keeps the prefix ``presto.default.``; our registry has plain names, so the prefix goes.
"""

from __future__ import annotations

from shared.plan.expressions import (
    FunctionHandle,
    JsonFileFunctionHandle,
    NativeFunctionHandle,
    RestFunctionHandle,
    SqlFunctionHandle,
    StaticFunctionHandle,
)
from sidecar.velox.refusal import unsupported

_OPERATORS = {
    "add": "plus",
    "subtract": "minus",
    "multiply": "multiply",
    "divide": "divide",
    "modulus": "mod",
    "negation": "negate",
    "equal": "eq",
    "not_equal": "neq",
    "less_than": "lt",
    "less_than_or_equal": "lte",
    "greater_than": "gt",
    "greater_than_or_equal": "gte",
    "between": "between",
    "is_distinct_from": "distinct_from",
    "subscript": "subscript",
    "xx_hash_64": "xxhash64_internal",
}
_RENAMED = {
    "combine_hash": "combine_hash_internal",
    "$internal$max_data_size_for_stats": "max_data_size_for_stats",
    "$internal$sum_data_size_for_stats": "sum_data_size_for_stats",
}
OPERATOR = "$operator$"


def presto_name(handle: FunctionHandle) -> str:
    """The function's own name in lower case, without catalog and schema: ``sum``, ``$operator$add``."""
    match handle:
        case StaticFunctionHandle() | NativeFunctionHandle():
            name = handle.signature.name
        case SqlFunctionHandle() | JsonFileFunctionHandle() | RestFunctionHandle():
            name = handle.functionId.split(";", 1)[0]
        case _:
            raise unsupported(f"Unsupported function handle: {handle}")
    parts = name.split(".", 2)
    return parts[-1].lower()


def velox_name(name: str) -> str:
    """The Velox function for ``presto_name``'s answer; unknown names stay as they are."""
    if name.startswith(OPERATOR):
        return _OPERATORS.get(name.removeprefix(OPERATOR), name)
    return _RENAMED.get(name, name)


def argument_types(handle: FunctionHandle) -> tuple[str, ...]:
    """The declared argument types of an aggregate, which Velox needs as its raw input types in every step."""
    match handle:
        case StaticFunctionHandle() | NativeFunctionHandle():
            types = handle.signature.argumentTypes
            return types if isinstance(types, tuple) else ()
        case SqlFunctionHandle():
            parts = handle.functionId.split(";")[1:]
            return tuple(p for p in parts if p)
        case _:
            raise unsupported(f"Unsupported aggregate function handle: {handle}")

"""Functions that the user's workers have and this Velox lacks: the compile check looks past their calls.

What such a function takes is compiled still; what it gives counts as what the plan says.
"""

from __future__ import annotations

from typing import Any

from sidecar.velox.constants import null
from sidecar.velox.types import BOOLEAN, Json, row_type

_ANY_ORDER: Json = {"distinct": False, "sortingKeys": [], "sortingOrders": []}


def without_foreign(plan: Json, names: frozenset[str]) -> Json:
    """The plan with a call of the same type that Velox knows in the place of each call of a function in ``names``."""
    return _replaced(plan, names) if names else plan


def _replaced(value: object, names: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_replaced(v, names) for v in value]
    if not isinstance(value, dict) or value.get("name") == "Type":
        return value
    if _is_foreign(value.get("call"), names):
        call = value["call"]
        return {**value, **_ANY_ORDER, "call": _of_null(call), "rawInputTypes": [call["type"]]}
    if _is_foreign(value.get("functionCall"), names):
        return {**value, "functionCall": _of_null(value["functionCall"])}
    made = {k: _replaced(v, names) for k, v in value.items()}
    return _null_over(made) if _is_foreign(made, names) else made


def _is_foreign(value: object, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.get("name") == "CallTypedExpr" and value["functionName"] in names


def _of_null(call: Json) -> Json:
    """An aggregate, or window function, whose states and result have the type that it takes."""
    return _call("arbitrary", call["type"], [null(call["type"])])


def _null_over(call: Json) -> Json:
    """A NULL of the call's type that depends on the arguments, so that Velox compiles these."""
    values = [e for e in call["inputs"] if e["name"] != "LambdaTypedExpr"]
    nothing = null(call["type"])
    if not values:
        return nothing
    row = _call("row_constructor", row_type([""] * len(values), [e["type"] for e in values]), values)
    return _call("if", call["type"], [_call("is_null", BOOLEAN, [row]), nothing, nothing])


def _call(function: str, returns: Json, inputs: list[Json]) -> Json:
    return {"name": "CallTypedExpr", "type": returns, "functionName": function, "inputs": inputs}

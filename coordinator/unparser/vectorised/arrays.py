"""Functions of arrays and maps in the embedded engine's words, for elements that both compare and show alike."""

from __future__ import annotations

from coordinator.unparser.vectorised.form import INTEGERS, Asked, Form, known
from shared.plan.types import Type

_ALIKE = ("varchar", "boolean", "date", *INTEGERS)


def _element(array: Type) -> str:
    return array.arguments[0].base if array.base == "array" else ""


def _cardinality(asked: Asked) -> Form | None:
    (value,) = asked.arguments
    match asked.bases[0]:
        case "array":
            return Form(f"len({value})")
        case "map":
            return Form(f"cardinality({value})")
        case _:
            return None


def _contains(asked: Asked) -> Form | None:
    """NULL where it may be among unknown elements."""
    array, wanted = asked.arguments
    if _element(asked.kinds[0]) not in _ALIKE or asked.kinds[0].arguments[0].base != asked.bases[1]:
        return None
    unknown = f"{array} IS NULL OR {wanted} IS NULL OR list_count({array}) < len({array})"
    return Form(f"CASE WHEN list_contains({array}, {wanted}) THEN TRUE WHEN {unknown} THEN NULL ELSE FALSE END")


def _element_at(asked: Asked) -> Form | None:
    array, index = asked.arguments
    counted = known(asked, 1, lambda n: bool(n != 0), f"({index} <> 0)")
    if counted is None or asked.bases[0] != "array":
        return None
    return Form(f"list_extract({array}, {index})", counted)


def _join(asked: Asked) -> Form | None:
    constant = isinstance(asked.constant(1), str) if len(asked.arguments) == 2 else False
    if not constant or _element(asked.kinds[0]) not in ("varchar", *INTEGERS):
        return None
    array, separator = asked.arguments
    joined = f"coalesce(array_to_string({array}, {separator}), '')"  # NULL where all elements are
    return Form(f"CASE WHEN {array} IS NOT NULL THEN {joined} END")


ARRAYS = {"cardinality": _cardinality, "contains": _contains, "element_at": _element_at, "array_join": _join}

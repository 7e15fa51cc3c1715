"""Functions of arrays and maps in the embedded engine's words, for elements that both compare and show alike."""

from __future__ import annotations

from coordinator.unparser.vectorised.form import INTEGERS, Asked, Form, Rule, known
from shared.plan.types import Type

_MOST = 10_000
_SHORT = 300
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
    """NULL beyond an array, and for a key that a map does not have."""
    array, index = asked.arguments
    if asked.bases[0] == "map":
        key = asked.kinds[0].arguments[0].base
        return Form(f"map_extract_value({array}, {index})") if key in _ALIKE and key == asked.bases[1] else None
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


def _same_elements(asked: Asked, arrays: int) -> bool:
    """Whether the first are arrays of one type, and what follows are elements of it."""
    first = asked.kinds[0]
    kinds = [first] * arrays + [first.arguments[0]] * (len(asked.kinds) - arrays) if first.base == "array" else []
    return _element(first) in _ALIKE and kinds == asked.kinds


def _all_known(asked: Asked) -> str:
    return " AND ".join(f"{argument} IS NOT NULL" for argument in asked.arguments)


def _extreme(function: str) -> Rule:
    """Unknown where an element is."""

    def rule(asked: Asked) -> Form | None:
        (array,) = asked.arguments
        known = f"CASE WHEN list_count({array}) = len({array}) THEN {function}({array}) END"
        return Form(known) if asked.bases[0] == "array" and _element(asked.kinds[0]) in _ALIKE else None

    return rule


def _sorted(asked: Asked) -> Form | None:
    if len(asked.arguments) > 1 or not _same_elements(asked, 1):
        return None
    return Form(f"list_sort({asked.arguments[0]}, 'ASC', 'NULLS LAST')")


def _firsts(array: str, condition: str = "TRUE") -> str:
    """The first of each of the elements, in their order, that fulfil a condition on ``"$item"``."""
    first = f'list_position("$items", "$item") = "$place" AND {condition}'
    return f'list_transform([{array}], lambda "$items": list_filter("$items", lambda "$item", "$place": {first}))[1]'


def _few(*arrays: str) -> tuple[str, ...]:
    """Each element is looked for among all: longer arrays are for programs, which hash."""
    return tuple(f"(len({array}) <= {_SHORT})" for array in arrays)


def _distinct(asked: Asked) -> Form | None:
    (array,) = asked.arguments
    return Form(_firsts(array), _few(array)) if _same_elements(asked, 1) else None


def _union(asked: Asked) -> Form | None:
    if len(asked.arguments) != 2 or not _same_elements(asked, 2):
        return None
    both = f"list_concat({', '.join(asked.arguments)})"
    return Form(f"CASE WHEN {_all_known(asked)} THEN {_firsts(both)} END", _few(*asked.arguments))


def _except(asked: Asked) -> Form | None:
    if len(asked.arguments) != 2 or not _same_elements(asked, 2):
        return None
    array, others = asked.arguments
    kept = _firsts(array, f'list_position({others}, "$item") IS NULL')
    return Form(f"CASE WHEN {_all_known(asked)} THEN {kept} END", _few(array, others))


def _overlap(asked: Asked) -> Form | None:
    """Unknown where only unknown elements could be in both."""
    if not _same_elements(asked, 2):
        return None
    one, other = asked.arguments
    unknown = f"list_count({one}) < len({one}) OR list_count({other}) < len({other})"
    maybe = f"len({one}) > 0 AND len({other}) > 0 AND ({unknown})"
    shared = f"CASE WHEN list_has_any({one}, {other}) THEN TRUE WHEN {maybe} THEN NULL ELSE FALSE END"
    return Form(f"CASE WHEN {_all_known(asked)} THEN {shared} END")


def _concat(asked: Asked) -> Form | None:
    """Of arrays alone; texts and single elements are joined elsewhere."""
    if asked.result.base != "array" or not _same_elements(asked, len(asked.arguments)):
        return None
    return Form(f"CASE WHEN {_all_known(asked)} THEN list_concat({', '.join(asked.arguments)}) END")


def _position(asked: Asked) -> Form | None:
    if len(asked.arguments) != 2 or not _same_elements(asked, 1):
        return None
    found = f"coalesce(list_position({', '.join(asked.arguments)}), 0)"
    return Form(f"CASE WHEN {_all_known(asked)} THEN {found} END")


def _remove(asked: Asked) -> Form | None:
    if not _same_elements(asked, 1):
        return None
    array, wanted = asked.arguments
    kept = f'list_filter({array}, lambda "$item": "$item" IS NULL OR "$item" <> {wanted})'
    return Form(f"CASE WHEN {_all_known(asked)} THEN {kept} END")


def _slice(asked: Asked) -> Form | None:
    start, length = asked.constant(1), asked.constant(2)
    if not isinstance(start, int) or not isinstance(length, int) or start < 1 or length < 0:
        return None
    if start + length > _MOST or _element(asked.kinds[0]) not in _ALIKE:
        return None
    return Form(f"list_slice({asked.arguments[0]}, {start}, {start + length - 1})")


def _flatten(asked: Asked) -> Form | None:
    (nested,) = asked.kinds
    return Form(f"flatten({asked.arguments[0]})") if _element(nested.arguments[0]) in _ALIKE else None


def _sequence(asked: Asked) -> Form | None:
    """Whole numbers up or down, as many as Presto gives."""
    if asked.bases != ["bigint", "bigint"]:
        return None
    start, stop = asked.arguments
    few = f"abs(CAST({stop} AS HUGEINT) - CAST({start} AS HUGEINT)) < {_MOST}"
    step = f"CASE WHEN {stop} < {start} THEN -1 ELSE 1 END"
    return Form(f"generate_series({start}, {stop}, {step})", (few,))


def _sum(asked: Asked) -> Form | None:
    (array,) = asked.arguments
    if _element(asked.kinds[0]) not in INTEGERS:
        return None
    total = f"coalesce(list_sum({array}), 0)"
    plain = f"{total} BETWEEN -9223372036854775808 AND 9223372036854775807"
    return Form(f"CASE WHEN {array} IS NOT NULL THEN {total} END", (plain,))


def _of_map(function: str) -> Rule:
    def rule(asked: Asked) -> Form | None:
        (map_,) = asked.kinds
        alike = all(part.base in _ALIKE for part in map_.arguments)
        return Form(f"{function}({asked.arguments[0]})") if alike else None

    return rule


ARRAYS: dict[str, Rule] = {
    "cardinality": _cardinality, "contains": _contains, "element_at": _element_at, "array_join": _join,
    "array_max": _extreme("list_max"), "array_min": _extreme("list_min"), "array_sort": _sorted,
    "array_distinct": _distinct, "array_union": _union, "array_except": _except,
    "arrays_overlap": _overlap, "concat": _concat, "array_position": _position, "array_remove": _remove,
    "slice": _slice, "flatten": _flatten, "sequence": _sequence, "array_sum": _sum, "map_keys": _of_map("map_keys"),
    "map_values": _of_map("map_values"),
}  # fmt: skip

"""What Presto's messages say of the type variables of its functions beside their names.

Source: the texts of a Presto 0.296 server, each function called with arguments that it does not take.
"""

from __future__ import annotations

from collections.abc import Iterable

_COMPARABLE = {
    "array_position": "T", "map": "K", "merge": "T", "qdigest_agg": "V", "tdigest_agg": "V", "array_remove": "E",
    "checksum": "T", "contains": "T", "histogram": "K", "map_agg": "K", "map_union": "K", "map_union_sum": "K",
    "multimap_agg": "K",
}  # fmt: skip
_ORDERABLE = {"max": "E", "min": "E", "max_by": "K", "min_by": "K", "array_max": "T", "array_min": "T"}
_BY_NAME = ("map", "map_union", "max_by", "min_by", "transform_keys")
"""Functions whose variables are listed in the order of their names, in overloads of up to two arguments."""


def variables_text(function: str, variables: Iterable[str], arguments: int) -> str:
    """``K:comparable, V`` behind a signature, from its variables in the order in which they appear."""
    ordered = sorted(variables) if function in _BY_NAME and arguments <= 2 else list(variables)
    return ", ".join(variable + _constraint(function, variable) for variable in ordered)


def _constraint(function: str, variable: str) -> str:
    if function == "map_union_sum" and variable == "V":
        return ":nonDecimalNumeric"
    if function == "array_sort" and variable == "E":
        return ":orderable"
    if _COMPARABLE.get(function) == variable:
        return ":comparable"
    return ":orderable" if _ORDERABLE.get(function) == variable else ""

"""Rows of the statement protocol beside DuckDB's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any


def differ(
    ours: Sequence[Sequence[Any]], types: Sequence[str], theirs: Sequence[Sequence[Any]], *, ordered: bool
) -> bool:
    """Whether the rows are others; their order counts where the statement orders by all columns."""
    mine = [tuple(_shown(v, t) for v, t in zip(row, types, strict=True)) for row in ours]
    other = [tuple(_shown(v, t) for v, t in zip(row, types, strict=True)) for row in theirs]
    return mine != other if ordered else Counter(mine) != Counter(other)


def _shown(value: Any, kind: str) -> str:
    """One text for the same value, whoever gives it."""
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        element = kind[len("array(") : -1] if kind.startswith("array(") else ""
        return f"[{', '.join(_shown(v, element) for v in value)}]"
    if kind.startswith("decimal("):
        scale = int(kind.rstrip(")").split(",")[1])
        return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP) + 0)
    if kind in ("double", "real"):
        number = float(value)
        return "NaN" if math.isnan(number) else f"{number + 0:.9g}"
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03d}"
        case date():
            return value.isoformat()
        case _:
            return str(value)

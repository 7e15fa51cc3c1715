"""Sorted runs: the files that one sort of one group wrote, told by their names.

No two files of a run share keys, whatever the bounds in manifests can say of them: bounds of text are cut, columns may
have none, and files along a curve overlap in every single column. So a run counts as one file where overlaps are
counted. Names are all that stays with a file for good; Iceberg's ``sort_order_id`` tells the order inside a file alone,
and knows neither curves nor ``sorted_by``.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from coordinator.kernels.sort_tasks import RowOrder

_RUN = re.compile(r"-(\d+-[0-9a-f]{32})-s([0-9a-f]{8})(?:-c\d+)?-[0-9a-f]{8}\.parquet$")


def order_mark(order: RowOrder) -> str:
    """What the names of files in this order carry. Bits of curves only say how finely they are followed."""
    columns = [(c.id, c.transform, c.descending, c.nulls_first) for c in order.columns]
    text = repr((order.curve, [c.id for c in order.columns] if order.curve else columns))
    return blake2b(text.encode(), digest_size=4).hexdigest()


def output_name(place: int, group: int, call_id: str, mark: str | None = None) -> str:
    """What a new file is called, up to its ending; ``mark`` is that of the order that it is part of a run of."""
    return f"{place:05d}-{group}-{call_id}" + ("" if mark is None else f"-s{mark}")


def run_of(path: str, mark: str) -> str | None:
    """The run of the order that a file belongs to; None where it is of none."""
    found = _RUN.search(path)
    return found[1] if found is not None and found[2] == mark else None

"""Row lineage of format version 3: the two columns that keep a row's identity when it moves to another file.

Source: Iceberg specification, "Row Lineage".
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .tasks import Input

ROW_ID, LAST_UPDATED = 2147483540, 2147483539
"""Field ids of ``_row_id`` and ``_last_updated_sequence_number``."""


def inherited(number: int, stored: pa.Array, item: Input, start: int) -> object:
    """A lineage column of rows from position ``start`` on: where the file says nothing, its manifest entry does."""
    if stored.null_count == 0:
        return stored
    if number == LAST_UPDATED:
        return stored if item.sequence is None else stored.fill_null(item.sequence)
    if item.first_row_id is None:
        return stored
    first = item.first_row_id + start
    return pc.coalesce(stored, pa.array(range(first, first + len(stored)), pa.int64()))

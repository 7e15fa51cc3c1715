"""Columns of a row that its place tells: row lineage of format version 3, which keeps a row's identity when it moves,

and metadata columns, which no file holds. Source: Iceberg specification, "Row Lineage" and "Reserved Field IDs".
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .tasks import Input

ROW_ID, LAST_UPDATED = 2147483540, 2147483539
"""Field ids of ``_row_id`` and ``_last_updated_sequence_number``."""
FILE, POSITION, SEQUENCE = 2147483646, 2147483645, 2147482646
"""Field ids of ``_file`` and ``_pos``, and Presto's of ``$data_sequence_number``; an input has constants for two."""
DELETED = 2147483644
"""Field id of ``$deleted``: who asks for it gets the deleted rows too."""
FROM_PLACE = frozenset({ROW_ID, LAST_UPDATED, POSITION})
NEVER_STORED = frozenset({FILE, POSITION, SEQUENCE, DELETED})
"""Whatever a file says of such ids, it says of other files."""


def inherited(number: int, stored: pa.Array, item: Input, start: int) -> object:
    """A column of rows from position ``start`` on: where the file says nothing of lineage, its manifest entry does."""
    if number == POSITION:
        return pa.array(range(start, start + len(stored)), pa.int64())
    if stored.null_count == 0:
        return stored
    if number == LAST_UPDATED:
        return stored if item.sequence is None else stored.fill_null(item.sequence)
    if item.first_row_id is None:
        return stored
    first = item.first_row_id + start
    return pc.coalesce(stored, pa.array(range(first, first + len(stored)), pa.int64()))

"""Row lineage as columns of row groups that are copied from files without them.

A row keeps its id and its sequence number when it moves: a file that does not hold them says them by its place in the
table, which a new file has not. Two small column chunks are put beside those that are copied, page by page as they are.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .footer import column_meta, columns, read_footer
from .lineage import LAST_UPDATED, ROW_ID
from .schema import FIELD_ID
from .thrift import LIST, Struct

_NAMES = ("_row_id", "_last_updated_sequence_number")
_SCHEMA = pa.schema(
    [
        pa.field(name, pa.int64(), metadata={FIELD_ID: str(number).encode()})
        for name, number in zip(_NAMES, (ROW_ID, LAST_UPDATED), strict=True)
    ]
)
_CODECS = ("none", "snappy", "gzip", "none", "brotli", "none", "zstd", "lz4")
"""By Parquet's numbers; those that Arrow does not write become none."""
_SCHEMA_FIELD, _METADATA_FIELD, _ORDERS_FIELD, _CHILDREN = 2, 5, 7, 5
_ARROWS_SCHEMA = b"ARROW:schema"
_PAGE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Lineage:
    """What the table says of a file: the id of its first row, and the sequence number of all."""

    first_row_id: int
    sequence: int


def holds_lineage(footer: Struct) -> bool:
    """Whether a file has columns of its own for both."""
    elements: list[Struct] = footer[_SCHEMA_FIELD][1][1]
    return {ROW_ID, LAST_UPDATED} <= {element[9][1] for element in elements if 9 in element}


def with_lineage(footer: Struct) -> Struct:
    """The footer with two columns more in its schema. What Arrow says of the schema goes: it counts columns."""
    more = _footer(_written(0, Lineage(0, 0), "none"))
    kind, (element, known) = footer[_SCHEMA_FIELD]
    root, *rest = known
    root = {**root, _CHILDREN: (root[_CHILDREN][0], root[_CHILDREN][1] + len(_NAMES))}
    added: list[Struct] = more[_SCHEMA_FIELD][1][1]
    made = {**footer, _SCHEMA_FIELD: (kind, (element, [root, *rest, *added[1:]]))}
    if _ORDERS_FIELD in footer:
        kind, (element, orders) = footer[_ORDERS_FIELD]
        made[_ORDERS_FIELD] = (kind, (element, [*orders, *more[_ORDERS_FIELD][1][1]]))
    if _METADATA_FIELD in footer:
        kind, (element, entries) = footer[_METADATA_FIELD]
        made[_METADATA_FIELD] = (kind, (element, [each for each in entries if each[1][1] != _ARROWS_SCHEMA]))
    return made


def lineage_file(group: Struct, start: int, lineage: Lineage) -> tuple[bytes, Struct]:
    """A file of one row group beside ``group``, whose first row is at position ``start``, and that row group."""
    codec = column_meta(columns(group)[0])[4][1]
    place = Lineage(lineage.first_row_id + start, lineage.sequence)
    raw = _written(group[3][1], place, _CODECS[codec] if codec < len(_CODECS) else "none")
    found: list[Struct] = _footer(raw)[4][1][1]
    return raw, found[0]


def extended(group: Struct, more: Struct, chunks: Sequence[Struct]) -> None:
    """Put ``chunks``, those of the row group ``more``, into ``group``."""
    _, (element, known) = group[1]
    group[1] = (LIST, (element, [*known, *chunks]))
    for number in (2, 6):  # bytes, plain and compressed
        if number in group and number in more:
            group[number] = (group[number][0], group[number][1] + more[number][1])
        else:
            group.pop(number, None)


def _written(rows: int, lineage: Lineage, codec: str) -> bytes:
    ids = np.arange(lineage.first_row_id, lineage.first_row_id + rows, dtype=np.int64)
    table = pa.table([pa.array(ids), pa.array(np.full(rows, lineage.sequence, np.int64))], schema=_SCHEMA)
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        _SCHEMA,
        compression=codec,
        use_dictionary=[_NAMES[1]],
        write_page_index=True,
        max_rows_per_page=_PAGE_ROWS,
        store_schema=False,
        version="2.6",
    ) as writer:
        if rows:
            writer.write_table(table, row_group_size=rows)
    return sink.getvalue()


def _footer(raw: bytes) -> Struct:
    return read_footer(pa.BufferReader(raw), len(raw))

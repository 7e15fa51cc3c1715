"""Which columns of a file get a dictionary, by a look at the rows that go into its first row group.

What an input file tells of its own few rows misleads for many: keys that ascend fill a dictionary that grows with each
file, while keys of some thousands soon have all of theirs in it. So a page of each column is encoded both ways, and
what that takes is scaled up to the row group.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_PAGE = 20_000
"""Rows of the look; of a table with less, nothing is known that its inputs do not tell."""
_SAME = 1.999
"""From here on twice as many rows have twice as many values, as far as one can tell."""
_WRITER_OPTIONS = ("compression", "compression_level", "data_page_size", "dictionary_pagesize_limit", "version")


def with_dictionary(table: pa.Table, worth: Collection[str], options: Mapping[str, Any]) -> list[str]:
    """The paths of ``worth``, with those columns at the top added or left out for which the look says otherwise.

    ``options`` are those that the table will be written with. Columns that are dictionaries in memory stay so.
    """
    names = [field.name for field in table.schema if _is_looked_at(field.type)]
    if table.num_rows < _PAGE or not names:
        return list(worth)
    page = table.select(names).slice(0, _PAGE)
    given = {name: options[name] for name in _WRITER_OPTIONS}
    plain, coded = (_chunks(page, with_dictionaries, given) for with_dictionaries in (False, True))
    limit = options["dictionary_pagesize_limit"]
    better = {
        name
        for name, as_plain, as_coded in zip(names, plain, coded, strict=True)
        if _is_smaller(page[name], as_coded, as_plain.total_compressed_size, table.num_rows, limit)
    }
    kept = [path for path in worth if path not in names]
    return kept + [name for name in names if name in better]


def _is_looked_at(kind: pa.DataType) -> bool:
    types = pa.types
    known = (types.is_integer, types.is_floating, types.is_temporal, types.is_decimal, types.is_string, types.is_binary)
    return any(is_such(kind) for is_such in known)


def _chunks(page: pa.Table, coded: bool, options: Mapping[str, Any]) -> list[pq.ColumnChunkMetaData]:
    """The column chunks of the page."""
    sink = pa.BufferOutputStream()
    pq.write_table(page, sink, use_dictionary=coded, write_statistics=False, store_schema=False, **options)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    return [group.column(i) for i in range(group.num_columns)]


def _is_smaller(page: pa.ChunkedArray, coded: pq.ColumnChunkMetaData, plain: int, rows: int, limit: int) -> bool:
    """Whether ``rows`` rows like those of the page take less with a dictionary than without."""
    half, whole = (_distinct(page.slice(0, count)) for count in (len(page) // 2, len(page)))
    all_values = _values_of(rows, half, whole)
    if not whole or not coded.has_dictionary_page or all_values * _width(page) > limit:
        return False
    dictionary = coded.data_page_offset - coded.dictionary_page_offset
    codes = (coded.total_compressed_size - dictionary) * _code_bits(all_values) / _code_bits(whole)
    return bool(dictionary * all_values / whole + codes * rows / len(page) < plain * rows / len(page))


def _distinct(values: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(values).as_py())


def _values_of(rows: int, half: int, whole: int) -> float:
    """How many values so many rows have, if half of a page has ``half`` and all of it ``whole``.

    Of k values drawn at random, n rows have k * (1 - e**(-n/k)): twice the rows have 1 + e**(-n/k) times as many.
    """
    growth = whole / max(1, half)
    if growth >= _SAME:
        return whole * rows / _PAGE
    if growth <= 1:
        return whole
    drawn = -2 * math.log(growth - 1)
    return whole * (1 - math.exp(-drawn * rows / _PAGE)) / (1 - math.exp(-drawn))


def _code_bits(values: float) -> int:
    return max(1, math.ceil(math.log2(max(2.0, values))))


def _width(values: pa.ChunkedArray) -> float:
    """Bytes of a value in a dictionary page."""
    return float(values.nbytes / max(1, len(values)))

"""Which columns of a file get a dictionary, by a look at the rows that go into its first row group.

What an input file tells of its own few rows misleads for many: keys that ascend fill a dictionary that grows with each
file, while keys of some thousands soon have all of theirs in it. So a page of each column is encoded both ways, and
what that takes is scaled up to the row group.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_PAGE = 20_000
"""Rows of the look; of a table with less, nothing is known that its inputs do not tell."""
_SAME = 1.999
"""From here on twice as many rows have twice as many values, as far as one can tell."""
_CLEAR = 1.5
"""How many times more one way takes for a page to be enough: pages of runs differ by a third from one to the next."""
_OFTEN = 100
"""How often values occur that want a dictionary whatever else they take: readers filter by it."""
_WRITER_OPTIONS = ("compression", "compression_level", "data_page_size", "dictionary_pagesize_limit", "version")

Options = Mapping[str, object]
"""Of a writer."""
Growth = Mapping[str, tuple[float, float]]
"""By column, how many values a page has, and about how many all rows have."""


def with_dictionary(table: pa.Table, worth: Collection[str], options: Options) -> list[str]:
    """The paths of ``worth``, with those columns at the top added or left out for which the look says otherwise.

    ``options`` are those that the table will be written with. Columns that are dictionaries in memory stay so.
    """
    names = [field.name for field in table.schema if _is_looked_at(field.type)]
    if table.num_rows < _PAGE or not names:
        return list(worth)
    limit = options["dictionary_pagesize_limit"]
    assert isinstance(limit, int)
    growth = {name: _growth(table[name].slice(0, _PAGE), table.num_rows) for name in names}
    names = [name for name in names if growth[name][0]]  # where all are NULL, nothing is known
    width = {name: table[name].slice(0, _PAGE).nbytes / _PAGE for name in names}
    fitting = [name for name in names if growth[name][1] * width[name] <= limit]
    often = [name for name in fitting if growth[name][1] * _OFTEN <= table.num_rows]
    ratio = dict.fromkeys(often, 0.0)
    ratio |= _ratios(table, [name for name in fitting if name not in ratio], [0], growth, options)
    close = [name for name, found in ratio.items() if 1 / _CLEAR < found < _CLEAR]
    if table.num_rows >= 3 * _PAGE:
        places = [0, table.num_rows // 2 - _PAGE // 2, table.num_rows - _PAGE]
        ratio |= _ratios(table, close, places, growth, options)
    kept = [path for path in worth if path not in names]
    return kept + [name for name in fitting if ratio[name] < 1]


def _is_looked_at(type_: pa.DataType) -> bool:
    types = pa.types
    known = (types.is_integer, types.is_floating, types.is_temporal, types.is_decimal, types.is_string, types.is_binary)
    return any(is_such(type_) for is_such in known)


def _ratios(
    table: pa.Table, names: list[str], places: Sequence[int], growth: Growth, options: Options
) -> dict[str, float]:
    """How many times what they take without dictionaries columns take with them, by the pages that begin there."""
    plain, coded = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    given = {name: options[name] for name in _WRITER_OPTIONS}
    for place in places if names else ():
        page = table.select(names).slice(place, _PAGE)
        for name, as_plain, as_coded in zip(
            names, _chunks(page, False, given), _chunks(page, True, given), strict=True
        ):
            plain[name] += as_plain.total_compressed_size * table.num_rows / _PAGE
            coded[name] += _coded_size(as_coded, table.num_rows, *growth[name])
    return {name: coded[name] / plain[name] for name in names}


def _chunks(page: pa.Table, coded: bool, options: Options) -> list[pq.ColumnChunkMetaData]:
    """The column chunks of the page."""
    sink = pa.BufferOutputStream()
    pq.write_table(page, sink, use_dictionary=coded, write_statistics=False, store_schema=False, **options)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    return [group.column(i) for i in range(group.num_columns)]


def _coded_size(page: pq.ColumnChunkMetaData, rows: int, values: float, most: float) -> float:
    """About what so many rows take, of which a page with ``values`` values takes so much."""
    if not page.has_dictionary_page:
        return math.inf
    dictionary = page.data_page_offset - page.dictionary_page_offset
    codes = (page.total_compressed_size - dictionary) * _code_bits(most) / _code_bits(values)
    return float(dictionary * most / values + codes * rows / _PAGE)


def _growth(page: pa.ChunkedArray, rows: int) -> tuple[float, float]:
    half, whole = (_distinct(page.slice(0, count)) for count in (_PAGE // 2, _PAGE))
    return whole, _values_of(rows, half, whole)


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

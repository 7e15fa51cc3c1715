"""Dictionaries of decimals in fixed bytes that become dictionaries of integers, beside what Arrow makes of the file."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.sound_footer import require_sound
from coordinator.kernels.tasks import Input
from coordinator.kernels.unscaled_footer import UnscaledFooters
from tests.kernels.test_unscaled import exactly, values

pytestmark = pytest.mark.slow

CODECS = ("none", "snappy", "gzip", "zstd", "brotli", "lz4")
RECODED = CODECS[:4]
SCALES = {1: 2, 2: 0, 3: 18, 4: 1}
TYPES = {1: pa.decimal128(15, 2), 2: pa.decimal128(1, 0), 3: pa.decimal128(18, 18), 4: pa.decimal128(7, 1)}


def table(rows: int, distinct: int, seed: int) -> pa.Table:
    """Two flat columns, one of them almost without NULL, one inside lists, one inside a row, and text."""
    chosen = random.Random(seed)

    def column(precision: int, scale: int) -> list[Decimal | None]:
        known = values(precision, scale, distinct, seed).to_pylist()
        return [chosen.choice(known) for _ in range(rows)]

    price, digit, part, rate = column(15, 2), column(1, 0), column(18, 18), column(7, 1)
    fields = [_field("price", 1), _field("digit", 2)]
    fields.append(pa.field("parts", pa.list_(_field("element", 3)), metadata={"PARQUET:field_id": "5"}))
    fields.append(pa.field("row", pa.struct([_field("rate", 4)]), metadata={"PARQUET:field_id": "6"}))
    fields.append(pa.field("price_text", pa.string(), metadata={"PARQUET:field_id": "7"}))
    lists = [None if i % 11 == 0 else part[i : i + i % 3] for i in range(rows)]
    rows_ = [None if i % 5 == 0 else {"rate": rate[i]} for i in range(rows)]
    texts = [str(value) for value in price]
    return pa.table([price, digit, lists, rows_, texts], schema=pa.schema(fields))


def _field(name: str, number: int) -> pa.Field:
    return pa.field(name, TYPES[number], metadata={"PARQUET:field_id": str(number)})


def stored(data: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(data, sink, store_schema=False, **options)
    return sink.getvalue()


def opened(raw: bytes, footers: UnscaledFooters | None = None) -> pq.ParquetFile | None:
    source, metadata = (footers or UnscaledFooters(SCALES)).opened(pa.BufferReader(raw), at_hand=True)
    return None if metadata is None else pq.ParquetFile(source, metadata=metadata)


def integers(file: pq.ParquetFile) -> list[str]:
    """The paths of columns that became integers."""
    group = file.metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    return [chunk.path_in_schema for chunk in chunks if chunk.physical_type == "INT64"]


def numbers(value: object, scale: int | None = None) -> object:
    """Decimals, fixed bytes and integers alike as integers, whatever holds them; the field id's scale for decimals."""
    match value:
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            assert isinstance(exponent, int)
            whole = int("".join(map(str, digits)))
            return -whole if sign else whole
        case bytes():
            return int.from_bytes(value, "big", signed=True)
        case Mapping():
            return {name: numbers(part) for name, part in value.items()}
        case Sequence() if not isinstance(value, str):
            return [numbers(part) for part in value]
        case _:
            return value


def rows(data: pa.Table) -> object:
    return numbers(data.to_pydict())


BROKEN = (OSError, ValueError, OverflowError, KernelError, pa.ArrowException)
ALL = ["price", "digit", "parts.list.element", "row.rate"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("page", ["1.0", "2.0"])
def test_the_values_stay_the_same(codec: str, page: str) -> None:
    data = table(3_000, 200, 7)
    raw = stored(
        data, compression=codec, data_page_version=page, row_group_size=1_100, data_page_size=512,
        max_rows_per_page=300, write_page_index=True, write_page_checksum=True,
    )  # fmt: skip
    file = opened(raw)
    assert file is not None
    assert integers(file) == (ALL if codec in RECODED else [])
    assert rows(file.read()) == rows(data)


def test_a_column_that_gave_its_dictionary_up_stays_as_it_is() -> None:
    data = table(3_000, 2_000, 8)
    file = opened(stored(data, dictionary_pagesize_limit=2_000, data_page_size=1_000))
    assert file is not None
    assert integers(file) == ["digit"]
    assert rows(file.read()) == rows(data)


def test_files_of_one_writer_one_after_the_other() -> None:
    """The schema is read once; which columns have codes alone differs by file."""
    footers = UnscaledFooters(SCALES)
    found = []
    for number, limit in enumerate([1 << 20, 2_000, 1 << 20, 1_000]):
        data = table(2_000, 1_500, number)
        file = opened(stored(data, dictionary_pagesize_limit=limit, data_page_size=1_000), footers)
        assert file is not None and rows(file.read()) == rows(data)
        found.append(integers(file))
    assert found == [ALL, ["digit"], ALL, ["digit"]]


def test_without_dictionaries_without_rows_and_with_integers_nothing_changes() -> None:
    data = table(100, 10, 9)
    for raw in (stored(data, use_dictionary=False), stored(data.slice(0, 0))):
        file = opened(raw)
        assert file is not None and integers(file) == []
    file = opened(stored(data, store_decimal_as_integer=True))
    assert file is not None
    assert rows(file.read()) == rows(data)


def test_what_is_not_at_hand_is_read_as_it_is() -> None:
    raw = stored(table(100, 10, 9))
    source, metadata = UnscaledFooters(SCALES).opened(pa.BufferReader(raw), at_hand=False)
    assert source.size() == len(raw)
    file = pq.ParquetFile(source, metadata=metadata)
    assert integers(file) == []


def test_text_in_the_file_that_reads_like_the_footer() -> None:
    """Statistics hold text of users, which may be a description of a column byte for byte."""
    raw = stored(table(50, 5, 1), compression="none")
    begin = raw.rindex(b"\x15\x0e\x19", 0, raw.rindex(b"price_text"))
    forged = raw[begin : begin + 60].decode("latin-1")
    data = table(50, 5, 1).set_column(4, "price_text", pa.array([forged] * 50).cast(pa.binary()))
    data = data.set_column(4, pa.field("price_text", pa.binary(), metadata={"PARQUET:field_id": "7"}), data[4])
    file = opened(stored(data, compression="none"))
    assert file is not None
    assert rows(file.read()) == rows(data)


def test_broken_files_give_what_arrow_gives_or_an_error(tmp_path: Path) -> None:
    """But for those with footers by which pyarrow ends its process, whoever asks."""
    of = random.Random(5)
    intact = [stored(table(60, 20, i), compression=codec) for i, codec in enumerate(("none", "zstd", "snappy"))]
    path = tmp_path / "data.parquet"
    compared = 0
    for turn in range(600):
        raw = bytearray(intact[turn % 3])
        for _ in range(of.randint(1, 3)):
            # Half of them in the footer.
            place = of.randrange(len(raw)) if turn % 2 else len(raw) - 1 - of.randrange(len(raw) // 2)
            raw[place] = of.choice([0, 1, 127, 128, 255, raw[place] ^ (1 << of.randrange(8))])
        path.write_bytes(raw)
        try:
            require_sound(Input(f"file://{path}", len(raw)), {})
            expected = rows(pq.ParquetFile(pa.BufferReader(bytes(raw))).read())
            file = opened(bytes(raw))
            found = None if file is None else rows(file.read())
        except BROKEN:
            continue
        if file is not None and integers(file):
            assert found == expected, turn
            compared += 1
    assert compared > 100


def test_exactly_is_exact() -> None:
    assert numbers(exactly(-(10**18) + 1, 18)) == -(10**18) + 1

"""Footers that contradict themselves are errors where pyarrow would end the process that asks for a column's."""

from __future__ import annotations

import io
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.footer import MAGIC, columns, footer_bytes, read_footer, row_groups
from coordinator.kernels.rewrite import copy
from coordinator.kernels.sound_footer import require_sound
from coordinator.kernels.tasks import Input, WriteTask
from coordinator.kernels.thrift import BINARY, I16, I32, I64, LIST, STRUCT, Struct, encode
from coordinator.kernels.wire import decode
from tests.kernels.test_coded_decimals import stored, table

pytestmark = pytest.mark.slow


def placed(folder: Path, raw: bytes) -> Input:
    path = folder / "data.parquet"
    path.write_bytes(raw)
    return Input(f"file://{path}", len(raw))


def edited(raw: bytes, edit: Callable[[Struct], None]) -> bytes:
    source = pa.BufferReader(raw)
    footer = read_footer(source, len(raw))
    edit(footer)
    tail = encode(footer)
    before = raw[: len(raw) - 8 - len(footer_bytes(source, len(raw)))]
    return before + tail + struct.pack("<I", len(tail)) + MAGIC


def first(footer: Struct) -> Struct:
    meta: Struct = columns(row_groups(footer)[0])[0][3][1]
    return meta


def other_type(footer: Struct) -> None:
    first(footer)[1] = (I32, 1)


def unknown_codec(footer: Struct) -> None:
    first(footer)[4] = (I32, -7)


def short_bounds(footer: Struct) -> None:
    first(footer)[12][1][5] = (BINARY, b"\x01")


def other_levels(footer: Struct) -> None:
    first(footer)[16] = (STRUCT, {3: (LIST, (I64, [1, 2, 3, 4]))})


def size_of_texts(footer: Struct) -> None:
    first(footer)[16] = (STRUCT, {1: (I64, 9)})


def fewer_columns(footer: Struct) -> None:
    columns(row_groups(footer)[0]).pop()


def other_repetition(footer: Struct) -> None:
    footer[2][1][1][1][3] = (I32, 9)


def other_wire_type(footer: Struct) -> None:
    footer[2][1][1][1][3] = (I16, 1)


def no_schema(footer: Struct) -> None:
    del footer[2]


CASES: list[tuple[Callable[[Struct], None], str]] = [
    (other_type, "another type"), (unknown_codec, "unknown codec"), (short_bounds, "shorter than its values"),
    (other_levels, "other levels"), (size_of_texts, "size of texts"), (fewer_columns, "other columns"),
    (other_repetition, "footer is broken"), (other_wire_type, "footer is broken"), (no_schema, "other columns"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "said"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_footer_that_contradicts_itself_is_refused(tmp_path: Path, edit: Callable[[Struct], None], said: str) -> None:
    raw = stored(table(60, 20, 1))
    require_sound(placed(tmp_path, edited(raw, lambda footer: None)), {})
    with pytest.raises(KernelError, match=said) as refused:
        require_sound(placed(tmp_path, edited(raw, edit)), {})
    assert refused.value.name == "ICEBERG_BAD_DATA" and "data.parquet" in refused.value.message


def test_a_footer_without_a_bottom_is_refused(tmp_path: Path) -> None:
    tail = b"\x1c" * 30_000  # a struct in a struct in a struct
    raw = MAGIC + tail + struct.pack("<I", len(tail)) + MAGIC
    with pytest.raises(KernelError, match="footer is broken"):
        require_sound(placed(tmp_path, raw), {})


def test_a_copy_in_this_process_refuses_it(tmp_path: Path) -> None:
    """``copy`` runs in the coordinator: pyarrow would end it with everybody's statements."""
    item = placed(tmp_path, edited(stored(table(60, 20, 1)), other_levels))
    fields = [{"id": 7, "name": "price_text", "required": False, "type": "string"}]
    given = {
        "fields": fields, "inputs": [{"path": item.path, "size": item.size}],
        "output": {"directory": str(tmp_path / "out"), "name": "made"},
    }  # fmt: skip
    with pytest.raises(KernelError, match="other levels"):
        copy(decode(WriteTask, json.dumps(given).encode()), lambda: None)
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize("indexed", [False, True])
def test_files_of_arrow_are_sound(tmp_path: Path, version: str, indexed: bool) -> None:
    rows = pa.table({
        "b": [True, None], "i": pa.array([1, 2], pa.int32()), "d": [1.5, None], "n": pa.nulls(2),
        "l": [[[1], None], None], "m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "t": pa.array([1, 2], pa.timestamp("us")), "f": pa.array([b"xyz", None], pa.binary(3)), "s": [{"x": 1}, None],
    })  # fmt: skip
    for some in (rows, rows.slice(0, 0)):
        sink = io.BytesIO()
        pq.write_table(some, sink, version=version, write_page_index=indexed, use_deprecated_int96_timestamps=indexed)
        require_sound(placed(tmp_path, sink.getvalue()), {})


def test_files_of_duckdb_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    query = (
        "SELECT i::INT i, (i * 1.5)::DECIMAL(9, 2) d, [i] l, {'a': [i]} s, i % 2 = 0 b, uuid() u FROM range(99) t(i)"
    )
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    require_sound(Input(f"file://{path}", path.stat().st_size), {})


def test_what_is_let_through_ends_no_process(tmp_path: Path) -> None:
    """Each broken file that passes is asked for all of its columns in a child."""
    of = random.Random(3)
    intact = [stored(table(60, 20, i), compression=codec) for i, codec in enumerate(("none", "zstd"))]
    passed = refused = 0
    for turn in range(240):
        raw = bytearray(intact[turn % 2])
        length = struct.unpack("<I", raw[-8:-4])[0]
        for _ in range(of.randint(1, 2)):
            place = len(raw) - 9 - of.randrange(length)
            raw[place] = of.choice([0, 1, 127, 128, 255, raw[place] ^ (1 << of.randrange(8))])
        try:
            require_sound(placed(tmp_path, bytes(raw)), {})
        except KernelError:
            refused += 1
            continue
        passed += 1
        child = os.fork()
        if child == 0:
            _ask(bytes(raw))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, turn
    assert passed > 30 and refused > 30


def _ask(raw: bytes) -> None:
    try:
        metadata = pq.read_metadata(pa.BufferReader(raw))
        for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
            for column in (group.column(i) for i in range(group.num_columns)):
                str(column)
    except (OSError, ValueError, pa.ArrowException):
        pass

"""``binaryResults=true``: SerializedPages, against a page recorded from Presto 0.296 and the documented layout."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from pathlib import Path

import pyarrow as pa

from coordinator.dispatch.binary import encode_page
from shared.plan.types import parse_type

RECORDED = Path(__file__).parents[1] / "data" / "presto_protocol" / "exchanges.jsonl.gz"


def decoded(page: bytes) -> tuple[int, list[bytes]]:
    """Rows, and the rest of the page cut at the encodings' names."""
    rows, codec, uncompressed, size, checksum = struct.unpack_from("<ibiiq", page)
    assert (codec, checksum) == (0, 0)
    assert uncompressed == size == len(page) - 21
    return rows, [page[21:]]


def test_the_page_that_presto_sent() -> None:
    with gzip.open(RECORDED, "rt") as lines:
        line = next(line for line in lines if '"binaryData"' in line)
    start = line.index('"binaryData"')
    wanted = json.loads(line[line.index("[", start) : line.index("]", start) + 1])
    batch = pa.record_batch([pa.array([1], pa.int32()), pa.array(["x"])], names=["_col0", "_col1"])
    assert json.loads(encode_page(batch, (parse_type("integer"), parse_type("varchar(1)")))) == wanted[0]


def test_layout_of_several_rows_with_nulls() -> None:
    batch = pa.record_batch([pa.array([1, None, 3], pa.int64()), pa.array(["ab", None, "c"])], names=["a", "b"])
    page = base64.b64decode(json.loads(encode_page(batch, (parse_type("bigint"), parse_type("varchar")))))
    rows, (body,) = decoded(page)
    longs = struct.pack("<i", 10) + b"LONG_ARRAY" + struct.pack("<i", 3) + b"\x01\x40" + struct.pack("<qq", 1, 3)
    texts = struct.pack("<i", 14) + b"VARIABLE_WIDTH" + struct.pack("<iiii", 3, 2, 2, 3) + b"\x01\x40"
    assert rows == 3
    assert body == struct.pack("<i", 2) + longs + texts + struct.pack("<i", 3) + b"abc"


def test_every_type_travels(types_table) -> None:
    names, types, arrays = zip(*types_table, strict=True)
    page = base64.b64decode(
        json.loads(encode_page(pa.record_batch(list(arrays), names=list(names)), tuple(map(parse_type, types))))
    )
    assert decoded(page)[0] == len(arrays[0])
    assert struct.unpack_from("<i", page, 21) == (len(types),)


def test_a_client_that_asks_gets_pages_and_no_rows(server) -> None:
    response = server.post("SELECT 1", binaryResults="true")
    pages = []
    while "nextUri" in response.json():
        response = server.client.get(response.json()["nextUri"])
        assert "data" not in response.json()
        pages += response.json().get("binaryData", [])
    assert len(pages) == 1
    assert decoded(base64.b64decode(pages[0]))[0] == 1

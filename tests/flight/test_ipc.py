"""Arrow's messages from clients: nothing becomes larger than its bytes, and no bytes surprise us."""

from __future__ import annotations

import contextlib
import random
import struct

import pyarrow as pa
import pytest

from coordinator.dispatch.arrow_chunks import split_message
from coordinator.flight import ipc
from coordinator.flight.failures import CallError
from coordinator.flight.ipc import check_rows, framed, read_batch, read_schema
from coordinator.flight.messages import ClientData

BATCH = pa.record_batch({"n": [1, None, 3], "t": ["a", "bc", None], "l": [[1], [], None]})


def sent(*batches, **options):
    """What a client sends of a stream: the schema, then batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    messages = pa.ipc.MessageReader.open_stream(sink.getvalue())
    return [ClientData(b"", each.metadata.to_pybytes(), each.body.to_pybytes()) for each in messages]


def test_what_pyarrow_sends_is_read():
    schema, *batches = sent(BATCH, BATCH.slice(1, 1), BATCH.slice(0, 0))
    found = [read_batch(each, read_schema(schema), 3) for each in batches]
    assert found == [BATCH, BATCH.slice(1, 1), BATCH.slice(0, 0)]
    header, body = split_message(BATCH.serialize().to_pybytes())
    assert read_batch(ClientData(b"", bytes(header), bytes(body)), BATCH.schema, 3) == BATCH


CODECS = pytest.mark.parametrize("codec", ["zstd", "lz4"])


@CODECS
def test_compressed_batches_are_read(codec):
    nested = pa.record_batch({"n": [1, None], "t": ["x" * 10_000, "y"], "l": [[1] * 500, None], "e": [None, None]})
    schema, *batches = sent(nested, nested.slice(0, 0), compression=codec)
    assert [read_batch(each, read_schema(schema), 3) for each in batches] == [nested, nested.slice(0, 0)]
    schema, dictionary, batch = sent(
        pa.record_batch({"d": pa.array(["a" * 1000, "b", "b"]).dictionary_encode()}), compression=codec
    )
    checked = check_rows(dictionary, 3, 1 << 20)
    assert (checked.dictionary, 1001 <= checked.size < 1200) == (0, True)
    found = pa.ipc.open_stream(framed(schema) + checked.data + check_rows(batch, 3, 1 << 20).data).read_all()
    assert found.column(0).to_pylist() == ["a" * 1000, "b", "b"]


@CODECS
def test_what_becomes_too_large_is_refused_before_it_is_decompressed(codec):
    batch = pa.record_batch({"p": ["x" * (16 << 20)]})
    schema, data = sent(batch, compression=codec)
    assert len(data.body) < 1 << 20
    before = pa.total_allocated_bytes()
    with pytest.raises(CallError, match="Parameters take more than 8 MB in a batch without compression"):
        read_batch(data, read_schema(schema), 3)
    with pytest.raises(CallError, match="The rows take more than 4 MB in a batch without compression"):
        check_rows(data, 3, 4 << 20)
    assert pa.total_allocated_bytes() - before < 1 << 20


@CODECS
def test_a_buffer_becomes_no_more_than_it_says(codec):
    """The length in front of it is what is checked, so it has to be what Arrow makes room for."""
    batch = pa.record_batch({"p": pa.array([7] * (2 << 20), pa.int64())})
    schema, data = sent(batch, compression=codec)
    (at,) = (i for i in range(0, len(data.body), 8) if data.body[i : i + 8] == (16 << 20).to_bytes(8, "little"))
    for said, refused in ((8, False), (8 << 20, False), (-1, False), (-2, True), (1 << 40, True)):
        body = data.body[:at] + said.to_bytes(8, "little", signed=True) + data.body[at + 8 :]
        changed = ClientData(b"", data.header, body)
        before = pa.total_allocated_bytes()
        if refused:
            with pytest.raises(CallError, match=r"shorter than nothing|more than 8 MB"):
                read_batch(changed, read_schema(schema), 3 << 20)
        else:
            assert check_rows(changed, 3 << 20, 8 << 20).size <= 8 << 20
            with pytest.raises((CallError, pa.ArrowException)):
                read_batch(changed, read_schema(schema), 3 << 20).validate(full=True)
        assert pa.total_allocated_bytes() == before


def test_a_buffer_counts_as_often_as_it_is_named():
    """Columns that share one compressed buffer would each get what it becomes."""
    batch = pa.record_batch({f"c{i}": pa.array([i] * 100_000, pa.int64()) for i in range(20)})
    schema, data = sent(batch, compression="zstd")
    pairs = [pair for pair in ipc._content(data, ipc._RECORD_BATCH).pairs(ipc._BUFFERS) if pair[1]]
    assert len(pairs) == 20
    header = data.header
    for pair in pairs[1:]:
        header = header.replace(struct.pack("<qq", *pair), struct.pack("<qq", *pairs[0]))
    shared = ClientData(b"", header, data.body[: pairs[0][0] + pairs[0][1] + 8] + bytes(len(data.body)))
    assert ipc.check_rows(shared, 100_000, 16 << 20).size == 16_000_000
    with pytest.raises(CallError, match="more than 8 MB"):
        read_batch(shared, read_schema(schema), 100_000)


@pytest.mark.parametrize("codec", [2, 100, -1])
def test_other_ways_of_compressing_are_refused(codec):
    _, data = sent(pa.record_batch({"p": ["x" * 10_000]}), compression="zstd")
    found = 0
    for at in range(len(data.header)):
        if data.header[at] == 1:  # ZSTD, among others
            changed = data.header[:at] + codec.to_bytes(1, "little", signed=True) + data.header[at + 1 :]
            try:
                check_rows(ClientData(b"", changed, data.body), 3, 1 << 20)
            except CallError as error:
                found += "this way of compressing" in error.text
    assert found == 1


@CODECS
def test_broken_compressed_messages_are_refused_or_read(codec):
    schema, batch = sent(BATCH, compression=codec)
    known, chosen = read_schema(schema), random.Random(11)
    for _ in range(2000):
        header, body = bytearray(batch.header), bytearray(batch.body)
        for part in (header, body):
            for _ in range(chosen.randrange(3)):
                part[chosen.randrange(len(part))] = chosen.choice((0, 1, 4, 127, 128, 255))
        data = ClientData(b"", bytes(header), bytes(body[: chosen.choice((len(body), chosen.randrange(len(body))))]))
        before = pa.total_allocated_bytes()
        with contextlib.suppress(CallError):
            read_batch(data, known, 3)
        assert pa.total_allocated_bytes() - before < 16 << 20


def test_older_messages_which_hide_compression_are_refused():
    schema, *_ = sent(BATCH, metadata_version=pa.ipc.MetadataVersion.V4)
    with pytest.raises(CallError, match="older versions"):
        read_schema(schema)


def test_dictionaries_rows_in_excess_and_short_bodies_are_refused():
    schema, dictionary, batch = sent(pa.record_batch({"d": pa.array(["a"]).dictionary_encode()}))
    for data in (dictionary, schema):
        with pytest.raises(CallError, match="a schema and record batches"):
            read_batch(data, BATCH.schema, 3)
    with pytest.raises(CallError):
        read_batch(batch, read_schema(schema), 3)
    schema, batch = sent(BATCH)
    with pytest.raises(CallError, match="More than 2 rows"):
        read_batch(batch, BATCH.schema, 2)
    with pytest.raises(CallError, match="shorter"):
        read_batch(ClientData(b"", batch.header, batch.body[:-8]), BATCH.schema, 3)
    with pytest.raises(CallError):
        read_schema(batch)


def test_views_which_say_how_many_buffers_they_have_are_refused():
    schema, batch = sent(pa.record_batch({"v": pa.array(["a long text in a buffer of its own"], pa.string_view())}))
    with pytest.raises(CallError, match="views"):
        read_batch(batch, read_schema(schema), 3)


def test_broken_headers_are_refused_or_read():
    schema, batch = sent(BATCH)
    chosen = random.Random(7)
    for _ in range(2000):
        header = bytearray(chosen.choice((schema, batch)).header)
        for _ in range(chosen.randrange(1, 4)):
            header[chosen.randrange(len(header))] = chosen.choice((0, 1, 4, 127, 128, 255))
        cut = bytes(header[: chosen.choice((len(header), chosen.randrange(len(header))))])
        for read in (read_schema, lambda data: read_batch(data, BATCH.schema, 3)):
            try:
                read(ClientData(b"", cut, batch.body))
            except CallError:
                continue

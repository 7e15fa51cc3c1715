"""Arrow's messages from clients: nothing becomes larger than its bytes, and no bytes surprise us."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from coordinator.dispatch.arrow_chunks import split_message
from coordinator.flight.failures import CallError
from coordinator.flight.ipc import read_batch, read_schema
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


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_batches_are_refused_before_they_are_read(codec):
    batch = pa.record_batch({"p": ["x" * (16 << 20)]})
    schema, data = sent(batch, compression=codec)
    assert len(data.body) < 1 << 20
    before = pa.total_allocated_bytes()
    with pytest.raises(CallError, match="compressed"):
        read_batch(data, read_schema(schema), 3)
    assert pa.total_allocated_bytes() - before < 1 << 20


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

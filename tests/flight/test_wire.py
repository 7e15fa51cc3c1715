"""Flight's wire format, against the ``protobuf`` library's own messages."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from coordinator.flight.wire import Fields, WireError, message

_TYPES = descriptor_pb2.FieldDescriptorProto


def _library():
    file = descriptor_pb2.FileDescriptorProto(name="sample.proto", package="sample", syntax="proto3")
    made = file.message_type.add(name="Sample")
    fields = (
        ("number", 1, _TYPES.TYPE_INT64, 1),
        ("text", 2, _TYPES.TYPE_STRING, 1),
        ("data", 1000, _TYPES.TYPE_BYTES, 1),
        ("codes", 4, _TYPES.TYPE_UINT32, 3),
        ("names", 5, _TYPES.TYPE_STRING, 3),
        ("fixed", 6, _TYPES.TYPE_SFIXED64, 1),
        ("flag", 7, _TYPES.TYPE_BOOL, 1),
    )
    for name, number, kind, label in fields:
        made.field.add(name=name, number=number, type=kind, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sample.Sample"))


SAMPLE = _library()


@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.text(max_size=300),
    st.binary(max_size=300),
    st.lists(st.integers(0, (1 << 32) - 1), max_size=5),
    st.lists(st.text(max_size=5), max_size=5),
    st.booleans(),
)
def test_as_the_library_writes_and_reads(number, text, data, codes, names, flag):
    theirs = SAMPLE(number=number, text=text, data=data, codes=codes, names=names, flag=flag, fixed=7)
    read = Fields(theirs.SerializeToString())
    assert (read.integer(1) or 0) == number % (1 << 64)
    assert (read.text(2), read.data(1000)) == (text, data)
    assert (list(read.integers(4)), list(read.texts(5)), bool(read.integer(7))) == (codes, names, flag)
    ours = message((1, number), (2, text), (1000, data), *((4, c) for c in codes), *((5, n) for n in names), (7, flag))
    theirs.ClearField("fixed")
    assert SAMPLE.FromString(ours) == theirs


@given(st.binary(max_size=60))
def test_bytes_of_strangers_are_read_or_refused(data):
    try:
        fields = Fields(data)
        for number in (1, 2, 5, 1000):
            fields.messages(number)
            fields.integers(number)
    except WireError:
        pass


@pytest.mark.parametrize(
    "data", [b"\x0a\xff\xff\xff\xff\x0f", b"\x08", b"\x0b\x0c", b"\xff" * 12, b"\x08\x01" * 20_000]
)
def test_what_is_no_message(data):
    with pytest.raises(WireError):
        Fields(data)

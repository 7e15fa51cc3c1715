"""Arrow's messages from clients: what they declare is looked at before Arrow makes memory of it.

Compressed buffers say themselves how large they become, a few kilobytes hundreds of megabytes: that is added up first,
and Arrow makes no more of a buffer than it says. Source: Arrow's Message.fbs and the layout of Flatbuffers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pyarrow as pa

from coordinator.flight.failures import CallError, invalid, unsupported
from coordinator.flight.messages import ClientData

_CONTINUES = b"\xff\xff\xff\xff"
_V5 = 4
"""Older versions hide compression in the metadata of a message."""
_SCHEMA, _DICTIONARY, _RECORD_BATCH = 1, 2, 3
_VERSION, _TYPE, _HEADER, _BODY_LENGTH = range(4)
_LENGTH, _, _BUFFERS, _COMPRESSION, _VARIADIC = range(5)
_ID, _WORDS, _IS_DELTA = range(3)
_CODEC, _METHOD = range(2)
_CODECS, _EACH_BUFFER = (0, 1), 0
"""LZ4 frames and ZSTD; Arrow has one method."""
_SAID = struct.Struct("<q")
"""How many bytes a compressed buffer becomes, in front of it."""
_AS_IT_IS = -1
_MOST_OF_PARAMETERS = 8 << 20
"""Bytes of a batch of them without its compression."""


def read_schema(data: ClientData) -> pa.Schema:
    """Raises CallError."""
    try:
        _content(data, _SCHEMA)
        return pa.ipc.read_schema(_ipc(data))
    except (pa.ArrowException, OSError, struct.error) as error:
        raise _unreadable(error) from error


def read_batch(data: ClientData, schema: pa.Schema, most_rows: int) -> pa.RecordBatch:
    """Not larger than its bytes, or than 8 MB where they are compressed. Raises CallError."""
    try:
        batch = _content(data, _RECORD_BATCH)
        if not 0 <= batch.number(_LENGTH, "<q") <= most_rows:
            raise invalid(f"More than {most_rows} rows of parameters")
        if batch.items(_VARIADIC):
            # Arrow makes room for as many buffers of a view as the message says.
            raise unsupported("parameters that are views")
        _check_buffers(batch, data, max(_MOST_OF_PARAMETERS, len(data.body)), "Parameters")
        return pa.ipc.read_record_batch(_ipc(data), schema)
    except (pa.ArrowException, OSError, struct.error) as error:
        raise _unreadable(error) from error


@dataclass(frozen=True, slots=True)
class Checked:
    """A message as a part of an IPC stream; ``dictionary`` is the id of the one that it brings, if it does.

    ``size``: bytes of its buffers without their compression.
    """

    data: bytes
    size: int
    dictionary: int | None = None


def check_rows(data: ClientData, most_rows: int, most_bytes: int) -> Checked:
    """A message of a stream of rows, not larger in memory than its bytes, or ``most_bytes`` where they are compressed.

    Raises CallError.
    """
    try:
        outer = _Table(data.header, struct.unpack_from("<I", data.header)[0])
        if outer.number(_TYPE, "<B") == _DICTIONARY:
            words = _content(data, _DICTIONARY)
            if words.number(_IS_DELTA, "<?"):
                raise unsupported("dictionaries that grow")
            size = _check_batch(words.table(_WORDS), data, most_rows, most_bytes)
            return Checked(framed(data), size, words.number(_ID, "<q"))
        size = _check_batch(_content(data, _RECORD_BATCH), data, most_rows, most_bytes)
        return Checked(framed(data), size)
    except struct.error as error:
        raise invalid(f"The rows cannot be read: {error}") from error


def _check_batch(batch: _Table, data: ClientData, most_rows: int, most_bytes: int) -> int:
    if not 0 <= batch.number(_LENGTH, "<q") <= most_rows:
        raise invalid(f"More than {most_rows} rows in one batch")
    size = _check_buffers(batch, data, max(most_bytes, len(data.body)), "The rows")
    if any(not 0 <= count <= batch.items(_BUFFERS) for count in batch.longs(_VARIADIC)):
        raise invalid("The rows cannot be read: a view names buffers that are not there")
    return size


def _check_buffers(batch: _Table, data: ClientData, most_bytes: int, what: str) -> int:
    """What the buffers of a batch take together, each as often as it is named."""
    compressed = batch.has(_COMPRESSION)
    if compressed:
        how = batch.table(_COMPRESSION)
        if how.number(_CODEC, "<b") not in _CODECS or how.number(_METHOD, "<b") != _EACH_BUFFER:
            raise unsupported("this way of compressing batches")
    total = 0
    for offset, length in batch.pairs(_BUFFERS):
        if offset < 0 or length < 0 or offset + length > len(data.body):
            raise invalid(f"{what} cannot be read: a buffer ends behind its message")
        total += _decompressed(data.body, offset, length, what) if compressed and length else length
        if compressed and total > most_bytes:
            raise invalid(
                f"{what} take more than {most_bytes >> 20} MB in a batch without compression; send smaller ones"
            )
    return total


def _decompressed(body: bytes, offset: int, length: int, what: str) -> int:
    if length < _SAID.size:
        raise invalid(f"{what} cannot be read: a compressed buffer does not say its length")
    said: int = _SAID.unpack_from(body, offset)[0]
    if said < _AS_IT_IS:
        raise invalid(f"{what} cannot be read: a compressed buffer is shorter than nothing")
    return length - _SAID.size if said == _AS_IT_IS else said


class _Table:
    """A table of Flatbuffers, by the numbers of its fields. Raises struct.error for places outside."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - self._read("<i", at)
        self._end = self._read("<H", self._fields)

    def has(self, field: int) -> bool:
        return self._place(field) is not None

    def number(self, field: int, form: str) -> int:
        """0 for one that is not there."""
        place = self._place(field)
        return 0 if place is None else self._read(form, place)

    def table(self, field: int) -> _Table:
        return _Table(self._data, self._followed(field))

    def items(self, field: int) -> int:
        """How many a vector says that it has; 0 where it is not there."""
        return self._read("<I", self._followed(field)) if self.has(field) else 0

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Of a vector of structs with two 64-bit integers each; none where it is not there."""
        return list(struct.iter_unpack("<qq", self._vector(field, 16)))

    def longs(self, field: int) -> list[int]:
        """Of a vector of 64-bit integers; none where it is not there."""
        return [number for (number,) in struct.iter_unpack("<q", self._vector(field, 8))]

    def _vector(self, field: int, width: int) -> bytes | memoryview:
        """The items of a vector, of ``width`` bytes each. Raises struct.error where they end behind the message."""
        if not self.has(field):
            return b""
        begin = self._followed(field) + 4
        end = begin + width * self._read("<I", begin - 4)
        if end > len(self._data):
            raise struct.error("a vector ends behind its message")
        return self._data[begin:end]

    def _followed(self, field: int) -> int:
        place = self._place(field)
        if place is None:
            raise struct.error("a field is not there")
        return place + self._read("<I", place)

    def _place(self, field: int) -> int | None:
        slot = 4 + 2 * field
        offset = self._read("<H", self._fields + slot) if slot + 2 <= self._end else 0
        return self._at + offset if offset else None

    def _read(self, form: str, at: int) -> int:
        if at < 0:
            raise struct.error("a place before the message")
        found: int = struct.unpack_from(form, self._data, at)[0]
        return found


def _content(data: ClientData, wanted: int) -> _Table:
    """What a message of the wanted type holds."""
    outer = _Table(data.header, struct.unpack_from("<I", data.header)[0])
    if outer.number(_TYPE, "<B") != wanted:
        raise invalid("What follows a command is a schema and record batches")
    if outer.number(_VERSION, "<h") != _V5:
        raise unsupported("messages of older versions of Arrow's format")
    if not 0 <= outer.number(_BODY_LENGTH, "<q") <= len(data.body):
        raise invalid("The message cannot be read: it is shorter than it says")
    return outer.table(_HEADER)


def framed(data: ClientData) -> bytes:
    """As it stands in a stream."""
    return _ipc(data).to_pybytes()


def _ipc(data: ClientData) -> pa.Buffer:
    padding = -len(data.header) % 8
    size = (len(data.header) + padding).to_bytes(4, "little")
    return pa.py_buffer(b"".join([_CONTINUES, size, data.header, bytes(padding), data.body]))


def _unreadable(error: Exception) -> CallError:
    return invalid(f"Parameters cannot be read: {error}")

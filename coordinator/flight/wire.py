"""Protocol Buffers' wire format, as far as Flight's messages need it: numbered fields of integers and bytes."""

from __future__ import annotations

from collections.abc import Iterator

Value = bytes | memoryview | str | int | None
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_FIELDS = 10_000
"""Of one message; ours have a few, and a client names some hundred codes at most."""
_WORD = 1 << 64


class WireError(ValueError):
    """Bytes that are no message."""


def message(*fields: tuple[int, Value]) -> bytes:
    """The fields in their order; one that is None is left out."""
    parts: list[bytes | memoryview] = []
    for number, value in fields:
        match value:
            case None:
                continue
            case int():
                parts += [_varint(number << 3 | _VARINT), _varint(value % _WORD)]
            case str():
                data = value.encode()
                parts += [_varint(number << 3 | _BYTES), _varint(len(data)), data]
            case _:
                parts += [_varint(number << 3 | _BYTES), _varint(len(value)), value]
    return b"".join(parts)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Fields:
    """The fields of a message, by number. Raises WireError for what is no message."""

    def __init__(self, data: bytes) -> None:
        self._found: dict[int, list[int | bytes]] = {}
        for count, (number, value) in enumerate(_read(data)):
            if count >= _MOST_FIELDS:
                raise WireError("too many fields")
            self._found.setdefault(number, []).append(value)

    def data(self, number: int) -> bytes:
        """Bytes, or a message inside; empty when it is not there. The last one counts."""
        value = self._found.get(number, [b""])[-1]
        if not isinstance(value, bytes):
            raise WireError(f"field {number} is a number")
        return value

    def text(self, number: int) -> str:
        """Empty when it is not there."""
        try:
            return self.data(number).decode()
        except UnicodeDecodeError as error:
            raise WireError(f"field {number} is not UTF-8") from error

    def optional_text(self, number: int) -> str | None:
        return self.text(number) if number in self._found else None

    def texts(self, number: int) -> tuple[str, ...]:
        """Of a repeated field."""
        try:
            return tuple(each.decode() for each in self.messages(number))
        except UnicodeDecodeError as error:
            raise WireError(f"field {number} is not UTF-8") from error

    def messages(self, number: int) -> tuple[bytes, ...]:
        """Of a repeated field."""
        return tuple(each for each in self._found.get(number, ()) if isinstance(each, bytes))

    def integer(self, number: int) -> int | None:
        value = self._found.get(number, [None])[-1]
        if isinstance(value, bytes):
            raise WireError(f"field {number} is no number")
        return value

    def integers(self, number: int) -> tuple[int, ...]:
        """Of a repeated field, packed or not."""
        found: list[int] = []
        for value in self._found.get(number, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                one, at = _read_varint(value, at)
                found.append(one)
        return tuple(found)


def _read(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        match key & 7:
            case 0:
                value, at = _read_varint(data, at)
                yield key >> 3, value
                continue
            case 2:
                size, at = _read_varint(data, at)
            case 1:
                size = 8
            case 5:
                size = 4
            case _:
                raise WireError("a field of a form that is not used any more")
        if at + size > end:
            raise WireError("a field ends behind its message")
        part = data[at : at + size]
        yield key >> 3, part if key & 7 == _BYTES else int.from_bytes(part, "little")
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value % _WORD, at
        shift += 7
        if shift > 63:
            break
    raise WireError("a number has no end")

"""PyIceberg's fast Avro decoder, asked for no byte that is not there.

It takes the lengths in a file for true: one that is too large reads what else is in memory, or ends the process. A file
that was cut off, or of which one byte is another, must do neither. Numbers are read as before: at the end of a file one
reads some bytes too many, and the next ends with EOFError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pyiceberg.avro.file
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

_DOUBLE = struct.Struct("<d")
_NUMBERS = 20
"""Bytes of a key and a length, at most."""


@dataclass(slots=True)
class _Checked:
    """A decoder's methods: the fast one's own, but for those that take a length from the file."""

    read: Callable[[int], bytes]
    skip: Callable[[int], None]
    read_bytes: Callable[[], bytes]
    read_utf8: Callable[[], str]
    read_int_bytes_dict: Callable[[int, dict[int, bytes]], None]
    read_ints: Callable[[int], tuple[int, ...]]
    skip_bytes: Callable[[], None]
    skip_utf8: Callable[[], None]
    tell: Callable[[], int]
    read_int: Callable[[], int]
    skip_int: Callable[[], None]
    read_boolean: Callable[[], bool]
    skip_boolean: Callable[[], None]
    read_float: Callable[[], float]
    skip_float: Callable[[], None]
    read_double: Callable[[], float]
    skip_double: Callable[[], None]


def checked_decoder(data: bytes) -> BinaryDecoder:
    """Raises EOFError for lengths beyond the end, and below zero."""
    fast, end = new_decoder(data), len(data)
    read_int, read_raw, tell = fast.read_int, fast.read, fast.tell

    def check(length: int) -> int:
        if not 0 <= length <= end - tell():
            raise EOFError(f"EOF: {length} bytes are wanted at {tell()} of {end}")
        return length

    def read_bytes() -> bytes:
        length = read_int()
        if not 0 <= length <= end - tell():
            check(length)
        return read_raw(length)

    def read_int_bytes_dict(count: int, found: dict[int, bytes]) -> None:
        # Bounds of columns are most of a manifest: how much is left is asked only when it may not be enough.
        room = end - tell()
        for _ in range(count):
            key, length = read_int(), read_int()
            room -= length + _NUMBERS
            if length < 0 or room < 0:
                room = end - tell() - check(length)
            found[key] = read_raw(length)

    def skip_bytes() -> None:
        fast.skip(check(read_int()))

    def read_double() -> float:
        # The fast one's goes through a C float, which keeps 24 bits of 53.
        return float(_DOUBLE.unpack(read_raw(check(_DOUBLE.size)))[0])

    made = _Checked(
        lambda length: read_raw(check(length)),
        lambda length: fast.skip(check(length)),
        read_bytes,
        lambda: read_bytes().decode(),
        read_int_bytes_dict,
        lambda count: fast.read_ints(check(count)),
        skip_bytes,
        skip_bytes,
        tell,
        read_int,
        fast.skip_int,
        fast.read_boolean,
        fast.skip_boolean,
        fast.read_float,
        fast.skip_float,
        read_double,
        fast.skip_double,
    )
    return cast(BinaryDecoder, made)


# PyIceberg reads manifest lists by itself.
vars(pyiceberg.avro.file)["new_decoder"] = checked_decoder

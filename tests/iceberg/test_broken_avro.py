"""Lengths in Avro files that are longer than the file: PyIceberg's decoder believes them and ended the process."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable

import pytest
from pyiceberg.avro.decoder import BinaryDecoder

from coordinator.connectors.iceberg.manifests.checked_decoder import checked_decoder

FAR = b"\x80\x80\x80\x80\x80\x01"
"""2 to the power of 34, as Avro writes it."""
BEFORE = b"\xff\xff\xff\xff\xff\x01"
READS: dict[str, Callable[[BinaryDecoder], object]] = {
    "read_bytes": lambda decoder: decoder.read_bytes(),
    "read_utf8": lambda decoder: decoder.read_utf8(),
    "skip_bytes": lambda decoder: decoder.skip_bytes(),
    "skip_utf8": lambda decoder: decoder.skip_utf8(),
    "read": lambda decoder: decoder.read(decoder.read_int()),
    "skip": lambda decoder: decoder.skip(decoder.read_int()),
    "read_ints": lambda decoder: decoder.read_ints(decoder.read_int()),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("length", [FAR, BEFORE, b"\x0a"])
def test_lengths_beyond_the_end(name: str, length: bytes) -> None:
    with pytest.raises(EOFError, match="wanted at"):
        READS[name](checked_decoder(length + b"1234"))


def test_bounds_beyond_the_end() -> None:
    found: dict[int, bytes] = {}
    with pytest.raises(EOFError, match="wanted at 10 of 10"):
        checked_decoder(b"\x02\x02x\x04" + FAR).read_int_bytes_dict(2, found)
    assert found == {1: b"x"}


def test_what_is_there_is_read() -> None:
    decoder = checked_decoder(b"\x04ab\x06\xc3\xa4c\x02\x04\x02\x02zX")
    assert (decoder.read_bytes(), decoder.read_utf8()) == (b"ab", "äc")
    assert tuple(decoder.read_ints(2)) == (1, 2)
    bounds: dict[int, bytes] = {}
    decoder.read_int_bytes_dict(1, bounds)
    assert bounds == {1: b"z"}
    decoder.skip(1)
    assert decoder.tell() == 13
    with pytest.raises(EOFError):
        decoder.read_int()


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, float("-inf"), 5e-324])
def test_doubles_are_read_with_all_of_their_bits(value: float) -> None:
    """PyIceberg's own decoder gives a float: partitions of doubles were not found again."""
    decoder = checked_decoder(struct.pack("<d", value) + b"x")
    assert struct.pack("<d", decoder.read_double()) == struct.pack("<d", value)
    assert decoder.tell() == 8
    with pytest.raises(EOFError):
        decoder.read_double()


def test_pyiceberg_reads_manifest_lists_so() -> None:
    """In a process of its own: without the check it ends by SIGSEGV."""
    program = (
        "import coordinator.connectors.iceberg.manifests.lists, io\n"
        "from pyiceberg.avro.file import new_decoder\n"
        "try:\n"
        f"    new_decoder({FAR!r} + b'1234').read_bytes()\n"
        "except EOFError:\n"
        "    print('told')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "told\n")

"""Functions of bytes: encodings and hashes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
import zlib
from collections.abc import Callable
from typing import Any

from .failures import check, invalid
from .hashes import fnv, murmur3_x64_128, spooky, xxhash64
from .table import Table, plain


def _from_hex(value: Any) -> bytes:
    text = value if isinstance(value, str) else value.decode("ascii", "replace")
    check(len(text) % 2 == 0, f"invalid input length {len(text)}")
    try:
        return bytes.fromhex(text) if not any(c.isspace() for c in text) else bytes.fromhex("x")
    except ValueError as error:
        bad = next((c for c in text if c not in "0123456789abcdefABCDEF"), "")
        raise invalid(f"invalid hex character: {bad}") from error


def _ascii(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _decoder(decode: Callable[..., bytes], alphabet: str) -> Callable[[object], bytes]:
    def read(value: object) -> bytes:
        raw = _ascii(value)
        try:
            return decode(raw + b"=" * (-len(raw) % 4))
        except (binascii.Error, ValueError) as error:
            raise invalid(f"Illegal {alphabet} character or length: {error}") from error

    return read


def _from_base32(value: object) -> bytes:
    raw = _ascii(value).rstrip(b"=")
    check(len(raw) % 8 not in (1, 3, 6), f"Invalid input length {len(raw)}")
    bad = next((chr(c) for c in raw if chr(c) not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), None)
    check(bad is None, f"Unrecognized character: {bad}")
    try:
        return base64.b32decode(raw + b"=" * (-len(raw) % 8))
    except (binascii.Error, ValueError) as error:
        raise invalid(f"Invalid input: {error}") from error


def _strict64(raw: bytes) -> bytes:
    return base64.b64decode(raw, validate=True)


def _url64(raw: bytes) -> bytes:
    return base64.b64decode(raw, altchars=b"-_", validate=True)


def _unpacker(form: str, size: int, name: str) -> Callable[[bytes], object]:
    def read(value: bytes) -> Any:
        check(len(value) == size, name if name.endswith("long") else f"{name}: {len(value)}")
        return struct.unpack(form, value)[0]

    return read


def _from_utf8(value: bytes, replacement: Any = "\ufffd") -> str:
    if isinstance(replacement, int):
        check(0 <= replacement <= 0x10FFFF and not 0xD800 <= replacement <= 0xDFFF, "Invalid replacement character")
        replacement = chr(replacement)
    check(len(replacement) <= 1, "Replacement character string must empty or a single character")
    made = value.decode("utf-8", "surrogateescape")
    return "".join(replacement if 0xDC80 <= ord(c) <= 0xDCFF else c for c in made)


def _hmac(name: str) -> Callable[[bytes, bytes], bytes]:
    return lambda value, key: hmac.new(key, value, name).digest()


def _digest(name: str) -> Callable[[bytes], bytes]:
    return lambda value: hashlib.new(name, value, usedforsecurity=False).digest()


BINARY: Table = {
    **plain(
        to_hex=lambda v: v.hex().upper(), from_hex=_from_hex, to_base64=lambda v: base64.b64encode(v).decode(),
        from_base64=_decoder(_strict64, "base64"), to_base64url=lambda v: base64.urlsafe_b64encode(v).decode(),
        from_base64url=_decoder(_url64, "base64url"), to_base32=lambda v: base64.b32encode(v).decode(),
        from_base32=_from_base32, to_utf8=lambda v: v.encode(), from_utf8=_from_utf8,
        to_big_endian_32=lambda v: struct.pack(">i", v), to_big_endian_64=lambda v: struct.pack(">q", v),
        from_big_endian_32=_unpacker(">i", 4, "expected 4-byte input, but got instead"),
        from_big_endian_64=_unpacker(">q", 8, "expected 8-byte input, but got instead"),
        to_ieee754_32=lambda v: struct.pack(">f", v), to_ieee754_64=lambda v: struct.pack(">d", v),
        from_ieee754_32=_unpacker(">f", 4, "Input floating-point value must be exactly 4 bytes long"),
        from_ieee754_64=_unpacker(">d", 8, "Input floating-point value must be exactly 8 bytes long"),
        md5=_digest("md5"), sha1=_digest("sha1"), sha256=_digest("sha256"), sha512=_digest("sha512"),
        hmac_md5=_hmac("md5"), hmac_sha1=_hmac("sha1"), hmac_sha256=_hmac("sha256"), hmac_sha512=_hmac("sha512"),
        crc32=zlib.crc32, xxhash64=lambda v, seed=0: struct.pack(">Q", xxhash64(v, seed)),
        murmur3_x64_128=murmur3_x64_128, fnv1_32=lambda v: fnv(v, 32, False), fnv1a_32=lambda v: fnv(v, 32, True),
        fnv1_64=lambda v: fnv(v, 64, False), fnv1a_64=lambda v: fnv(v, 64, True),
        spooky_hash_v2_32=lambda v: struct.pack(">I", spooky(v) & 0xFFFFFFFF),
        spooky_hash_v2_64=lambda v: struct.pack(">Q", spooky(v)),
    ),
}  # fmt: skip

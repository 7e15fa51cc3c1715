"""Digests that chain the lines of the audit log: each is over its line and the digest of the line before it.

Whoever changes, removes, adds or moves a line has to make every later digest anew, which takes the key where there is
one, and differs from the digests that were told elsewhere. Digests are SHA-256, with a key HMAC-SHA-256 (RFC 2104).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shared.properties import ConfigurationError

BEGINNING = ""
"""The digest before the first line of all."""
_LEAST_KEY = 16
_LAST_BYTES = 1 << 20
"""A line is shorter: its text, names and accesses are cut."""
_MEMBER = b',"digest":"'
_END = b'"}\n'
_LENGTH = 64


def read_key(path: Path | None) -> bytes:
    """The key of the digests, without white space around it; none without a file. Raises ConfigurationError."""
    if path is None:
        return b""
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        message = f"'audit-log.digest-key-file': cannot read {path}: {error.strerror}"
        raise ConfigurationError(message) from error
    if len(key) < _LEAST_KEY:
        raise ConfigurationError(f"'audit-log.digest-key-file': {path} holds fewer than {_LEAST_KEY} bytes")
    return key


def chained(lines: Iterable[bytes], before: str, key: bytes) -> tuple[list[bytes], str]:
    """Lines of JSON objects with their digests, and the digest of the last; ``before``: that of the line before."""
    found = []
    for line in lines:
        body = line.removesuffix(b"\n").removesuffix(b"}")
        before = _digest(before, body, key)
        found.append(body + _MEMBER + before.encode() + _END)
    return found, before


def _digest(before: str, body: bytes, key: bytes) -> str:
    content = before.encode() + body
    return hmac.digest(key, content, "sha256").hex() if key else hashlib.sha256(content).hexdigest()


def last_digest(opened: int) -> tuple[str, bool]:
    """The digest of the last whole line of a file, and whether half a line follows it, which a crash leaves."""
    size = os.fstat(opened).st_size
    begin = max(0, size - _LAST_BYTES)
    content = os.pread(opened, size - begin, begin)
    *lines, rest = content.split(b"\n")
    known = (found for line in reversed(lines) if (found := _parted(line + b"\n")) is not None)
    return next(known, (b"", BEGINNING))[1], bool(rest)


def _parted(line: bytes) -> tuple[bytes, str] | None:
    """What a digest is over, and the digest; None of a line that ends otherwise."""
    body, member, digest = line.removesuffix(_END).rpartition(_MEMBER)
    if not member or not line.endswith(_END) or len(digest) != _LENGTH or not digest.isalnum():
        return None
    return body, digest.decode()


@dataclass(frozen=True, slots=True)
class Broken:
    """A line whose digest says that something was done to it, or before it."""

    file: Path
    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Lines with a right digest, the digest of the last one, and what is wrong."""

    lines: int
    last: str
    broken: tuple[Broken, ...]


def check_files(files: Iterable[Path], key: bytes, before: str | None) -> Checked:
    """Looks at the lines of files in the order in which they were written.

    ``before`` is the digest of the line before them; None where it is not known, so that the first line is taken for
    what it says. Raises OSError.
    """
    lines, broken = 0, []
    for file, number, line in _lines(files):
        parted = _parted(line)
        if parted is None:
            broken.append(Broken(file, number, "has no digest" if _is_whole(line) else "is no whole line"))
            continue
        body, digest = parted
        if before is None or hmac.compare_digest(_digest(before, body, key), digest):
            lines += 1
        else:
            broken.append(Broken(file, number, "is not what was written after the line before it"))
        before = digest
    return Checked(lines, before or BEGINNING, tuple(broken))


def _lines(files: Iterable[Path]) -> Iterator[tuple[Path, int, bytes]]:
    for file in files:
        with file.open("rb") as opened:
            for number, line in enumerate(opened, start=1):
                if line != b"\n":  # stands after half a line
                    yield file, number, line


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False

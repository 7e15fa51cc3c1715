"""Which of the files that a server wrote hold a secret."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def holding(files: Iterable[Path], secrets: Iterable[str]) -> list[Path]:
    """Each file is read once: event logs of a whole run are large."""
    words = [secret.encode() for secret in secrets]
    return [file for file in files if _holds(file.read_bytes(), words)]


def _holds(text: bytes, words: Sequence[bytes]) -> bool:
    return any(word in text for word in words)

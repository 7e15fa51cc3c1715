"""Which of the files that a server wrote hold a secret."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path


def written_by(home: Path) -> list[Path]:
    """The files of a server that runs on, and may remove some meanwhile."""
    found = (Path(folder) / name for folder, _, names in os.walk(home) for name in names)
    return [file for file in found if file.is_file()]


def holding(files: Iterable[Path], secrets: Iterable[str]) -> list[Path]:
    """Each file is read once: event logs of a whole run are large."""
    words = [secret.encode() for secret in secrets]
    return [file for file in files if _holds(file, words)]


def _holds(file: Path, words: Sequence[bytes]) -> bool:
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return False
    return any(word in text for word in words)

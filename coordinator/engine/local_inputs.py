"""What a statement of the local engine reads, as the engine is given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ArrowInput:
    """Rows under a name: an Arrow stream, or a pyarrow dataset, of which engines read only what they need."""

    name: str
    rows: Any


@dataclass(frozen=True, slots=True)
class FilesInput:
    """Parquet files of one table under a name."""

    name: str
    paths: tuple[str, ...]


LocalInput = ArrowInput | FilesInput

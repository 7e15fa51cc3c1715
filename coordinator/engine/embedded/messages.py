"""What the coordinator and a process of the embedded engine tell each other, pickled: both are ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.kernels.file_scan import FileScan


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Of one process: DuckDB's memory and threads, and how much it may spill and answer into ``scratch``."""

    scratch: str
    memory_bytes: int = 1 << 30
    threads: int = 1
    spill_bytes: int = 8 << 30
    result_bytes: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL in DuckDB's dialect over scans by name, whose storage keys are never shown.

    It may read other Parquet files by name, and streams by name that the coordinator sends as they are asked for.
    """

    sql: str
    scans: dict[str, FileScan] = field(repr=False)
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    streams: dict[str, bytes] = field(default_factory=dict)
    """Schemas as Arrow writes them."""
    profiled: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The result is an Arrow stream in the file ``path``, which is the reader's from now on."""

    path: str
    cpu_seconds: float = 0.0
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A ProcessionError's code and text."""

    code: str
    message: str
    retriable: bool = False


Answer = Answered | Failed

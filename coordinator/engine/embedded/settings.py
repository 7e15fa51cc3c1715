"""Settings of the embedded engine: ``query.engine`` and ``embedded-engine.*`` of etc/config.properties."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.engine.embedded.messages import EngineSettings
from coordinator.values.settings import Bytes, Settings


class EmbeddedSettings(Settings):
    """What it takes of tables of lakes, which a session may change, and its processes."""

    engine: Literal["auto", "embedded", "spark"] = Field(
        "auto",
        alias="query.engine",
        description="What answers queries over tables of lakes: the embedded engine where it reads little, or one of"
        " the two always; session property engine.",
    )
    max_scan_size: Bytes = Field(
        256 << 20,
        alias="embedded-engine.max-scan-size",
        description="The most bytes of lakes that the embedded engine reads for a query, of its columns as stored;"
        " files with deletes or nested columns, and those of object stores, count 8 times.",
    )
    max_scan_rows: int = Field(
        50_000_000,
        alias="embedded-engine.max-scan-rows",
        ge=0,
        description="The most rows of lakes that it reads for a query, counted likewise.",
    )
    max_program_rows: int = Field(
        100_000,
        alias="embedded-engine.max-program-rows",
        ge=0,
        description="The most rows of lakes for which it runs functions row by row, some microseconds each.",
    )
    processes: int = Field(
        2,
        alias="embedded-engine.processes",
        ge=0,
        description="Processes of the embedded engine that read tables of lakes, one query each at a time; started when"
        " needed. With 0, the coordinator reads them itself.",
    )
    memory: Bytes = Field(
        1 << 30, alias="embedded-engine.memory", ge=64 << 20, description="Memory of each; beyond it, queries spill."
    )
    threads: int = Field(
        0,
        alias="embedded-engine.threads",
        ge=0,
        description="Threads of each; 0 is as many as the machine has cores, at most 4.",
    )
    max_spill_size: Bytes = Field(
        8 << 30,
        alias="embedded-engine.max-spill-size",
        description="Disk that each may spill to, under the data directory.",
    )

    def session_defaults(self) -> dict[str, str]:
        """Session properties whose default these are."""
        return {
            "engine": self.engine.upper(),
            "embedded_engine_max_program_rows": str(self.max_program_rows),
            "embedded_engine_max_scan_rows": str(self.max_scan_rows),
            "embedded_engine_max_scan_size": f"{self.max_scan_size}B",
        }

    def of_process(self, scratch: Path) -> EngineSettings:
        """What each process is told."""
        threads = self.threads or min(4, os.cpu_count() or 1)
        return EngineSettings(str(scratch), self.memory, threads, self.max_spill_size)

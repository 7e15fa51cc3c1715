"""Settings of the embedded engine: ``query.engine`` and ``embedded-engine.*`` of etc/config.properties."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from coordinator.engine.embedded.engine import SmallStatements
from coordinator.engine.embedded.messages import EngineSettings
from coordinator.values.machine import machine_memory
from coordinator.values.settings import Bytes, Settings

_ALONE, _BESIDE_A_CLUSTER = (4 << 30, 500_000_000), (1 << 30, 125_000_000)
"""Bytes and rows that a query may read."""


class EmbeddedSettings(Settings):
    """What it takes of tables of lakes, which a session may change, and its processes."""

    engine: Literal["auto", "embedded", "spark"] = Field(
        "auto",
        alias="query.engine",
        description="Which engine runs queries over Iceberg tables: `auto` takes the embedded engine for those that"
        " read little and Spark for the others; `embedded` and `spark` always take that engine. Session"
        " property engine.",
    )
    max_scan_size: Bytes | None = Field(
        None,
        alias="embedded-engine.max-scan-size",
        description="How many bytes of Iceberg tables a query on the embedded engine may read, counting the columns"
        " that it uses as they are stored. Nested columns with floating point, UUIDs or fixed bytes inside count 8"
        " times, and what is read of a table once more a quarter. Unless it is set, `4GB`, and `1GB` with"
        " `spark.remote`, as Spark has machines of its own then.",
    )
    max_scan_rows: int | None = Field(
        None,
        alias="embedded-engine.max-scan-rows",
        ge=0,
        description="How many rows of Iceberg tables such a query may read, counted likewise. Unless it is set, 500"
        " million, and 125 million with `spark.remote`.",
    )
    max_program_rows: int = Field(
        100_000,
        alias="embedded-engine.max-program-rows",
        ge=0,
        description="How many rows such a query may read when it calls functions that run row by row, which take"
        " some microseconds each; every such function counts the rows once, and four times as many are allowed where"
        " Spark runs them row by row too.",
    )
    processes: int = Field(
        2,
        alias="embedded-engine.processes",
        ge=0,
        description="How many processes read Iceberg tables for the embedded engine, one query each at a time; they"
        " are started when they are needed. With 0 the coordinator reads the tables itself.",
    )
    small_processes: int = Field(
        2,
        alias="embedded-engine.small-processes",
        ge=0,
        description="How many more processes there are for small queries, which do not wait for large ones. While the"
        " machine has memory, as many again may take the place of small queries that have run for two seconds.",
    )
    small_scan_size: Bytes = Field(
        16 << 20,
        alias="embedded-engine.small-scan-size",
        description="Up to how many bytes of Iceberg tables a query is small, counted as for"
        " `embedded-engine.max-scan-size` but without weights.",
    )
    small_scan_rows: int = Field(
        2_000_000,
        alias="embedded-engine.small-scan-rows",
        ge=0,
        description="Up to how many rows of Iceberg tables it is small.",
    )
    memory: Bytes | None = Field(
        None,
        alias="embedded-engine.memory",
        ge=64 << 20,
        description="Memory of each of these processes; queries that need more spill to disk. Unless it is set, a"
        " twenty-fourth of the machine's memory, or of its container's, between 1 and 8 GB.",
    )
    threads: int = Field(
        0,
        alias="embedded-engine.threads",
        ge=0,
        description="Threads of each of these processes; 0 takes as many as the machine has cores, but at most 4.",
    )
    max_spill_size: Bytes = Field(
        8 << 30,
        alias="embedded-engine.max-spill-size",
        description="Disk space that each of these processes may spill to, under the data directory.",
    )

    def session_defaults(self, *, spark_elsewhere: bool) -> dict[str, str]:
        """Session properties whose default these are; on the same machine Spark takes ten times as long."""
        size, rows = _BESIDE_A_CLUSTER if spark_elsewhere else _ALONE
        return {
            "engine": self.engine.upper(),
            "embedded_engine_max_program_rows": str(self.max_program_rows),
            "embedded_engine_max_scan_rows": str(rows if self.max_scan_rows is None else self.max_scan_rows),
            "embedded_engine_max_scan_size": f"{size if self.max_scan_size is None else self.max_scan_size}B",
        }

    def small(self) -> SmallStatements:
        """Which queries are small, and their processes."""
        return SmallStatements(self.small_processes, self.small_scan_size, self.small_scan_rows)

    def of_process(self, scratch: Path) -> EngineSettings:
        """What each process is told."""
        threads = self.threads or min(4, os.cpu_count() or 1)
        memory = process_memory(machine_memory()) if self.memory is None else self.memory
        return EngineSettings(str(scratch), memory, threads, self.max_spill_size)


def process_memory(machine: int | None) -> int:
    """Bytes of a process on a machine of so many: four of them beside Spark's heap leave a third."""
    return min(8 << 30, max(1 << 30, (machine or 0) // 24))

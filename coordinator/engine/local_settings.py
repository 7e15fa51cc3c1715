"""Settings of the local engine: ``local-engine.*`` of etc/config.properties."""

from __future__ import annotations

import math

from pydantic import Field

from coordinator.engine.processes.messages import LocalProcessSettings
from coordinator.engine.processes.pool import PoolLimits
from coordinator.values.machine import machine_memory
from coordinator.values.settings import Bytes, Settings

_SHARE_OF_ONE_USER = 0.75
_SHARE_OF_MACHINE = 0.25
_UNKNOWN_MACHINE = 8 << 30
_IDLE_BYTES = 160 << 20
"""That a process which waits may show: some 75 MB of it are shared by all. A new one takes 14 MB and 40 ms."""


class LocalSettings(Settings):
    """Its processes, which run SQL over values, system tables, tpch and databases."""

    processes: int = Field(
        16,
        alias="local-engine.processes",
        ge=1,
        description="How many processes run queries over values, system tables, the tpch catalog and databases, one"
        " query each at a time; they are started when they are needed, half of them stay. One user has three"
        " quarters of them at most; other queries wait.",
    )
    memory: Bytes = Field(
        1536 << 20,
        alias="local-engine.memory",
        ge=256 << 20,
        description="Memory of each of these processes. A query that needs more fails with"
        " EXCEEDED_LOCAL_MEMORY_LIMIT.",
    )
    total_memory: Bytes | None = Field(
        None,
        alias="local-engine.total-memory",
        ge=256 << 20,
        description="Memory of all of these processes together, by default a quarter of the machine's or of its"
        " container's. Above it the largest query is killed with CLUSTER_OUT_OF_MEMORY.",
    )

    def of_process(self) -> LocalProcessSettings:
        """What each process is told."""
        return LocalProcessSettings(self.memory)

    def limits(self) -> PoolLimits:
        """Of all processes."""
        each_user = max(1, math.floor(self.processes * _SHARE_OF_ONE_USER))
        return PoolLimits(self.processes, each_user, kept=max(1, self.processes // 2), idle_bytes=_IDLE_BYTES)

    def total_bytes(self) -> int:
        """Of all processes together."""
        return self.total_memory or int((machine_memory() or _UNKNOWN_MACHINE) * _SHARE_OF_MACHINE)

"""What a Presto worker says about itself, in the shapes that coordinators and gateways read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from sidecar.settings import SidecarSettings


@dataclass(slots=True)
class NodeState:
    """Identity and life of this process; ``state`` is ACTIVE or SHUTTING_DOWN."""

    settings: SidecarSettings
    started: float
    state: str = "ACTIVE"

    @property
    def uptime(self) -> str:
        """As Presto writes durations: ``4.00s``, ``2.50m``."""
        seconds = time.monotonic() - self.started
        for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
            if seconds >= size:
                return f"{seconds / size:.2f}{unit}"
        return f"{seconds:.2f}s"


def info(node: NodeState, *, starting: bool) -> dict[str, object]:
    """ServerInfo; ``starting`` until the first converter process has booted."""
    return {
        "nodeId": node.settings.node_id,
        "nodeVersion": {"version": node.settings.node_version},
        "environment": node.settings.environment,
        "coordinator": False,
        "sidecar": True,
        "starting": starting,
        "uptime": node.uptime,
    }


def load(node: NodeState) -> dict[str, object]:
    """NodeStats."""
    one_minute = os.getloadavg()[0]
    cores = os.cpu_count() or 1
    return {
        "nodeState": node.state,
        "loadMetrics": {
            "cpuUsedPercent": min(100.0, 100.0 * one_minute / cores),
            "memoryUsedInBytes": _resident_bytes(),
            "numQueuedDrivers": 0,
            "cpuOverload": False,
            "memoryOverload": False,
        },
    }


def status(node: NodeState) -> dict[str, object]:
    """NodeStatus."""
    cores = os.cpu_count() or 1
    resident = _resident_bytes()
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    one_minute = os.getloadavg()[0] / cores
    return {
        "nodeId": node.settings.node_id,
        "nodeVersion": {"version": node.settings.node_version},
        "environment": node.settings.environment,
        "coordinator": False,
        "uptime": node.uptime,
        "externalAddress": node.settings.host,
        "internalAddress": node.settings.host,
        "memoryInfo": {
            "totalNodeMemory": f"{total}B",
            "pools": {
                "general": {
                    "maxBytes": total,
                    "reservedBytes": resident,
                    "reservedRevocableBytes": 0,
                    "queryMemoryReservations": {},
                    "queryMemoryAllocations": {},
                    "queryMemoryRevocableReservations": {},
                }
            },
            "availableProcessors": cores,
        },
        "processors": cores,
        "processCpuLoad": min(1.0, one_minute),
        "systemCpuLoad": min(1.0, one_minute),
        "heapUsed": resident,
        "heapAvailable": total,
        "nonHeapUsed": 0,
    }


def _resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a kernel interface, not a path
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

"""How much memory a process has and may have; Linux tells and enforces it, elsewhere nothing is known."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

_PREFERRED_VICTIM = "500"
"""Of 1000: a machine without memory ends this process before the coordinator."""


def limit_memory(more: int) -> None:
    """Let this process have ``more`` bytes of private memory beyond what it has: what asks for more fails by itself."""
    used = _data_bytes()
    if used is not None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_PREFERRED_VICTIM, encoding="ascii")


def resident_bytes(pid: int) -> int:
    """Of a process's memory what no file holds; 0 when it has ended or the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[:3]
        return max(0, int(resident) - int(shared)) * os.sysconf("SC_PAGESIZE")
    return 0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far; 0 as above."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _data_bytes() -> int | None:
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("VmData:")).split()[1]) * 1024
    return None

"""The greatest memory of this process."""

from __future__ import annotations

from pathlib import Path


def peak_mb() -> int:
    """MB; not ``ru_maxrss``, which is at least what the parent had when it started this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return peak * 1024 // 1_000_000

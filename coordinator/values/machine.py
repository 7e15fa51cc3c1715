"""What the machine, or the container that this process runs in, has to share."""

from __future__ import annotations

import os
from pathlib import Path

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes() -> int:
    """Memory that this process may count on: the machine's, or its container's where that is less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in _LIMITS:
        try:
            sizes.append(int(file.read_text()))
        except (OSError, ValueError):
            continue  # no such limit, or "max"
    return min(sizes)

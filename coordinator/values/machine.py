"""What the machine, or the container that this process runs in, has to share."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

_GROUPS = "sys/fs/cgroup"


def machine_memory(root: Path = Path("/")) -> int | None:
    """Bytes that all programs here may use together: the machine's, or less where a control group says so."""
    limits = [*_meminfo(root, "MemTotal"), *_group_limits(root)]
    return min(limits) if limits else None


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes of the machine that nobody uses now, caches of files included; None where it does not tell."""
    return next(_meminfo(root, "MemAvailable"), None)


def _meminfo(root: Path, name: str) -> Iterator[int]:
    with contextlib.suppress(OSError):
        text = (root / "proc/meminfo").read_text(encoding="ascii")
        found = re.search(rf"{name}:\s+(\d+) kB", text)
        if found:
            yield int(found[1]) * 1024


def _group_limits(root: Path) -> Iterator[int]:
    """Of the process's control group and those above it, in both versions; ``max`` means none."""
    top = root / _GROUPS
    for folder, file in _groups(root):
        for place in (folder, *folder.parents):
            if not place.is_relative_to(top):
                break
            with contextlib.suppress(OSError, ValueError):
                yield int((place / file).read_text(encoding="ascii"))


def _groups(root: Path) -> Iterator[tuple[Path, str]]:
    """The folder of the process's group and the file with its limit. In a container the folder may be the root."""
    mount = root / _GROUPS
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" and not controllers:
                yield mount / path.lstrip("/"), "memory.max"
            elif "memory" in controllers.split(","):
                yield mount / "memory" / path.lstrip("/"), "memory.limit_in_bytes"

"""What the machine, or the container that this process runs in, has to share."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS = "sys/fs/cgroup"
_M_ARENA_MAX = -8  # malloc.h of glibc
_ARENAS = 2
_ARROW_POOL = "ARROW_DEFAULT_MEMORY_POOL"


def machine_memory(root: Path = Path("/")) -> int | None:
    """Bytes that all programs here may use together: the machine's, or less where a control group says so."""
    limits = [*_meminfo(root, "MemTotal"), *_group_limits(root)]
    return min(limits) if limits else None


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that nobody uses now, caches of files included: of the machine, or less where a control group has less
    left; None where neither tells.
    """
    free = [*_meminfo(root, "MemAvailable"), *_left_in_groups(root)]
    return min(free) if free else None


def limit_arenas() -> bool:
    """Let the C library's malloc have two arenas in this process; True where it took that.

    By default glibc makes up to eight for each core as threads come and go (``mallopt(3)``), and each keeps some 5 MB
    that are free: 78 MB in a coordinator after 145,000 statements. Who sets MALLOC_ARENA_MAX decides.
    """
    if sys.platform != "linux" or os.environ.get("MALLOC_ARENA_MAX"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (OSError, AttributeError):  # another C library
        return False


@contextlib.contextmanager
def arrow_on_malloc() -> Iterator[None]:
    """Arrow, where it is first imported within, takes its memory from the C library's malloc.

    Its own allocator keeps up to 4 MB for each thread that ever used it: 40 MB in a coordinator, which calls Arrow for
    moments on many threads. Programs that this process starts are not told. Who sets ARROW_DEFAULT_MEMORY_POOL decides.
    """
    if _ARROW_POOL in os.environ or platform.libc_ver()[0] != "glibc":
        yield
        return
    os.environ[_ARROW_POOL] = "system"
    try:
        yield
    finally:
        del os.environ[_ARROW_POOL]


def _meminfo(root: Path, name: str) -> Iterator[int]:
    with contextlib.suppress(OSError):
        text = (root / "proc/meminfo").read_text(encoding="ascii")
        found = re.search(rf"{name}:\s+(\d+) kB", text)
        if found:
            yield int(found[1]) * 1024


@dataclass(frozen=True, slots=True)
class _Files:
    """What a version of control groups calls them. ``cached`` counts files' pages that may go at once."""

    limit: str
    used: str
    cached: str


_FIRST = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = _Files("memory.max", "memory.current", "inactive_file")


def _group_limits(root: Path) -> Iterator[int]:
    return (limit for _, _, limit in _limited_groups(root))


def _left_in_groups(root: Path) -> Iterator[int]:
    for group, files, limit in _limited_groups(root):
        with contextlib.suppress(OSError, ValueError):
            used = int((group / files.used).read_text(encoding="ascii"))
            yield max(0, limit - max(0, used - _cached(group, files)))


def _cached(group: Path, files: _Files) -> int:
    with contextlib.suppress(OSError):
        found = re.search(rf"^{files.cached} (\d+)$", (group / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0


def _limited_groups(root: Path) -> Iterator[tuple[Path, _Files, int]]:
    """The process's control group and those above it with their limits, in both versions; ``max`` means none."""
    top = root / _GROUPS
    for folder, files in _groups(root):
        for place in (folder, *folder.parents):
            if not place.is_relative_to(top):
                break
            with contextlib.suppress(OSError, ValueError):
                yield place, files, int((place / files.limit).read_text(encoding="ascii"))


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """The folder of the process's group and its files. In a container the folder may be the root."""
    mount = root / _GROUPS
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" and not controllers:
                yield mount / path.lstrip("/"), _SECOND
            elif "memory" in controllers.split(","):
                yield mount / "memory" / path.lstrip("/"), _FIRST

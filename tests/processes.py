"""What processes are, for tests that look at others' while those come and go."""

from __future__ import annotations

import psutil


def command_of(process: psutil.Process) -> list[str]:
    """Its words; none of one that has ended meanwhile, also where nobody has taken note of that yet."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def environment_of(process: psutil.Process) -> dict[str, str]:
    """As it was started; empty for one that has ended meanwhile."""
    try:
        return process.environ()
    except psutil.NoSuchProcess:
        return {}

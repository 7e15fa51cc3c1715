"""Tests on a machine that stands still now and then: ``python -m tests.stalls tests/flight``, with options of pytest.

Every process of the tests is stopped for some seconds, again and again (``STALL_SECONDS``, 3 by default); with
``STALL_ONE=1`` one of them at a time, as where a busy machine lets one wait. A test that fails here depends on a
deadline that a loaded machine misses.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable

import psutil

from tests.warm import ROOT

_PAUSE = (0.3, 3.0)
"""The shortest and the longest time between two stalls, in seconds."""


def stall(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Stop those that run, and let them go on after a while."""
    stopped = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_STOPPED:  # else a test has done that
                process.suspend()
                stopped.append(process)
    time.sleep(seconds)
    for process in stopped:
        with contextlib.suppress(psutil.Error):
            process.resume()


def main(arguments: list[str]) -> int:
    """What pytest ends with."""
    seconds, alone = float(os.environ.get("STALL_SECONDS", "3")), os.environ.get("STALL_ONE") == "1"
    chance = random.Random(int(os.environ.get("STALL_SEED", "1")))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    tests = subprocess.Popen([*command, *arguments], cwd=ROOT)
    while tests.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            tests.wait(chance.uniform(*_PAUSE))
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(tests.pid).children(recursive=True)
            if family:
                stall([chance.choice(family)] if alone else family, seconds)
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

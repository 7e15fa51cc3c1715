"""Threads that come and go leave no memory of allocators behind (``coordinator/values/machine.py``)."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has no arenas")

_PROGRAM = """
import ctypes, threading
from coordinator.values.machine import limit_arenas

limit_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(12)

def work():
    together.wait()
    assert libc.malloc(ctypes.c_size_t(3000))
    together.wait()

threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fdopen(1, b"w")))
libc.fflush(None)
"""


def arenas(**environment: str) -> int:
    """How many a process has once twelve threads have asked for memory at the same time, by glibc's own account."""
    variables = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"} | environment
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.count("<heap nr=")


def test_a_process_has_two() -> None:
    assert arenas() == 2


def test_an_operators_own_number_counts() -> None:
    assert arenas(MALLOC_ARENA_MAX="3") == 3


_IMPORTING = """
import os
from coordinator.cli.main import importing

with importing():
    import pyarrow

print(pyarrow.default_memory_pool().backend_name, os.environ.get("ARROW_DEFAULT_MEMORY_POOL"))
"""


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, "system None"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc mimalloc")],
)
def test_a_coordinators_arrow_takes_memory_where_all_do(own: dict[str, str], expected: str) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"} | own
    command = [sys.executable, "-c", _IMPORTING]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == expected

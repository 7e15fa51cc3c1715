"""One coordinator a data directory: a second one is refused, one that ends is waited for."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coordinator.data_directory import held
from shared.properties import ConfigurationError

HOLD = """
import sys
from pathlib import Path
from coordinator.data_directory import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[bytes]:
    """A process that holds the directory until its input ends."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_one_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        with (
            pytest.raises(ConfigurationError, match=rf"is used by another coordinator \(process {other.pid}\); each"),
            held(tmp_path, patience=0.2),
        ):
            raise AssertionError
        other.kill()
        other.wait()
        with held(tmp_path, patience=5):
            pass
    with held(tmp_path, patience=0.0):
        pass


def test_one_that_ends_is_waited_for(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        assert other.stdin is not None
        threading.Timer(0.3, other.stdin.close).start()
        with held(tmp_path, patience=20):
            assert (tmp_path / "coordinator.lock").read_text() != str(other.pid)


def test_children_do_not_hold_it_for_their_parent(tmp_path: Path) -> None:
    """After a crash a new coordinator starts at once, while what the old one had started ends."""
    child = HOLD.replace(
        "    sys.stdin.read()", "    import os\n    if os.fork():\n        os._exit(1)\n    sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", child, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        process.wait(20)
        with held(tmp_path, patience=0.0):
            pass


def test_a_lock_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    """As one that another user owns, after a first start as root."""
    (tmp_path / "coordinator.lock").mkdir()
    with pytest.raises(ConfigurationError, match=r"cannot open .*coordinator\.lock: Is a directory"), held(tmp_path):
        raise AssertionError

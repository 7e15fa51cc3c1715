"""A guarded child and all that descends from it end with the process that asked for it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from coordinator.engine.spark.child import GuardedChild

# A child with a child of its own that left its process group, as Spark's Python daemon does.
FAMILY = """
import os, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getpid(), grandchild.pid, flush=True)
time.sleep(600)
"""
ASKER = """
import os, pathlib, sys, time
from coordinator.engine.spark.child import GuardedChild
silence = float(sys.argv[3]) if len(sys.argv) > 3 else None
log = pathlib.Path(sys.argv[2])
child = GuardedChild([sys.executable, "-c", sys.argv[1]], env=os.environ, log_file=log, silence=silence)
print(child.pid, flush=True)
time.sleep(600)
"""


def until(condition, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def family(log: Path) -> list[int]:
    assert until(lambda: written(log))
    return [int(pid) for pid in log.read_text().split()]


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.slow
def test_stop_ends_grandchildren_too(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = GuardedChild([sys.executable, "-c", FAMILY], env=os.environ, log_file=log)
    pids = family(log)
    child.stop()
    assert child.poll() is not None
    assert all(gone(pid) for pid in pids)
    child.stop()


@pytest.mark.slow
def test_kill_9_of_the_asking_process_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    with subprocess.Popen([sys.executable, "-c", ASKER, FAMILY, str(log)], stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        guard = int(asker.stdout.readline())
        pids = [guard, *family(log)]
        asker.send_signal(signal.SIGKILL)
    assert until(lambda: all(gone(pid) for pid in pids))


def stood_still(seconds: float, done=lambda: False) -> float:
    """Sleep so long, or until it is done; the longest that this process was not run meanwhile."""
    end, longest, before = time.monotonic() + seconds, 0.0, time.monotonic()
    while before < end and not done():
        time.sleep(0.02)
        now = time.monotonic()
        longest, before = max(longest, now - before), now
    return longest


def written(log: Path) -> bool:
    return log.exists() and len(log.read_text().split()) == 2


def ran_without_a_pause(log: Path) -> bool:
    """Whether the asker was judged; a machine that stands still suspends it as well."""
    asker = subprocess.Popen([sys.executable, "-c", ASKER, FAMILY, str(log), "3"], stdout=subprocess.PIPE)
    try:
        assert asker.stdout is not None
        guard = int(asker.stdout.readline())
        if stood_still(60, lambda: written(log) or gone(guard)) > 1 or stood_still(4) > 1:
            return False
        pids = [guard, *family(log)]
        assert not any(gone(pid) for pid in pids)
        asker.send_signal(signal.SIGSTOP)
        assert until(lambda: all(gone(pid) for pid in pids))
        return True
    finally:
        asker.send_signal(signal.SIGCONT)
        asker.kill()
        asker.communicate()


@pytest.mark.slow
def test_a_suspended_asker_is_taken_for_dead_and_one_at_work_is_not(tmp_path: Path) -> None:
    assert any(ran_without_a_pause(tmp_path / f"{attempt}.log") for attempt in range(20))


@pytest.mark.slow
def test_kill_9_of_the_guard_ends_the_command(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    command = "import os, time; print(os.getpid(), 0, flush=True); time.sleep(600)"
    child = GuardedChild([sys.executable, "-c", command], env=os.environ, log_file=log)
    pid = family(log)[0]
    os.kill(child.pid, signal.SIGKILL)
    assert until(lambda: gone(pid))
    child.stop()


def test_exit_code_and_last_words_are_passed_on(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "child.log"
    child = GuardedChild(["sh", "-c", "echo first; echo last; exit 7"], env=os.environ, log_file=log)
    assert child.wait(60) == 7
    assert child.last_lines(1) == "last"
    child.stop()


def test_a_command_that_does_not_exist_is_told(tmp_path: Path) -> None:
    child = GuardedChild(["no-such-command-here"], env=os.environ, log_file=tmp_path / "log")
    assert child.wait(60) == 127
    assert "cannot start no-such-command-here: No such file or directory" in child.last_lines()
    child.stop()

"""What keeps a coordinator from starting is one line and exit code 2, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", ["up", "coordinator"])
def test_a_data_directory_that_is_a_file(warm_procession: Any, etc: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "data").write_text("")
    done = warm_procession(command, "--etc", str(etc), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert done.stderr == f"procession: cannot write to the data directory {tmp_path / 'data'}: it is a file\n"
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["up", "coordinator"])
def test_a_data_directory_that_cannot_be_made(warm_procession: Any, etc: Path, command: str) -> None:
    done = warm_procession(command, "--etc", str(etc), "--data-dir", "/proc/nothing/here")
    assert done.returncode == 2
    assert done.stderr == (
        "procession: cannot write to the data directory /proc/nothing/here: No such file or directory\n"
    )


FAILING = """
import sys
from pathlib import Path
from coordinator.app import Overrides, serve
from coordinator.validation.planner_process import PlannerProcess

async def start(*arguments):
    raise {error}

PlannerProcess.start = start
sys.exit(serve(Path(sys.argv[1]), Overrides(0, None, Path(sys.argv[2]))))
"""


@pytest.mark.parametrize("error", ["TimeoutError()", "OSError('no memory')"])
def test_a_planner_that_does_not_come_up(warm_procession: Any, etc: Path, tmp_path: Path, error: str) -> None:
    script = tmp_path / "failing.py"
    script.write_text(FAILING.format(error=error))
    done = warm_procession(str(script), str(etc), str(tmp_path / "data"))
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told.startswith("procession: A planner process could not be started: ")
    assert "Traceback" not in done.stderr

"""``procession demo`` on a small table: what it prints, what it returns, and that it leaves nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from coordinator.cli import demo
from coordinator.cli.table_state import TableState
from tests.warm import ROOT

VERBS = ["receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"]


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_shows_the_whole_line_and_ends(tmp_path: Path, processes_of: Callable[[Path], list[int]]) -> None:
    command = [sys.executable, "-m", "tests.cli.demo_with_our_jars", "demo", "--scale", "0.01", "--files", "60"]
    own = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=own, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert processes_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    text = done.stdout
    before, after = re.findall(r"^ files +(\d+) +(\d+)", text, re.MULTILINE)[0]
    assert (before, after) == ("60", "1")
    rows = re.findall(r"^ rows +([\d,]+) +([\d,]+)", text, re.MULTILINE)[0]
    assert rows == ("60,175", "60,175")
    checksums = re.findall(r"^ checksum +(\d+) +(\d+)", text, re.MULTILINE)[0]
    assert checksums[0] == checksums[1]
    for part in ("- Output[", "CallDistributedProcedure[", "-- TableScan[", "rewritten_data_files_count  60"):
        assert part in text
    seconds = text.partition("Seconds of each verb")[2].splitlines()
    assert [line.split()[0] for line in seconds if re.match(r" \w+ +\d+\.\d+", line)] == VERBS
    assert "rewrite_data_files ━" in text, "the progress bar"


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (TableState(1, 10, 5, 77), 0),
        (TableState(1, 10, 5, 78), 1),
        (TableState(1, 10, 4, 77), 1),
        (TableState(3, 10, 5, 77), 1),
    ],
)
def test_the_exit_code_is_0_only_when_every_row_is_there_and_files_are_fewer(after: TableState, code: int) -> None:
    assert demo._verdict(Console(quiet=True), TableState(3, 20, 5, 77), after) == code


def test_a_missing_generator_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "_generator", lambda: Path("/nonexistent/tpchgen-cli"))
    assert demo.demo(demo.DemoOptions(), Console()) == 2
    assert capsys.readouterr().out == "procession: the demo needs tpchgen-cli; fix: pip install tpchgen-cli\n"

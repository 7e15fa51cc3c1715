"""Which Python ``make setup`` takes: an optimized one, whatever comes first; one that makes environments; or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "choose_python.sh"


def _candidate(folder: Path, name: str, code: int) -> Path:
    """A program of that name, which says of itself what ``code`` means (0 optimized, 3 not, 1 cannot make any)."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    return program


def _chosen(*folders: Path) -> str:
    path = os.pathsep.join(map(str, folders))
    return subprocess.run(["/bin/sh", SCRIPT], env={"PATH": path}, capture_output=True, text=True, check=True).stdout


def test_optimized_python_is_taken_before_one_that_comes_first(tmp_path: Path) -> None:
    _candidate(tmp_path / "a", "python3.11", 3)
    optimized = _candidate(tmp_path / "a", "python3.12", 0)
    assert _chosen(tmp_path / "a") == f"{optimized}\n"


def test_first_of_the_path_is_taken_where_it_is_optimized(tmp_path: Path) -> None:
    optimized = _candidate(tmp_path / "a", "python3.11", 0)
    _candidate(tmp_path / "b", "python3.11", 0)
    assert _chosen(tmp_path / "a", tmp_path / "b") == f"{optimized}\n"


def test_python_that_cannot_make_environments_is_passed_by(tmp_path: Path) -> None:
    _candidate(tmp_path / "a", "python3.11", 1)
    _candidate(tmp_path / "a", "python3.12", 0)
    assert _chosen(tmp_path / "a") == f"{tmp_path / 'a' / 'python3.12'}\n"


def test_this_python_is_suitable(tmp_path: Path) -> None:
    """The question that the script puts to a real Python has one of the two good answers."""
    (tmp_path / "python3.11").symlink_to(sys.base_prefix + f"/bin/python3.{sys.version_info[1]}")
    chosen = _chosen(tmp_path).strip()
    assert chosen in {str(tmp_path / "python3.11"), "/usr/bin/python3.11", "/usr/bin/python3.12", "/usr/bin/python3"}

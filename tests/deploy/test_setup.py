"""What ``make setup`` says of a failed download: one line with what was not had, and why."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "why_setup_failed.awk"
RETRY = "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            f"Collecting duckdb==2.0.0\n{RETRY}'NewConnectionError('<pip.HTTPConnection object at 0x7f>: Failed to"
            " establish a new connection: [Errno 111] Connection refused')': /simple/duckdb/\n"
            "ERROR: Could not find a version that satisfies the requirement duckdb==2.0.0 (from versions: none)\n"
            "ERROR: No matching distribution found for duckdb==2.0.0\n",
            "cannot download duckdb==2.0.0: NewConnectionError('Failed to establish a new connection: [Errno 111]"
            " Connection refused'); is the package index reachable?",
        ),
        (
            "  error: subprocess-exited-with-error\n  × pip subprocess to install build dependencies did not run\n"
            f"      {RETRY}'ReadTimeoutError(\"Read timed out.\")': /simple/hatchling/\n"
            "      ERROR: No matching distribution found for hatchling\nnote: This is likely not a problem with pip.\n",
            'cannot download hatchling: ReadTimeoutError("Read timed out."); is the package index reachable?',
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement pyvelox==0.2.0\n"
            "ERROR: No matching distribution found for pyvelox==0.2.0\n",
            "the package index has no pyvelox==0.2.0 for this Python",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n\n",
            "Could not install packages due to an OSError: [Errno 28] No space left on device",
        ),
        ("Killed\n", "Killed"),
    ],
    ids=["refused", "in a build", "missing", "disk", "last line"],
)
def test_a_failure_is_one_line(log: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "setup.log").write_text(log)
    command = ["awk", "-f", str(SCRIPT), str(tmp_path / "setup.log")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{said}\n"


def test_images_have_what_a_wheel_is_made_of() -> None:
    """Nobody builds the images here; a file that the build names and that is not copied would stop it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], *project["project"]["license-files"], "README.md"}
    for name in ("coordinator", "sidecar"):
        before = (ROOT / "docker" / f"{name}.Dockerfile").read_text().rpartition("RUN pip install")[0]
        copied = {word for line in before.splitlines() if line.startswith("COPY ") for word in line.split()[1:-1]}
        assert needed <= copied, name

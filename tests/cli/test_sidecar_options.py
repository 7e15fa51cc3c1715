"""``sidecar.options``: flags of the sidecar of ``procession up``; wrong ones are one line, and nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.app import Overrides
from coordinator.cli.up import up
from tests.e2e.service import write_etc

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--max-depth 0", "--max-depth must be at least 1"),
        ("--no-such-flag", "unrecognized arguments: --no-such-flag"),
        ("'--max-depth", "No closing quotation"),
    ],
)
def test_wrong_flags_stop_the_start(options: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    etc = write_etc(tmp_path / "etc", spark=False, planners=2)  # which says nothing of the sidecar
    with (etc / "config.properties").open("a") as config:
        config.write(f"sidecar.options={options}\n")
    assert up(etc, Overrides(data_dir=tmp_path / "data", http_port=0)) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert said in line

"""What the embedded engine gets where nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.engine.embedded.settings import EmbeddedSettings, process_memory

SIZES = [(None, 1), (2, 1), (24, 1), (96, 4), (1024, 8)]
"""GB of the machine and of a process."""


@pytest.mark.parametrize(("machine", "expected"), SIZES)
def test_memory_follows_the_machine_within_bounds(machine: int | None, expected: int) -> None:
    assert process_memory(None if machine is None else machine << 30) == expected << 30


def test_what_is_set_holds(tmp_path: Path) -> None:
    given = EmbeddedSettings.model_validate({"embedded-engine.memory": "64MB", "embedded-engine.max-scan-rows": 7})
    assert given.of_process(tmp_path).memory_bytes == 64 << 20
    for elsewhere, size in ((False, 4 << 30), (True, 1 << 30)):
        defaults = given.session_defaults(spark_elsewhere=elsewhere)
        assert defaults["embedded_engine_max_scan_rows"] == "7"
        assert defaults["embedded_engine_max_scan_size"] == f"{size}B"

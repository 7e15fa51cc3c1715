"""A large result passes through the coordinator with bounded memory, however slowly it is read."""

from __future__ import annotations

import os

import pytest

from benchmarks.memory import grown, statement
from tests.e2e.service import Service

FULL = bool(os.environ.get("PROCESSION_TEST_FULL"))


@pytest.mark.full("e2e/test_wide_rows: a coordinator that streams large rows grows by little")
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_slow_reader_does_not_make_the_coordinator_grow(service: Service) -> None:
    """Held at once, the rows would be 400 MB of JSON, or 800 MB of ten million narrow ones."""
    if FULL:
        rows, _, megabytes = grown(service, statement(10_000, "local", 40))
        assert (rows, megabytes < 300) == (10_000_000, True), megabytes
    else:
        rows, _, megabytes = grown(service, statement(500, "local", 760))
        assert (rows, megabytes < 250) == (500_000, True), megabytes

"""How large the generated data of a test run is."""

from __future__ import annotations

import os


def scale(*, small: float, full: float = 0.1) -> float:
    """The scale factor: ``small`` in CI, ``full`` in ``make test-full``, PROCESSION_TEST_SCALE where it is set."""
    chosen = os.environ.get("PROCESSION_TEST_SCALE")
    if chosen:
        return float(chosen)
    return full if os.environ.get("PROCESSION_TEST_FULL") else small

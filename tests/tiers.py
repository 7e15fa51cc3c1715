"""What `make test-full` alone runs: `pytest.mark.full`, whose word says what stays in `make test`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

FULL = os.environ.get("PROCESSION_TEST_FULL") == "1"


def some(first: Iterable[Any], others: Iterable[Any], why: str) -> list[Any]:
    """Values of a parameter: the first ones are tried in `make test`, the others in `make test-full` alone.

    A tuple has values of several parameters.
    """
    mark = pytest.mark.full(why)
    values = [value if isinstance(value, tuple) else (value,) for value in others]
    return [*first, *(pytest.param(*value, marks=mark) for value in values)]


_ALL_SLOW = re.compile(r"^pytestmark = (?:\[[^]]*?)?pytest\.mark\.(?:slow|spark)\b", re.MULTILINE)


def all_slow(file: Path) -> bool:
    """Whether a file of tests marks all of them as slow, by its text."""
    return file.name.startswith("test_") and _ALL_SLOW.search(file.read_text("utf-8")) is not None


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is marked, but in a full run; a mark without a reason is a mistake in any run."""
    marked = [item for item in items if item.get_closest_marker("full")]
    for item in marked:
        mark = item.get_closest_marker("full")
        if mark is None or len(mark.args) != 1 or not isinstance(mark.args[0], str):
            raise pytest.UsageError(f"{item.nodeid}: pytest.mark.full needs one text, what stays in make test")
    if not FULL and marked:
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if not item.get_closest_marker("full")]

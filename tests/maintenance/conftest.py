"""A service of each test's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.maintenance.cases import Case


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Case]:
    return partial(Case, tmp_path)

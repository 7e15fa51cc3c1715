"""The folder of test planners on the path of this process and of planner processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.spi.session import Session


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def factories_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "factories"))


@pytest.fixture
def session() -> Session:
    return Session(user="tester", query_id="q1")

"""What the watchdog makes of Spark's silence, without a Spark."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.engine.spark import watchdog


@pytest.mark.parametrize(("embedded", "asks"), [(True, 1), (False, 3)])
@pytest.mark.parametrize("stood_still", [False, True])
def test_silence_while_nobody_listened_is_none(
    monkeypatch: pytest.MonkeyPatch, embedded: bool, asks: int, stood_still: bool
) -> None:
    now = [0.0]

    def ask(_session: object, seconds: float) -> str:
        now[0] += 1000.0 if stood_still else seconds
        return "silent"

    monkeypatch.setattr(watchdog, "ask", ask)
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: now[0]))
    connection: Any = SimpleNamespace(
        session=None, server=SimpleNamespace() if embedded else None, lost=threading.Event()
    )
    watched, told = watchdog.Watchdog(5.0, 20.0), []
    for _ in range(asks):
        now[0] += 6.0
        told.append(watched.problem(connection))
    last = None if stood_still else "it did not answer within 20 s"
    assert told == [*[None] * (asks - 1), last]

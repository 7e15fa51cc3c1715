"""An event loop on which waiting takes no time: its clock jumps to what is due next. For coroutines, not threads."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


def _loop() -> asyncio.AbstractEventLoop:
    selector = _Jumping()
    loop = asyncio.SelectorEventLoop(selector)
    # A little more than what was waited for, as sums of floats may be a little less.
    loop.time = lambda: selector.now * (1 + 1e-12)  # type: ignore[method-assign]
    return loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        return runner.run(work)

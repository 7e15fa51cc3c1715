"""What one catalog does that nobody waits for: it ends with the catalog, and its records are for the next start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_ENDING_SECONDS = 5.0


class Background:
    """Threads of one catalog; thread-safe. Once it has ended nothing begins any more."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._threads: set[threading.Thread] = set()
        self._wakers: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def begin(self, name: str, work: Callable[[], None]) -> threading.Thread | None:
        """Run ``work`` on a thread of its own; None when all has ended. It is to look at ``ended`` itself."""

        def run() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name=name, daemon=True)
        with self._lock:
            if self.ended:
                return None
            self._threads.add(thread)
            thread.start()
        return thread

    def later(self, seconds: float, name: str, step: Callable[[], None]) -> None:
        """Do ``step`` after so many seconds, unless all ends before."""

        def wait_and_do() -> None:
            if not self.wait(seconds):
                step()

        self.begin(name, wait_and_do)

    def wait(self, seconds: float) -> bool:
        """Wait so long at most; whether all has ended."""
        return self._ended.wait(seconds)

    def wake_at_end(self, wake: Callable[[], None]) -> None:
        """``wake`` is called at the end: for threads that wait for something else."""
        self._wakers.append(wake)

    def end(self) -> None:
        """Begin nothing more, and wait a moment for what is at work; whatever takes longer ends by itself."""
        self._ended.set()
        for wake in self._wakers:
            wake()
        with self._lock:
            threads = [thread for thread in self._threads if thread is not threading.current_thread()]
        limit = time.monotonic() + _ENDING_SECONDS
        for thread in threads:
            thread.join(max(0.0, limit - time.monotonic()))

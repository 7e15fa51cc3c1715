"""The execution of a statement that somebody else watches and ends."""

from __future__ import annotations

from collections.abc import Callable


class Uncancelled:
    """As much of ``Execution`` as running SQL in this process needs: who cancels it ends the process."""

    def check_cancelled(self) -> None:
        """It never is."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """It never will be."""

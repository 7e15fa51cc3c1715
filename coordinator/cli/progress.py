"""A progress bar of one statement, fed by the ``stats`` that the protocol sends with every page."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class StatementBar:
    """Drawn while the block runs. On anything but a terminal only its last state is printed."""

    def __init__(self, console: Console, title: str, *, transient: bool = False) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[splits]:>9}"),
            TextColumn("{task.fields[state]:<24}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=transient)
        self._task = self._progress.add_task(title, total=None, splits="", state="")

    def update(self, stats: Mapping[str, Any]) -> None:
        """``stats`` as in QueryResults."""
        total, completed = stats.get("totalSplits") or None, stats.get("completedSplits", 0)
        splits = f"{completed}/{total}" if total else ""
        self._progress.update(
            self._task, total=total, completed=completed, splits=splits, state=str(stats.get("state", ""))
        )

    def finish(self) -> None:
        """The statement succeeded: a full bar, also where no page told how many splits there were."""
        total = self._progress.tasks[0].total or 1
        self._progress.update(self._task, total=total, completed=total, state="FINISHED")

    def stop(self) -> None:
        """Draw no more."""
        self._progress.stop()

    def __enter__(self) -> StatementBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

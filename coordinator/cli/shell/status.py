"""What a statement does while it runs, drawn anew on the terminal, and the lines that sum it up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coordinator.cli.client import Page
from coordinator.cli.shell import amounts
from coordinator.cli.shell.values import visible
from shared.protocol.statement import StageStats, Stats

_QUIET_SECONDS = 0.3
_REDRAWS = 4
_BAR = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """Rows and bytes over a time."""

    rows: int
    size: int
    seconds: float

    def text(self) -> str:
        """``[6.45M rows, 560MB] [473K rows/s, 41.1MB/s]``"""
        rows, size = (amounts.rate(number, self.seconds) for number in (self.rows, self.size))
        return (
            f"[{amounts.count(self.rows)} rows, {amounts.size(self.size)}] "
            f"[{amounts.count(rows)} rows/s, {amounts.size(size)}/s]"
        )


def measured(stats: Stats, seconds: float | None = None) -> Measured:
    """Of the whole statement, over the time that the server names unless another is given."""
    elapsed = stats.elapsedTimeMillis / 1000 if seconds is None else seconds
    return Measured(stats.processedRows, stats.processedBytes, elapsed)


def summary(page: Page) -> str:
    """Presto's lines behind a result: the query and its state, splits, time with rows and bytes."""
    stats = page.stats
    nodes = max(stats.nodes, 1)
    share = 100.0 * stats.completedSplits / stats.totalSplits if stats.totalSplits else 100.0
    splits = f"Splits: {stats.totalSplits:,} total, {stats.completedSplits:,} done ({share:.2f}%)\n"
    return (
        f"{_headed(page)}, {nodes:,} node{'' if nodes == 1 else 's'}\n"
        f"{splits if stats.totalSplits else ''}"
        f"{amounts.duration(stats.elapsedTimeMillis / 1000)} {measured(stats).text()}\n"
    )


def _headed(page: Page) -> str:
    return visible(f"Query {page.query_id}, {page.stats.state}")


class LiveStatus:
    """Drawn while the block runs; ``update`` brings what the server says. Statements that end at once show nothing."""

    def __init__(self, console: Console) -> None:
        self._page: Page | None = None
        self._begun = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=self._draw,
            refresh_per_second=_REDRAWS,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveStatus:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, page: Page) -> None:
        """A page has come."""
        self._page = page

    def stop(self) -> None:
        """Draw no more: rows are printed where it stood."""
        self._live.stop()

    def _draw(self) -> RenderableType:
        seconds = time.monotonic() - self._begun
        if seconds < _QUIET_SECONDS or self._page is None:
            return Group()
        return Group(*status_lines(self._page, seconds))


def status_lines(page: Page, seconds: float) -> Iterator[RenderableType]:
    """The query and its splits, a line with rate and bar, and a line for each stage that the server names."""
    stats = page.stats
    splits = f"{stats.queuedSplits:,} queued, {stats.runningSplits:,} running, {stats.completedSplits:,} done"
    yield Text(f"{_headed(page)}, {stats.totalSplits:,} splits: {splits}", overflow="ellipsis", no_wrap=True)
    total = stats.totalSplits or None
    share = f"{min(99, 100 * stats.completedSplits // total)}%" if total else ""
    line = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=total, completed=stats.completedSplits, width=_BAR, pulse=total is None)
    line.add_row(Text(f"{amounts.clock(seconds)} {measured(stats, seconds).text()}"), bar, Text(share))
    yield line
    if isinstance(stats.rootStage, StageStats):
        yield _stage_table(stats.rootStage, seconds)


def _stage_table(root: StageStats, seconds: float) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="")
    table.add_column("STAGE", no_wrap=True)
    for name in ("S", "ROWS", "ROWS/s", "BYTES", "BYTES/s", "QUEUED", "RUN", "DONE"):
        table.add_column(name, justify="right", no_wrap=True)
    for depth, stage in _stages(root, 0):
        name = "  " * depth + visible(stage.stageId.rpartition(".")[2])
        rows, size = (amounts.rate(n, seconds) for n in (stage.processedRows, stage.processedBytes))
        splits = (str(n) for n in (stage.queuedSplits, stage.runningSplits, stage.completedSplits))
        amounts_ = (amounts.count(stage.processedRows), amounts.count(rows))
        sizes = (amounts.size(stage.processedBytes), amounts.size(size))
        table.add_row(Text(name.ljust(10, ".")), Text(visible(stage.state[:1])), *amounts_, *sizes, *splits)
    return table


def _stages(stage: StageStats, depth: int) -> Iterator[tuple[int, StageStats]]:
    yield depth, stage
    for below in stage.subStages:
        yield from _stages(below, depth + 1)

"""One statement: its rows to the output, what it does meanwhile to the terminal, and how it ended."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console

from coordinator.cli.client import Page, ServerUnreachableError, StatementClient, StatementError
from coordinator.cli.shell.failures import failure_text
from coordinator.cli.shell.formats import Output, RowPrinter
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.pager import Pager
from coordinator.cli.shell.status import LiveStatus, summary
from coordinator.cli.shell.values import visible

FAILED = 1
UNREACHABLE = 2
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Display:
    """How results are shown. ``pager`` is empty for none; ``timing`` is the line of ``\\timing``."""

    form: OutputFormat
    progress: bool = False
    interactive: bool = False
    timing: bool = False
    debug: bool = False
    pager: tuple[str, ...] = ()


def run(client: StatementClient, statement: str, display: Display, output: TextIO) -> int:
    """0, FAILED, UNREACHABLE or INTERRUPTED; the reason is on standard error. Raises BrokenPipeError of ``output``."""
    begun = time.monotonic()
    running = _Running(display, output)
    try:
        with _ending_early(client) if display.interactive else nullcontext():
            running.read(client, statement)
    except StatementError as error:
        sys.stderr.write(failure_text(statement, error, _width()))
        return FAILED
    except ServerUnreachableError as error:
        sys.stderr.write(f"procession: {visible(str(error))}\n")
        return UNREACHABLE
    except KeyboardInterrupt:
        last = running.last
        sys.stderr.write(f"Query {visible(last.query_id)} was canceled\n" if last else "The statement was canceled\n")
        return INTERRUPTED
    finally:
        if display.timing:
            sys.stderr.write(f"Time: {(time.monotonic() - begun) * 1000:,.1f} ms\n")
    running.sum_up()
    return 0


@contextmanager
def _ending_early(client: StatementClient) -> Iterator[None]:
    """Ctrl-\\ ends the statement with the rows so far, where there is such a key."""
    quit_key = getattr(signal, "SIGQUIT", None)
    if quit_key is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(quit_key, lambda *_: client.end_early())
    try:
        yield
    finally:
        signal.signal(quit_key, before)


class _Running:
    """What is known of the statement so far."""

    def __init__(self, display: Display, output: TextIO) -> None:
        self._display = display
        self._output = output
        self.last: Page | None = None

    def read(self, client: StatementClient, statement: str) -> None:
        """All pages."""
        console = Console(stderr=True)
        live = LiveStatus(console) if self._display.progress and console.is_terminal else None
        with ExitStack() as stack:
            pages = stack.enter_context(closing(client.execute(statement)))
            if live is not None:
                stack.enter_context(live)
            paged = self._display.interactive and self._output is sys.stdout
            output: Output = stack.enter_context(Pager(self._display.pager)) if paged else self._output
            printer = RowPrinter(output, self._display.form, _width())
            try:
                for page in pages:
                    self._show(page, printer, live)
                printer.finish()
            except BrokenPipeError:
                if not paged:
                    raise
                self.last = None  # there is nothing to sum up
                sys.stderr.write("(query aborted by user)\n")

    def _show(self, page: Page, printer: RowPrinter, live: LiveStatus | None) -> None:
        self.last = page
        if live is not None:
            live.update(page)
            if page.rows:
                # Lines that are redrawn and rows above them do not go together.
                live.stop()
        if page.update_type is None:
            # The rows of a change say again what ``updateType`` and ``updateCount`` say.
            printer.add(page.columns, page.rows)

    def sum_up(self) -> None:
        """The kind of change, warnings, and Presto's summary."""
        last = self.last
        if last is None:
            return
        if last.update_type is not None:
            count = "" if last.update_count is None else f": {_rows(last.update_count)}"
            self._output.write(f"{visible(last.update_type)}{count}\n")
            self._output.flush()
        for warning in last.warnings:
            sys.stderr.write(f"WARNING: {visible(warning)}\n")
        if self._display.debug:
            sys.stderr.write(f"{visible(last.info_uri)}\n")
        if self._display.progress:
            sys.stderr.write(f"\n{summary(last)}\n")


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


def _width() -> int:
    return shutil.get_terminal_size().columns

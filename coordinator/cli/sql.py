"""``procession sql``: statements from an argument, from standard input or from a prompt."""

from __future__ import annotations

import os
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TextIO

from rich.console import Console

from coordinator.cli.client import (
    NOBODY,
    ClientSession,
    Login,
    Page,
    ServerUnreachableError,
    StatementClient,
    StatementError,
)
from coordinator.cli.output import OutputFormat, RowPrinter
from coordinator.cli.progress import StatementBar
from coordinator.cli.splitter import is_blank, split_statements

INTERRUPTED = 130
_HELP = "Statements end with ';'. Ctrl-C cancels the running one. 'quit' or Ctrl-D leaves."


def sql(server: str, session: ClientSession, execute: str | None, form: OutputFormat, login: Login = NOBODY) -> int:
    """0 when every statement succeeded, 1 when one failed, 2 when the server cannot be reached, 130 after Ctrl-C."""
    try:
        with StatementClient(server, session, login) as client:
            if execute is not None:
                return run_all(client, execute, form, sys.stdout)
            if not sys.stdin.isatty():
                return run_all(client, sys.stdin.read(), form, sys.stdout)
            return _prompt(client, form)
    except ServerUnreachableError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    except BrokenPipeError:
        # The reader of our output left, as `head` does; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run_all(client: StatementClient, text: str, form: OutputFormat, output: TextIO) -> int:
    """Every statement of ``text`` in order, up to the first that does not succeed."""
    complete, rest = split_statements(text)
    for statement in [*complete, *(() if is_blank(rest) else (rest,))]:
        code = run(client, statement, form, output)
        if code:
            return code
    return 0


def run(client: StatementClient, statement: str, form: OutputFormat, output: TextIO) -> int:
    """One statement: rows to ``output``, progress, warnings and errors to standard error."""
    printer = RowPrinter(output, form)
    console = Console(stderr=True)
    bar = StatementBar(console, "running", transient=True) if console.is_terminal else None
    last: Page | None = None
    try:
        with closing(client.execute(statement)) as pages, bar or nullcontext():
            for page in pages:
                last = page
                if bar is not None:
                    bar.update(page.stats)
                    if page.rows:
                        # A line that is redrawn below and rows above it do not go together.
                        bar.stop()
                printer.add(page.columns, page.rows)
    except StatementError as error:
        sys.stderr.write(f"Query {error.query_id} failed: {error}\n" if error.query_id else f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(f"Query {last.query_id} was canceled\n" if last else "The statement was canceled\n")
        return INTERRUPTED
    printer.finish()
    _tell(last, form, output)
    return 0


def _tell(last: Page | None, form: OutputFormat, output: TextIO) -> None:
    if last is None:
        return
    for warning in last.warnings:
        sys.stderr.write(f"WARNING: {warning}\n")
    if form is OutputFormat.TABLE and last.update_type is not None:
        count = "" if last.update_count is None else f": {last.update_count} rows"
        output.write(f"{last.update_type}{count}\n")


def _prompt(client: StatementClient, form: OutputFormat) -> int:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory

    def unfinished() -> bool:
        text = get_app().current_buffer.text
        return not (split_statements(text)[0] or _command(text) or is_blank(text))

    session: PromptSession[str] = PromptSession(history=FileHistory(str(_history_file())))
    sys.stdout.write(f"{_HELP}\n")
    while True:
        try:
            where = f":{client.session.schema}" if client.session.schema else ""
            line = session.prompt(
                f"procession{where}> ",
                multiline=Condition(unfinished),
                prompt_continuation=lambda width, *_: " " * width,
            )
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        match _command(line):
            case "quit" | "exit":
                return 0
            case "help":
                sys.stdout.write(f"{_HELP}\n")
            case _:
                run_all(client, line, form, sys.stdout)


def _command(text: str) -> str | None:
    word = text.strip().rstrip(";").strip().lower()
    return word if word in ("quit", "exit", "help") else None


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    directory = (Path(state) if state else Path.home() / ".local" / "state") / "procession"
    directory.mkdir(parents=True, exist_ok=True)
    return directory / "history"

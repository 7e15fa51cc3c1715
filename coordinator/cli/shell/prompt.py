"""The prompt: lines until a statement is complete, with history, completion and highlighting."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.shortcuts import clear
from pygments.lexers.sql import SqlLexer

from coordinator.cli.client import StatementClient
from coordinator.cli.shell.commands import COMMANDS
from coordinator.cli.shell.completion import Candidate, SqlCompleter
from coordinator.cli.shell.names import Names
from coordinator.cli.shell.shell import Shell
from coordinator.cli.shell.splitter import inputs, is_blank

_WORDS = ("quit", "exit", "help", "history", "clear")


@dataclass(frozen=True, slots=True)
class Prompt:
    """How lines are read. ``history`` is none where the file cannot be written."""

    history: Path
    vi: bool = False
    suggest: bool = True
    complete_while_typing: bool = False


def prompt(shell: Shell, names: Names, options: Prompt) -> int:
    """Until the user leaves: 0."""
    client, history = shell.client, open_history(options.history)
    shell.history = history.get_strings
    shell.changed = names.forget
    session = _session(client, names, history, options)
    sys.stdout.write("Statements end with ';'. Tab completes, \\? lists the commands, 'quit' leaves.\n")
    rest = ""
    while not shell.leaving:
        try:
            line = session.prompt(lambda: _label(client), default=rest)
        except KeyboardInterrupt:
            rest = ""
            continue
        except EOFError:
            break
        rest = _answer(shell, line)
    names.close()
    return 0


def _session(client: StatementClient, names: Names, history: History, options: Prompt) -> PromptSession[str]:
    def where() -> tuple[str | None, str | None]:
        return client.session.catalog, client.session.schema

    commands = [Candidate(command.name, command.about, is_name=False) for command in COMMANDS]
    return PromptSession(
        history=history,
        completer=ThreadedCompleter(SqlCompleter(names, where, commands)),
        complete_while_typing=options.complete_while_typing,
        enable_history_search=not options.complete_while_typing,
        auto_suggest=AutoSuggestFromHistory() if options.suggest else None,
        lexer=PygmentsLexer(SqlLexer),
        editing_mode=EditingMode.VI if options.vi else EditingMode.EMACS,
        multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
        prompt_continuation=lambda width, *_: "->".rjust(width - 1) + " ",
        enable_open_in_editor=True,
        tempfile_suffix=".sql",
    )


def _answer(shell: Shell, line: str) -> str:
    """Runs what was typed, and gives what the next line begins with: an unfinished statement, or an edited one."""
    match line.strip().rstrip(";").strip().lower():
        case "quit" | "exit":
            shell.leaving = True
        case "help":
            shell.run_all("\\?")
        case "history":
            shell.run_all("\\s")
        case "clear":
            clear()
        case _:
            typed, rest = inputs(line)
            code = shell.run_each(typed)
            edited, shell.edited = shell.edited, None
            return edited or ("" if code else rest)
    return ""


def is_complete(text: str) -> bool:
    """Whether Enter ends the input: after a ``;`` or a command."""
    word = text.strip().rstrip(";").strip().lower()
    return bool(inputs(text)[0]) or word in _WORDS or is_blank(text)


def _label(client: StatementClient) -> str:
    where = ".".join(filter(None, (client.session.catalog, client.session.schema)))
    return f"procession:{where}> " if where else "procession> "


class _PrivateHistory(FileHistory):
    """What begins with a blank is not kept, nor what was entered twice in a row."""

    def append_string(self, string: str) -> None:
        if string.strip() and not string.startswith(" ") and string not in self._loaded_strings[:1]:
            super().append_string(string)


def open_history(file: Path) -> History:
    """A file that only the user can read."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        file.chmod(0o600)
    except OSError as error:
        sys.stderr.write(f"procession: no history is kept: {error}\n")
        return InMemoryHistory()
    return _PrivateHistory(str(file))

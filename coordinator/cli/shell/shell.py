"""What is typed, piped or read from a file, run one after the other: statements and backslash commands."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from coordinator.cli.client import StatementClient
from coordinator.cli.shell.commands import COMMANDS, help_text, statement_of
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.runner import FAILED, INTERRUPTED, UNREACHABLE, Display, run
from coordinator.cli.shell.splitter import Typed, inputs, is_blank
from coordinator.cli.shell.variables import is_name, substituted

_WATCH_SECONDS = 2.0
_LONGEST_WATCH = 10_000_000
_DEEPEST = 16


@dataclass
class Shell:
    """One session. ``changed`` is called after statements that may have created or dropped something."""

    client: StatementClient
    display: Display
    output: TextIO
    variables: dict[str, str] = field(default_factory=dict)
    ignore_errors: bool = False
    changed: Callable[[], None] = lambda: None
    history: Callable[[], Sequence[str]] = tuple
    editor: Sequence[str] = ("vi",)
    last: str = ""
    edited: str | None = None
    """What the next prompt begins with."""
    leaving: bool = False
    depth: int = 0
    """Files that are being read by ``\\i``, each by the one before."""

    def run_all(self, text: str) -> int:
        """Everything in order, up to the first that does not succeed; also a last statement without its end."""
        typed, rest = inputs(text)
        return self.run_each([*typed, *(() if is_blank(rest) else (Typed(rest),))])

    def run_each(self, typed: Sequence[Typed]) -> int:
        """The code of the first that did not succeed, or 0."""
        worst = 0
        for entry in typed:
            code = self._run(entry)
            worst = worst or code
            if self.leaving or code in (UNREACHABLE, INTERRUPTED) or (code and not self.ignore_errors):
                return code or worst
        return worst

    def _run(self, typed: Typed) -> int:
        if typed.is_command:
            return self._command(typed.text)
        statement = substituted(typed.text, self.variables) if typed.text else self.last
        if not statement:
            return self._refuse("there is no statement before this one")
        self.last = statement
        match typed.end.split():
            case ["\\G"]:
                return self._statement(statement, replace(self.display, form=OutputFormat.VERTICAL))
            case ["\\watch", *seconds]:
                return self._watch(statement, seconds)
            case _:
                return self._statement(statement, self.display)

    def _statement(self, statement: str, display: Display) -> int:
        code = run(self.client, statement, display, self.output)
        if not is_read(statement):
            self.changed()
        return code

    def _watch(self, statement: str, seconds: Sequence[str]) -> int:
        try:
            pause = float(seconds[0]) if seconds else _WATCH_SECONDS
        except ValueError:
            return self._refuse(f"\\watch takes seconds, not {seconds[0]}")
        if pause > _LONGEST_WATCH:
            return self._refuse(f"\\watch takes at most {_LONGEST_WATCH:,} seconds")
        display = replace(self.display, pager=(), progress=False)
        try:
            while True:
                self.output.write(f"{time.strftime('%a %b %e %H:%M:%S %Y')} (every {pause:g}s)\n")
                code = self._statement(statement, display)
                if code:
                    return code
                time.sleep(pause)
        except KeyboardInterrupt:
            self._say("\n")
            return 0

    def _command(self, text: str) -> int:
        name, _, argument = text.partition(" ")
        argument = argument.strip().rstrip(";").strip()
        statement = statement_of(name, argument)
        if statement is not None:
            return self._statement(statement, replace(self.display, progress=False))
        match name, argument.split(maxsplit=1):
            case "\\q", _:
                self.leaving = True
            case (("\\?" | "\\h"), _):
                self._say(help_text())
            case "\\p", _:
                self._say(f"{self.last}\n")
            case "\\e", _:
                return self._edit()
            case "\\s", words:
                self._show_history(words)
            case "\\i", [file, *_]:
                return self._file(file)
            case "\\o", words:
                return self._redirect(words)
            case "\\set", words:
                return self._set(words)
            case "\\unset", [variable, *_]:
                self.variables.pop(variable, None)
            case "\\conninfo", _:
                session = self.client.session
                where = ".".join(filter(None, (session.catalog, session.schema))) or "no schema"
                self._say(f"{self.client.server} as {session.user}, {where}\n")
            case _:
                return self._setting(name, argument.lower())
        return 0

    def _setting(self, name: str, value: str) -> int:
        match name, value:
            case "\\timing", ("" | "on" | "off"):
                timing = not self.display.timing if not value else value == "on"
                self.display = replace(self.display, timing=timing)
                self._say(f"Timing is {'on' if timing else 'off'}.\n")
            case "\\x", ("" | "on" | "off" | "auto"):
                forms = {"on": OutputFormat.VERTICAL, "off": OutputFormat.ALIGNED, "auto": OutputFormat.AUTO}
                now = "off" if self.display.form is OutputFormat.VERTICAL else "on"
                self.display = replace(self.display, form=forms[value or now])
                self._say(f"Rows are printed as {self.display.form}.\n")
            case "\\format", _ if value.upper() in OutputFormat.__members__:
                self.display = replace(self.display, form=OutputFormat[value.upper()])
            case "\\format", _:
                return self._refuse(f"\\format is one of {', '.join(OutputFormat)}")
            case _:
                known = next((command for command in COMMANDS if command.name == name), None)
                if known is not None:
                    return self._refuse(f"it is {known.usage}: {known.about}")
                return self._refuse(f"{name} {value}".strip() + " is no command; \\? lists them")
        return 0

    def _set(self, words: Sequence[str]) -> int:
        match words:
            case [name, value] if is_name(name):
                quoted = len(value) > 1 and value[0] == value[-1] == "'"
                self.variables[name] = value[1:-1].replace("''", "'") if quoted else value
            case []:
                self._say("".join(f"{name} = '{value}'\n" for name, value in sorted(self.variables.items())))
            case _:
                return self._refuse("\\set takes a name and a value")
        return 0

    def _file(self, name: str) -> int:
        try:
            text = Path(name).expanduser().read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            return self._refuse(f"{name} cannot be read: {error}")
        if self.depth >= _DEEPEST:
            return self._refuse(f"{name} is read by {_DEEPEST} files within each other")
        self.depth += 1
        try:
            return self.run_all(text)
        finally:
            self.depth -= 1

    def _redirect(self, words: Sequence[str]) -> int:
        try:
            output = Path(words[0]).expanduser().open("w", encoding="utf-8") if words else sys.stdout
        except OSError as error:
            return self._refuse(f"{words[0]} cannot be written: {error}")
        if self.output is not sys.stdout:
            self.output.close()
        self.output = output
        return 0

    def _show_history(self, words: Sequence[str]) -> None:
        entries = list(self.history())
        wanted = int(words[0]) if words and words[0].isdigit() else len(entries)
        for number, entry in list(enumerate(entries, 1))[-wanted:]:
            self._say(f"{number:5d}  {entry}\n")

    def _edit(self) -> int:
        """The file is the user's alone while it is there."""
        with tempfile.NamedTemporaryFile("w+", suffix=".sql", encoding="utf-8") as file:
            file.write(self.last + "\n" if self.last else "")
            file.flush()
            try:
                code = subprocess.run([*self.editor, file.name], check=False).returncode  # noqa: S603
            except OSError as error:
                return self._refuse(f"{self.editor[0]} cannot be started: {error}")
            if code:
                return self._refuse(f"{self.editor[0]} ended with {code}")
            self.edited = Path(file.name).read_text("utf-8").strip()
        return 0

    def _say(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _refuse(self, why: str) -> int:
        sys.stderr.write(f"procession: {why}\n")
        return FAILED

    def close(self) -> None:
        """What ``\\o`` opened."""
        if self.output is not sys.stdout:
            with suppress(OSError):
                self.output.close()


def is_read(statement: str) -> bool:
    """Whether its first word says that it changes nothing."""
    words = statement.split(None, 1)
    return bool(words) and words[0].upper() in ("SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE")

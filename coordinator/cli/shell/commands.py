r"""Commands that begin with a backslash, as psql has them: ``\d``, ``\e``, ``\watch`` and the others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from coordinator.cli.shell.names import quoted

_PART = re.compile(r'"((?:[^"]|"")*)"|([^.\s"]+)')


@dataclass(frozen=True, slots=True)
class Described:
    """``usage`` and what the command does."""

    name: str
    usage: str
    about: str


COMMANDS = (
    Described("\\?", "\\?", "this help"),
    Described("\\c", "\\c CATALOG[.SCHEMA]", "use a schema"),
    Described("\\conninfo", "\\conninfo", "server, user, catalog and schema"),
    Described("\\d", "\\d [TABLE]", "tables of the schema, or the columns of a table"),
    Described("\\d+", "\\d+ TABLE", "the statement that creates a table"),
    Described("\\df", "\\df [PATTERN]", "functions"),
    Described("\\dn", "\\dn [CATALOG]", "schemas"),
    Described("\\dp", "\\dp [PROCEDURE]", "procedures, or one with its arguments"),
    Described("\\ds", "\\ds [PATTERN]", "session properties"),
    Described("\\dt", "\\dt [SCHEMA]", "tables"),
    Described("\\e", "\\e", "edit the last statement in $VISUAL or $EDITOR"),
    Described("\\format", "\\format NAME", "form of the rows: ALIGNED, VERTICAL, AUTO, CSV_HEADER, JSON, MARKDOWN, …"),
    Described("\\g", "\\g", "end a statement as ; does; alone: run the last one again"),
    Described("\\G", "\\G", "end a statement and show its rows as records"),
    Described("\\i", "\\i FILE", "run the statements of a file"),
    Described("\\l", "\\l", "catalogs"),
    Described("\\o", "\\o [FILE]", "write rows into a file; alone: to the terminal again"),
    Described("\\p", "\\p", "print the last statement"),
    Described("\\q", "\\q", "leave"),
    Described("\\s", "\\s [NUMBER]", "history"),
    Described("\\set", "\\set [NAME VALUE]", "set a variable, used as :NAME, :'NAME' or :\"NAME\"; alone: list them"),
    Described("\\timing", "\\timing [on|off]", "time of every statement, seen from here"),
    Described("\\unset", "\\unset NAME", "forget a variable"),
    Described("\\watch", "\\watch [SECONDS]", "end a statement and run it every so many seconds (2) until Ctrl-C"),
    Described("\\x", "\\x [on|off|auto]", "rows as records"),
)
HELP = """\
Statements end with ';' and may take several lines. Ctrl-C cancels the running statement, Ctrl-\\ ends it
with the rows so far, Ctrl-R searches the history, Tab completes, Ctrl-D or 'quit' leaves.
Also: help, history, clear, exit.
"""


def help_text() -> str:
    """Every command."""
    width = max(len(command.usage) for command in COMMANDS)
    lines = (f"  {command.usage.ljust(width)}  {command.about}\n" for command in COMMANDS)
    return HELP + "".join(lines)


def path_of(text: str) -> tuple[str, ...]:
    """The parts of a qualified name as a person types it."""
    parts = (part[1].replace('""', '"') if part[1] is not None else part[2] for part in _PART.finditer(text))
    return tuple(parts)


def statement_of(name: str, argument: str) -> str | None:
    """The statement that a command stands for; None for a command of another kind."""
    path = quoted(*path_of(argument))
    given = bool(argument)
    match name:
        case "\\l":
            return "SHOW CATALOGS"
        case "\\dn":
            return f"SHOW SCHEMAS FROM {path}" if given else "SHOW SCHEMAS"
        case "\\d" if given:
            return f"DESCRIBE {path}"
        case "\\d+" if given:
            return f"SHOW CREATE TABLE {path}"
        case "\\d" | "\\dt" | "\\d+":
            return f"SHOW TABLES FROM {path}" if given else "SHOW TABLES"
        case "\\df":
            return f"SHOW FUNCTIONS LIKE {_pattern(argument)}" if given else "SHOW FUNCTIONS"
        case "\\ds":
            return f"SHOW SESSION LIKE {_pattern(argument)}" if given else "SHOW SESSION"
        case "\\dp":
            return _procedures(argument)
        case "\\c" if given:
            return f"USE {path}"
        case _:
            return None


def _pattern(argument: str) -> str:
    text = argument.strip("'").replace("'", "''")
    return f"'%{text}%'" if "%" not in text else f"'{text}'"


def _procedures(argument: str) -> str:
    if not argument:
        return (
            "SELECT procedure_cat AS catalog, procedure_schem AS schema, procedure_name AS procedure, remarks "
            "FROM system.jdbc.procedures ORDER BY 1, 2, 3"
        )
    *before, name = path_of(argument) or ("",)
    where = [f"procedure_name = {_literal(name)}"]
    if len(before) > 1:
        where.append(f"procedure_cat = {_literal(before[0])}")
    condition = " AND ".join(where)
    return (
        "SELECT procedure_cat AS catalog, if(column_type = 1, 'argument', 'result') AS use, column_name AS name, "  # noqa: S608 - quoted above
        "type_name AS type, if(nullable = 0, 'required', 'optional') AS needed, remarks "
        f"FROM system.jdbc.procedure_columns WHERE {condition} ORDER BY 1, column_type, ordinal_position"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

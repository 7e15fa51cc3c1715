"""Tab: the names that may stand at the cursor, asked of the server, and the words of the grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from coordinator.cli.shell.context import Context, Place, Relation, context_at
from coordinator.cli.shell.keywords import KEYWORDS
from coordinator.cli.shell.names import Names, Procedure
from coordinator.sql.expected.following import what_follows
from coordinator.sql.reserved_words import RESERVED

_WORDS: dict[Place, Sequence[str]] = {
    # Where the grammar could not tell: it is Presto's, and statements may be longer than it is asked about.
    "expression": KEYWORDS,
    "nothing": KEYWORDS,
    "relation": ("EXISTS", "IF", "LATERAL", "NOT", "TABLE", "UNNEST"),
    "value": ("ARRAY", "FALSE", "MAP", "NULL", "TIMESTAMP", "TRUE"),
}
_OF_CALLS: frozenset[Place] = frozenset({"argument", "value"})
"""Where the grammar would let any expression stand."""
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """``text`` as it is typed; ``about`` is shown beside it."""

    text: str
    about: str
    is_name: bool = True


Where = Callable[[], tuple[str | None, str | None]]
"""Catalog and schema of the session."""


class SqlCompleter(Completer):
    """May be slow at the first use of a name: prompt_toolkit runs it in a thread."""

    def __init__(self, names: Names, where: Where, commands: Iterable[Candidate] = ()) -> None:
        self._names = names
        self._where = where
        self._commands = tuple(commands)

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        """What begins with the typed word first, then what holds it."""
        text, cursor = document.text, document.cursor_position
        line = document.current_line_before_cursor.lstrip()
        if line.startswith("\\") and " " not in line:
            yield from _offered(line, self._commands)
            return
        if line.startswith("\\"):
            text, cursor = _as_statement(line)
        context = context_at(text, cursor)
        if context is not None:
            yield from _offered(context.prefix, self.candidates(context))

    def candidates(self, context: Context) -> Iterator[Candidate]:
        """Everything that may stand there, whatever was typed of it."""
        next_ = what_follows(context.before)
        if next_.names or not next_.known:
            yield from self._named(context)
        if not context.qualifier and not context.prefix.startswith('"'):
            is_told = next_.known and context.place not in _OF_CALLS
            words = next_.words if is_told else _WORDS.get(context.place, ())
            yield from (Candidate(word, "keyword", is_name=False) for word in words)

    def _named(self, context: Context) -> Iterator[Candidate]:
        catalog, schema = self._where()
        match context.place:
            case "relation":
                yield from self._relations(context.qualifier, catalog, schema)
            case "schema":
                yield from self._schemas(context.qualifier, catalog)
            case "catalog":
                yield from (Candidate(name, "catalog") for name in self._names.catalogs())
            case "procedure":
                yield from self._procedures(context.qualifier, catalog)
            case "argument":
                yield from self._arguments(context.call, catalog)
            case "property":
                yield from (Candidate(name, about) for name, about in self._names.properties())
            case "expression":
                yield from self._columns(context, catalog, schema)
                if not context.qualifier:
                    yield from (Candidate(name, "function", is_name=False) for name in self._names.functions())
            case "value" | "nothing":
                pass
            case _:
                assert_never(context.place)

    def _relations(self, before: tuple[str, ...], catalog: str | None, schema: str | None) -> Iterator[Candidate]:
        match before:
            case ():
                if catalog and schema:
                    yield from (Candidate(name, "table") for name in self._names.tables(catalog, schema))
                yield from self._schemas(before, catalog)
            case (one,):
                yield from self._schemas(before, catalog)
                if catalog and one not in self._names.catalogs():
                    yield from (Candidate(name, "table") for name in self._names.tables(catalog, one))
            case (one, two):
                yield from (Candidate(name, "table") for name in self._names.tables(one, two))

    def _schemas(self, before: tuple[str, ...], catalog: str | None) -> Iterator[Candidate]:
        match before:
            case ():
                yield from (Candidate(name, "schema") for name in (self._names.schemas(catalog) if catalog else ()))
                yield from (Candidate(name, "catalog") for name in self._names.catalogs())
            case (one,) if one in self._names.catalogs():
                yield from (Candidate(name, "schema") for name in self._names.schemas(one))

    def _procedures(self, before: tuple[str, ...], catalog: str | None) -> Iterator[Candidate]:
        found = self._names.procedures()
        match before:
            case ():
                yield from (Candidate(name, "catalog") for name in sorted({p.catalog for p in found}))
                yield from (Candidate(name, "schema") for name in sorted({p.schema for p in found}))
            case (one,):
                yield from (Candidate(name, "schema") for name in sorted({p.schema for p in found if p.catalog == one}))
                yield from (_procedure(p) for p in found if p.schema == one and p.catalog == catalog)
            case (one, two):
                yield from (_procedure(p) for p in found if (p.catalog, p.schema) == (one, two))

    def _arguments(self, call: tuple[str, ...], catalog: str | None) -> Iterator[Candidate]:
        for procedure in self._names.procedures():
            path = (procedure.catalog, procedure.schema, procedure.name)
            if path == call or (path[1:] == call and procedure.catalog == catalog):
                for name, type_ in procedure.arguments:
                    yield Candidate(f"{name} => ", type_, is_name=False)

    def _columns(self, context: Context, catalog: str | None, schema: str | None) -> Iterator[Candidate]:
        for relation in context.relations:
            if context.qualifier and not _is_called(relation, context.qualifier):
                continue
            path = _full(relation.parts, catalog, schema)
            if path is not None:
                yield from (Candidate(name, type_) for name, type_ in self._names.columns(*path))
            if not context.qualifier:
                yield Candidate(relation.alias or relation.parts[-1], "table")


def _procedure(procedure: Procedure) -> Candidate:
    return Candidate(procedure.name, "procedure")


def _is_called(relation: Relation, qualifier: tuple[str, ...]) -> bool:
    if relation.alias is not None:
        return qualifier == (relation.alias,)
    return relation.parts[-len(qualifier) :] == qualifier


def _full(parts: tuple[str, ...], catalog: str | None, schema: str | None) -> tuple[str, str, str] | None:
    match parts:
        case (table,) if catalog and schema:
            return catalog, schema, table
        case (one, table) if catalog:
            return catalog, one, table
        case (one, two, table):
            return one, two, table
        case _:
            return None


def _as_statement(line: str) -> tuple[str, int]:
    """What may follow a backslash command is what may follow a statement."""
    command, _, rest = line.partition(" ")
    words = {"\\dn": "SHOW SCHEMAS FROM", "\\c": "USE", "\\dp": "CALL", "\\i": "", "\\o": ""}
    text = f"{words.get(command, 'DESCRIBE')} {rest}"
    return text, len(text)


def _offered(prefix: str, candidates: Iterable[Candidate]) -> Iterator[Completion]:
    wanted = prefix.lstrip('"').lower()
    seen: set[str] = set()
    behind: list[Completion] = []
    for candidate in candidates:
        place = candidate.text.lower().find(wanted)
        if place < 0 or candidate.text in seen:
            continue
        seen.add(candidate.text)
        made = Completion(_typed(candidate, prefix), -len(prefix), display=candidate.text, display_meta=candidate.about)
        if place == 0:
            yield made
        elif len(wanted) > 1 and candidate.is_name:
            behind.append(made)
    yield from behind


def _typed(candidate: Candidate, prefix: str) -> str:
    """With the quotes that it needs; keywords in the case that the user types them in."""
    text = candidate.text
    if not candidate.is_name:
        return text.lower() if prefix and prefix == prefix.lower() and text.isupper() else text
    if prefix.startswith('"') or not _PLAIN.fullmatch(text) or text.upper() in RESERVED:
        return '"' + text.replace('"', '""') + '"'
    return text

"""Where in a statement the cursor is: what kind of name may stand there, and which tables the statement is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coordinator.cli.shell.splitter import split_statements, unfinished
from coordinator.sql.lexer import Tokens
from shared.errors import ProcessionError

Place = Literal["relation", "expression", "procedure", "argument", "value", "property", "schema", "catalog", "nothing"]
"""``schema`` is a place for a schema with or without its catalog; ``value`` is that of an argument; in ``nothing``
only keywords stand."""

_PATH = re.compile(r'((?:(?:\w+|"(?:[^"]|"")*")\s*\.\s*)*)("(?:[^"]|"")*|\w*)\Z')
_PART = re.compile(r'"((?:[^"]|"")*)"|(\w+)')
_RELATION = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "DESC", "ANALYZE", "VIEW", "STATS"})
_CLAUSES = frozenset(
    {"SELECT", "WHERE", "ON", "BY", "HAVING", "SET", "VALUES", "USING", "LIMIT", "AND", "OR", "WHEN", "THEN", "ELSE"}
    | {"CASE", "NOT", "BETWEEN", "LIKE", "IN", "DISTINCT", "RETURNING"}
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that the statement names, by one to three parts, and what it calls it."""

    parts: tuple[str, ...]
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """``qualifier``: the parts before the word that is typed; ``call``: the procedure around the cursor.

    ``before`` is the statement up to that word.
    """

    place: Place
    prefix: str
    qualifier: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    call: tuple[str, ...] = ()
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    """Upper case; empty for what is quoted."""
    name: str | None
    """As an identifier, where it can be one."""


def context_at(text: str, cursor: int) -> Context | None:
    """None inside of a literal or a comment."""
    before, behind = unfinished(text[:cursor]), text[cursor:]
    path = _PATH.search(before)
    if path is None or _inside_literal(before):
        return None
    prefix = path[2]
    qualifier = tuple(_unquoted(part) for part in _PART.finditer(path[1]))
    tokens = _tokens(before[: path.start()])
    if tokens is None:
        return None
    following = split_statements(f"{behind};")[0][:1]
    whole = _tokens(f"{before[: path.start()]} {''.join(following)}") or tokens
    place, call = _place(tokens)
    return Context(place, prefix, qualifier, _relations(whole), call, before[: path.start(2)])


def _inside_literal(text: str) -> bool:
    """An open text or comment."""
    for piece in re.finditer(
        r"'(?:[^']|'')*('|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|--[^\n]*(\n|\Z)|/\*.*?(\*/|\Z)", text, re.S
    ):
        closed = piece[1] or piece[2] or piece[3]
        if not closed and piece[0][0] in "'-/":
            return True
    return False


def _unquoted(part: re.Match[str]) -> str:
    return part[1].replace('""', '"') if part[1] is not None else part[2].lower()


def _tokens(text: str) -> list[_Token] | None:
    try:
        read = Tokens(text)
    except ProcessionError:
        return None
    found = []
    for word, kind, start, end in zip(read.words, read.kinds, read.starts, read.ends, strict=True):
        if kind == "end":
            break
        name = None
        if kind == "quoted":
            name = text[start + 1 : end - 1].replace('""', '"')
        elif kind == "name":
            name = word.lower()
        found.append(_Token(word, name))
    return found


def _place(tokens: list[_Token]) -> tuple[Place, tuple[str, ...]]:
    words = [token.word for token in tokens]
    match words:
        case []:
            return "nothing", ()
        case ["CALL", *_]:
            return _in_call(tokens)
        case ["USE"]:
            return "schema", ()
        case ["SET" | "RESET", "SESSION"]:
            return "property", ()
        case ["SHOW", "SCHEMAS", "FROM" | "IN"]:
            return "catalog", ()
        case ["SHOW", "TABLES", "FROM" | "IN"] | ["DROP", "SCHEMA"]:
            return "schema", ()
        case ["EXPLAIN" | "PREPARE", *_] if words[-1] == "CALL":
            return "procedure", ()
    if words[-1] in _RELATION or (words[-1] in ("EXISTS",) and "TABLE" in words):
        return "relation", ()
    return _clause(words), ()


def _clause(words: list[str]) -> Place:
    """The clause that holds the place: after a comma of a FROM stand tables, elsewhere expressions."""
    depth = 0
    for at in range(len(words) - 1, -1, -1):
        word = words[at]
        if word == ")":
            depth += 1
        elif word == "(":
            depth = max(0, depth - 1)
        elif depth == 0 and word in _RELATION:
            return "relation" if words[-1] == "," and word in ("FROM", "JOIN") else "expression"
        elif depth == 0 and word in _CLAUSES:
            return "expression"
    return "nothing"


def _in_call(tokens: list[_Token]) -> tuple[Place, tuple[str, ...]]:
    words = [token.word for token in tokens]
    if "(" not in words:
        return ("procedure", ()) if words == ["CALL"] else ("nothing", ())
    opening = words.index("(")
    name = tuple(token.name for token in tokens[1:opening] if token.name is not None)
    depth = words.count("(") - words.count(")")
    at_argument = depth == 1 and words[-1] in ("(", ",")
    return ("argument" if at_argument else "value"), name


def _relations(tokens: list[_Token]) -> tuple[Relation, ...]:
    """What stands behind FROM, JOIN and the like, and behind commas there; names that WITH gives are none."""
    named = {
        t.name for t, n, m in zip(tokens, tokens[1:], tokens[2:], strict=False) if n.word == "AS" and m.word == "("
    }
    found: list[Relation] = []
    at, listing = 0, False
    while at < len(tokens):
        word = tokens[at].word
        if word in _RELATION or (listing and word == ","):
            parts, at = _path(tokens, at + 1)
            alias, at = _alias(tokens, at)
            listing = bool(parts) and word in ("FROM", "JOIN", ",")
            if parts and not (len(parts) == 1 and parts[0] in named):
                found.append(Relation(parts, alias))
            continue
        listing = listing and word not in _CLAUSES and word not in ("(", ")", "GROUP", "ORDER", "UNION")
        at += 1
    return tuple(found)


def _path(tokens: list[_Token], at: int) -> tuple[tuple[str, ...], int]:
    parts: list[str] = []
    while at < len(tokens):
        name = tokens[at].name
        if name is None:
            break
        parts.append(name)
        at += 1
        if at >= len(tokens) or tokens[at].word != ".":
            break
        at += 1
    return tuple(parts), at


def _alias(tokens: list[_Token], at: int) -> tuple[str | None, int]:
    if at < len(tokens) and tokens[at].word == "AS":
        at += 1
    if at < len(tokens) and tokens[at].name is not None and tokens[at].word not in ("SET", "LIMIT", "OFFSET", "FETCH"):
        return tokens[at].name, at + 1
    return None, at

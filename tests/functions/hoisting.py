"""The literals of an expression as columns: ``1 + 2`` as ``l0 + l1`` over ``(VALUES (1, 2)) AS t(l0, l1)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<blank>\s+)"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?P<word>\w+)|(?P<other>.)""",
    re.DOTALL,
)
_TYPES = (
    "tinyint", "smallint", "integer", "int", "bigint", "real", "double", "decimal", "boolean", "varchar", "char",
    "varbinary", "date", "time", "timestamp", "json", "uuid", "ipaddress", "ipprefix",
)  # fmt: skip
_UNITS = ("second", "minute", "hour", "day", "week", "month", "year", "to")
_NOT_AN_EXPRESSION = re.compile(r"(?i)\b(values|unnest|where|group\s+by|order\s+by|limit|over|select)\b")


@dataclass(frozen=True, slots=True)
class Hoisted:
    """An expression over columns, the literal of each and its name."""

    expression: str
    literals: tuple[str, ...]
    names: tuple[str, ...]


def hoisted(sql: str, prefix: str) -> Hoisted | None:
    """``SELECT expression`` with its literals taken out; columns are called ``prefix`` and a number.

    None for a statement of another shape, and for one without literals.
    """
    text = sql.removeprefix("SELECT ")
    if text == sql or _NOT_AN_EXPRESSION.search(re.sub(r"'(?:[^']|'')*'", "''", text)):
        return None
    tokens = [(str(m.lastgroup), m.group()) for m in _TOKEN.finditer(text)]
    made: list[str] = []
    literals: list[str] = []
    kept = _inside_types(tokens)
    at = 0
    while at < len(tokens):
        end = at if at in kept else _literal_end(tokens, at)
        if end > at:
            made.append(f"{prefix}{len(literals)}")
            literals.append("".join(t for _, t in tokens[at:end]))
            at = end
        else:
            made.append(tokens[at][1])
            at += 1
    names = tuple(f"{prefix}{i}" for i in range(len(literals)))
    return Hoisted("".join(made), tuple(literals), names) if literals else None


def _literal_end(tokens: list[tuple[str, str]], at: int) -> int:
    """The token after the literal that begins here; ``at`` where none does."""
    kind, text = tokens[at]
    if kind == "text":
        # X'00' and U&'…' stay as they are, and what the grammar asks for as a literal.
        before = [t.lower() for k, t in tokens[max(0, at - 2) : at] if k != "blank"]
        return at if before[-1:] in (["x"], ["&"], ["escape"], ["precision"], ["color"]) else at + 1
    if kind == "number":
        if at > 1 and tokens[at - 1][1] == "[" and tokens[at - 2][1].islower():
            return at  # perhaps a field of a row
        return at if text.isdigit() and int(text) >= 1 << 63 else at + 1
    if kind != "word" or text.lower() not in (*_TYPES, "interval"):
        return at
    following = at + 1 + (tokens[at + 1 : at + 2] != [] and tokens[at + 1][0] == "blank")
    if following >= len(tokens) or tokens[following][0] != "text":
        return at
    end = following + 1
    while text.lower() == "interval" and end + 1 < len(tokens) and tokens[end][0] == "blank":
        if tokens[end + 1][1].lower() not in _UNITS:
            break
        end += 2
    return end


def _inside_types(tokens: list[tuple[str, str]]) -> set[int]:
    """Where types stand: the numbers of ``decimal(5, 2)`` are none of values."""
    inside: set[int] = set()
    depth = 0
    for i, (_, text) in enumerate(tokens):
        if depth:
            inside.add(i)
            depth += (text == "(") - (text == ")")
        elif text == "(" and i and tokens[i - 1][1].lower() in (*_TYPES, "array", "map", "row") and _is_type(tokens, i):
            inside.add(i)
            depth = 1
    return inside


def _is_type(tokens: list[tuple[str, str]], at: int) -> bool:
    """Whether what the parenthesis follows is a type: after AS, or one that is no function."""
    if tokens[at - 1][1].lower() not in ("array", "map", "row", "date", "json", "uuid"):
        return True
    before = [t.lower() for k, t in tokens[: at - 1] if k != "blank"]
    return before[-1:] == ["as"]

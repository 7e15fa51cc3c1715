"""Rules as a network of states, in the shape that ANTLR gives them, since its errors name states of that shape."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from coordinator.sql.expected.query_rules import QUERIES
from coordinator.sql.expected.statement_rules import STATEMENTS
from coordinator.sql.reserved_words import RESERVED

Kind = Literal["basic", "start", "stop", "block", "loop", "operators"]
OTHER_WORD = "other_word"
"""The rule for words of the grammar that are names too."""

_NO_WORDS = frozenset((
    "EOF", "IDENTIFIER", "QUOTED", "OTHER_NAME", "STRING", "UNICODE_STRING", "BINARY_LITERAL", "INTEGER_VALUE", "NEQ",
    "DECIMAL_VALUE", "DOUBLE_VALUE", "DOUBLE_PRECISION", "TIME_WITH_TIME_ZONE", "TIMESTAMP_WITH_TIME_ZONE",
))  # fmt: skip
_PART = re.compile(r"!?'[^']+'|![A-Z_]+|~[0-9]|[A-Za-z_]+|[()|?*+]")


@dataclass(slots=True, eq=False)
class Edge:
    """To ``target``: at once, past one of ``tokens``, or if ``precedence`` allows it.

    Where ``follow`` is given, ``target`` begins a rule that is read with the precedence ``level`` and goes on there.
    A ``hidden`` edge is taken and never named.
    """

    target: State
    tokens: frozenset[str] | None = None
    follow: State | None = None
    level: int = 0
    precedence: int = 0
    hidden: bool = False


@dataclass(slots=True, eq=False)
class State:
    """A place in a rule. A ``block`` begins a choice, a ``loop`` a repetition; ``operators`` follow an operand."""

    rule: str
    kind: Kind = "basic"
    edges: list[Edge] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Network:
    """All rules: where each begins and stops, and where its callers go on, with the precedence that they ask for."""

    starts: dict[str, State] = field(default_factory=dict)
    stops: dict[str, State] = field(default_factory=dict)
    callers: dict[str, list[tuple[State, int]]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _Alternative:
    """What stands between two bars: its parts, each a token, a rule, or a choice with its suffix."""

    parts: list[_Part] = field(default_factory=list)
    precedence: int = 0
    right: int = 0


@dataclass(slots=True, eq=False)
class _Part:
    name: str
    suffix: str = ""
    choice: list[_Alternative] = field(default_factory=list)


@lru_cache(maxsize=1)
def network() -> Network:
    """Presto's grammar, built at the first use."""
    made = Network()
    rules = {}
    for written in re.split(r"\n(?=[a-z_]+:)", STATEMENTS + QUERIES):
        name, _, body = written.strip().partition(":")
        rules[name] = _read(_PART.findall(body), 0)[0]
    for name in rules:
        made.starts[name], made.stops[name] = State(name, "start"), State(name, "stop")
        made.callers[name] = []
    made.starts[OTHER_WORD], made.stops[OTHER_WORD] = State(OTHER_WORD, "start"), State(OTHER_WORD, "stop")
    made.callers[OTHER_WORD] = []
    for name, alternatives in rules.items():
        _build_rule(made, name, alternatives)
    made.starts[OTHER_WORD].edges.append(Edge(made.stops[OTHER_WORD], frozenset(made.words - RESERVED - _NO_WORDS)))
    return made


def _read(parts: list[str], position: int) -> tuple[list[_Alternative], int]:
    """Alternatives up to a closing parenthesis or the end, and the position behind them."""
    found = [_Alternative()]
    while position < len(parts) and parts[position] != ")":
        part = parts[position]
        position += 1
        if part == "|":
            found.append(_Alternative())
        elif part == "(":
            inner, position = _read(parts, position)
            found[-1].parts.append(_Part("", choice=inner))
            position += 1
        elif part[0] == "~":
            # Before an alternative: how its operator binds; behind it: how closely the operand of a prefix does.
            if found[-1].parts:
                found[-1].right = int(part[1])
            else:
                found[-1].precedence = int(part[1])
        elif part in "?*+":
            found[-1].parts[-1].suffix = part
        else:
            found[-1].parts.append(_Part(part))
    return found, position


def _build_rule(made: Network, rule: str, alternatives: list[_Alternative]) -> None:
    start, stop = made.starts[rule], made.stops[rule]
    operators = [alternative for alternative in alternatives if alternative.precedence]
    if not operators:
        start.edges.append(Edge(_choice(made, rule, alternatives, stop)))
        return
    entry = State(rule, "operators")
    operands = [alternative for alternative in alternatives if not alternative.precedence]
    start.edges.append(Edge(_choice(made, rule, operands, entry)))
    inner = State(rule, "loop")
    for operator in operators:
        last = operator.parts[-1]
        operator.right = operator.precedence + 1 if last.name == rule else 0
        body = _sequence(made, rule, _Alternative(operator.parts[1:], right=operator.right), entry)
        inner.edges.append(Edge(body, precedence=operator.precedence))
    entry.edges += [Edge(inner), Edge(stop)]


def _choice(made: Network, rule: str, alternatives: list[_Alternative], after: State, *, empty: bool = False) -> State:
    """A state from which each alternative leads to ``after``; single tokens alone are one edge."""
    if all(_is_token(alternative) for alternative in alternatives) and not empty and len(alternatives) > 1:
        tokens = frozenset(_token(made, alternative.parts[0].name) for alternative in alternatives)
        return State(rule, "basic", [Edge(after, tokens)])
    if len(alternatives) == 1 and not empty:
        return _sequence(made, rule, alternatives[0], after)
    block = State(rule, "block")
    block.edges += [Edge(_sequence(made, rule, alternative, after)) for alternative in alternatives]
    if empty:
        block.edges.append(Edge(after))
    return block


def _is_token(alternative: _Alternative) -> bool:
    return len(alternative.parts) == 1 and _names_token(alternative.parts[0])


def _names_token(part: _Part) -> bool:
    return bool(part.name) and not part.suffix and not part.name[0].islower()


def _token(made: Network, written: str) -> str:
    token = written.strip("'!")
    if token[0].isalpha():
        made.words.add(token)
    return token


def _sequence(made: Network, rule: str, alternative: _Alternative, after: State) -> State:
    for number, part in reversed(list(enumerate(alternative.parts))):
        last = number == len(alternative.parts) - 1
        after = _part(made, rule, part, alternative.right if last else 0, after)
    return after


def _part(made: Network, rule: str, part: _Part, level: int, after: State) -> State:
    if part.suffix in ("*", "+"):
        return _loop(made, rule, part, after)
    if part.choice or part.suffix:
        alternatives = part.choice or [_Alternative([_Part(part.name)])]
        if part.suffix == "?" and len(alternatives) > 1 and all(_is_token(a) for a in alternatives):
            alternatives = [_Alternative([_Part("", choice=alternatives)])]
        return _choice(made, rule, alternatives, after, empty=part.suffix == "?")
    if not part.name[0].islower():
        return State(rule, "basic", [Edge(after, frozenset((_token(made, part.name),)), hidden=part.name[0] == "!")])
    made.callers[part.name].append((after, level))
    return State(rule, "basic", [Edge(made.starts[part.name], follow=after, level=level)])


def _loop(made: Network, rule: str, part: _Part, after: State) -> State:
    alternatives = part.choice or [_Alternative([_Part(part.name)])]
    entry = State(rule, "loop")
    body = _choice(made, rule, alternatives, entry)
    if body.kind == "block":
        body.kind = "loop"
    entry.edges += [Edge(body), Edge(after)]
    return entry if part.suffix == "*" else State(rule, "loop", [Edge(body)])

"""Presto's words for a text that its grammar does not take: where reading ends, and what its parser names there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from coordinator.sql.expected.network import State, network
from coordinator.sql.expected.prediction import Predictor, TooLongError
from coordinator.sql.lexer import Tokens

MOST_TOKENS = 5_000
_MOST_WALKED = 50_000
_NAMED = {
    "string": "<string>",
    "query": "<query>",
    "identifier": "<identifier>",
    "type": "<type>",
    "expression": "<expression>",
    "boolean": "<expression>",
    "value": "<expression>",
    "primary": "<expression>",
}
"""Rules that Presto names as a whole."""
_NAMES = frozenset({"identifier", "string", "type"})

_TOKENS = {"EOF": "<EOF>", "INTEGER_VALUE": "<integer>"}
_NOTHING = "(nothing)"
"""A token that fits nowhere."""
_JOINED = {
    ("TIME", "WITH", "TIME", "ZONE"): "TIME_WITH_TIME_ZONE",
    ("TIMESTAMP", "WITH", "TIME", "ZONE"): "TIMESTAMP_WITH_TIME_ZONE",
    ("DOUBLE", "PRECISION"): "DOUBLE_PRECISION",
}
_BY_KIND = {
    "string": "STRING", "unicode": "UNICODE_STRING", "binary": "BINARY_LITERAL", "quoted": "QUOTED",
    "digits": "OTHER_NAME", "backquoted": "OTHER_NAME", "end": "EOF",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explained:
    """The index of the token that does not fit, among those of the lexer, and what could stand there."""

    index: int
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Context:
    """A rule that is being read: where its caller goes on, its precedence, and the caller."""

    follow: State | None
    level: int
    parent: _Context | None


@dataclass(frozen=True, slots=True)
class _Failure:
    """Where reading ended: the state, its rules, the token that explanations begin at, and the one that did not fit."""

    state: State
    context: _Context
    begin: int
    position: int


@dataclass(frozen=True, slots=True)
class _Read:
    """Tokens in the grammar's terms, the lexer's index of each, and whether something separates it from the next."""

    tokens: list[str]
    indexes: list[int]
    separated: list[bool]


@lru_cache(maxsize=1)
def _first_tokens() -> dict[State, frozenset[str]]:
    return {}


def explain(tokens: Tokens, rule: str = "start") -> Explained | None:
    """What Presto says of a text; None where its grammar takes it, or where that is too long to find out."""
    if len(tokens.words) > MOST_TOKENS:
        return None
    read = _read(tokens)
    try:
        failure = _Reading(read.tokens).failure(rule)
        return None if failure is None else Explained(read.indexes[failure.position], _expected(read, failure))
    except (TooLongError, RecursionError):
        return None


def continuations(tokens: Tokens) -> tuple[str, ...]:
    """What may stand behind a text that is not complete, or may go on: none where it is wrong, or too long."""
    if len(tokens.words) > MOST_TOKENS:
        return ()
    read = _read(tokens)
    read.tokens[-1] = _NOTHING
    # Presto's walk ends at the first gap; this one goes on to the end of the text.
    read = _Read(read.tokens, read.indexes, [False] * len(read.tokens))
    try:
        failure = _Reading(read.tokens).failure("start")
        is_at_end = failure is not None and failure.position == len(read.tokens) - 1
        return _expected(read, failure, to_the_end=True) if failure is not None and is_at_end else ()
    except (TooLongError, RecursionError):
        return ()


def _read(tokens: Tokens) -> _Read:
    found = _Read([], [], [])
    words, index = tokens.words, 0
    while index < len(words):
        length = next((len(w) for w in _JOINED if tuple(words[index : index + len(w)]) == w), 1)
        end = index + length - 1
        found.tokens.append(_JOINED[tuple(words[index : end + 1])] if length > 1 else _token(tokens, index))
        found.indexes.append(index)
        found.separated.append(end + 1 < len(words) and tokens.ends[end] < tokens.starts[end + 1])
        index = end + 1
    return found


def _token(tokens: Tokens, index: int) -> str:
    kind, word = tokens.kinds[index], tokens.words[index]
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind == "number":
        return "INTEGER_VALUE" if word.isdigit() else "DOUBLE_VALUE" if "e" in word.lower() else "DECIMAL_VALUE"
    if kind in ("name", "word") and word not in network().words:
        return "IDENTIFIER"
    return "NEQ" if word in ("<>", "!=") else word


class _Reading:
    """Reads tokens as ANTLR's parser for the grammar would, up to the first that does not fit."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._predictor = Predictor(network())
        self._position = 0
        self._passed: tuple[State, _Context] | None = None
        """Where something optional was passed over: errors that follow are told from there."""

    def failure(self, rule: str) -> _Failure | None:
        """Where the text does not fit; None if all of it does."""
        state, context = network().starts[rule], _Context(None, 0, None)
        while True:
            if state.kind == "stop":
                if context.parent is None or context.follow is None:
                    return None
                state, context = context.follow, context.parent
                continue
            number = 0
            if (len(state.edges) > 1 or state.kind == "loop") and not self._may_go_on(state, context):
                return _Failure(state, context, self._position, self._position)
            if len(state.edges) > 1:
                predicted = self._predictor.predict(state, context.level, self._tokens, self._position)
                if predicted.alternative is None:
                    return _Failure(state, context, self._position, predicted.failed_at)
                number = predicted.alternative
            edge = state.edges[number]
            if edge.tokens is not None:
                if self._tokens[self._position] not in edge.tokens:
                    passed, outer = self._passed or (state, context)
                    return _Failure(passed, outer, self._position, self._position)
                self._position += 1
            elif edge.follow is not None:
                context = _Context(edge.follow, edge.level, context)
            state = edge.target

    def _may_go_on(self, state: State, context: _Context) -> bool:
        """ANTLR's look at the next token before a choice: whether it fits, or the rule may end here."""
        first = _first(state)
        if self._tokens[self._position] in first:
            self._passed = None
            return True
        if "" not in first:
            return False
        if self._passed is None:
            self._passed = (state, context)
        return True


def _first(state: State) -> frozenset[str]:
    """The tokens that may follow a state within its rule, and an empty one where the rule may end."""
    known = _first_tokens()
    if state not in known:
        found: set[str] = set()
        ends = _follow(state, found, set())
        known[state] = frozenset(found | {""}) if ends else frozenset(found)
    return known[state]


def _follow(state: State, found: set[str], seen: set[State]) -> bool:
    """Collects the tokens; whether the end of the rule is reached."""
    ends = False
    pending = [state]
    while pending:
        here = pending.pop()
        if here in seen:
            continue
        seen.add(here)
        if here.kind == "stop":
            ends = True
        for edge in here.edges:
            if edge.tokens is not None:
                found |= edge.tokens
            elif edge.follow is None:
                pending.append(edge.target)
            elif _follow(edge.target, found, set()):
                pending.append(edge.follow)
    return ends


def _expected(read: _Read, failure: _Failure, *, to_the_end: bool = False) -> tuple[str, ...]:
    """What Presto names: the tokens after as much as can be read from where the error was found.

    Its walk sees the gaps between tokens as tokens, so that it ends at the first of them, and names rules that it
    comes to instead of going on behind them; ``to_the_end`` it goes on, and names what may begin at the end alone.
    """
    end = 2 * (len(read.tokens) - 1)
    found: dict[int, set[str]] = {}
    pending: list[tuple[State, int, _Context]] = [(failure.state, failure.begin * 2, failure.context)]
    steps = 0
    while pending:
        steps += 1
        if steps > _MOST_WALKED:
            raise TooLongError
        state, at, context = pending.pop()
        if _is_named(state, within=not to_the_end) and (at == end or not to_the_end):
            found.setdefault(at, set()).add(_NAMED[state.rule])
        elif state.kind != "stop":
            pending += _walked(read, state, at, context, found)
        elif context.parent is None or context.follow is None:
            found.setdefault(at, set()).add("<EOF>")
        else:
            pending.append((context.follow, at, context.parent))
    return tuple(sorted(found[max(found)])) if found else ()


def _is_named(state: State, *, within: bool) -> bool:
    """Whether a rule is told as a whole: where it begins, and ``within`` it, or where it is nothing but a name."""
    if state.kind not in ("block", "start") or state.rule not in _NAMED:
        return False
    return within or state.kind == "start" or state.rule in _NAMES


def _walked(
    read: _Read, state: State, at: int, context: _Context, found: dict[int, set[str]]
) -> Iterator[tuple[State, int, _Context]]:
    for edge in state.edges:
        if edge.follow is not None:
            yield edge.target, at, _Context(edge.follow, 0, context)
        elif edge.tokens is None:
            yield edge.target, at, context
        elif at % 2 == 0 and read.tokens[at // 2] in edge.tokens:
            yield edge.target, at + (1 if read.separated[at // 2] else 2), context
        elif not edge.hidden:
            found.setdefault(at, set()).update(_shown(token) for token in edge.tokens)


def _shown(token: str) -> str:
    return _TOKENS.get(token, token if token in ("NEQ", "DECIMAL_VALUE", "DOUBLE_VALUE") else f"'{token}'")

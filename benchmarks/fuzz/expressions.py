"""Expressions of a wanted type over the columns in scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from benchmarks.fuzz.both import Both, fill, same
from benchmarks.fuzz.calls import (
    AGGREGATES,
    BIGINT,
    BOOLEAN,
    CALLS,
    HOSTILE,
    LITERALS,
    NESTED,
    NO_DUCK,
    ODD,
    OF_TYPES,
    WINDOWS,
    Call,
)
from benchmarks.fuzz.choices import Choices
from coordinator.analyzer.casts import can_cast
from coordinator.analyzer.registry import registry
from shared.plan.types import parse_type

_AS_LONG_AS_ASKED = frozenset({"ip_prefix_subnets"})
"""Answers of as many elements as an argument says: millions, which the engine's memory and time limits end."""


@dataclass(frozen=True)
class Column:
    """What can be named."""

    text: Both
    type: str


@dataclass(frozen=True)
class Scope:
    """Columns at hand; ``shared``: only what DuckDB means the same by. ``subquery`` writes one for an expression."""

    columns: tuple[Column, ...]
    shared: bool
    subquery: Callable[[Choices, Scope, str], Both] | None = None

    def of(self, kind: str) -> list[Column]:
        return [column for column in self.columns if column.type == kind]


def expression(choices: Choices, scope: Scope, kind: str, depth: int) -> Both:
    """Of this type. The first choice is a column or a literal."""
    way = choices.below(10) if depth > 0 else 0
    if way == 9 and scope.subquery is not None and kind in (BIGINT, BOOLEAN):
        return scope.subquery(choices, scope, kind)
    options = _allowed(CALLS, kind, scope.shared) if way > 2 else []
    if not options:
        return leaf(choices, scope, kind)
    return applied(choices, scope, choices.pick(options), depth)


def applied(choices: Choices, scope: Scope, call: Call, depth: int) -> Both:
    """A call with arguments."""
    parts = [expression(choices, scope, kind, depth - 1) for kind in call.arguments]
    return fill(call.text, *parts, duck=call.duck)


def leaf(choices: Choices, scope: Scope, kind: str) -> Both:
    """A column if there is one, else (and now and then) a literal."""
    columns = scope.of(kind)
    if columns and not choices.chance(25):
        return choices.pick(columns).text
    text = choices.pick(LITERALS[kind])
    return Both(text, None) if any(word in text for word in NO_DUCK) else same(text)


def aggregate(choices: Choices, scope: Scope, kind: str | None = None) -> Column:
    """Of a type, or of any; its arguments hold no subqueries, which Presto allows and few engines do."""
    inner = replace(scope, subquery=None)
    options = _allowed(AGGREGATES, kind, scope.shared) or _allowed(AGGREGATES, BIGINT, scope.shared)
    call = choices.pick(options)
    text = applied(choices, inner, call, 2)
    if choices.chance(15):
        text = fill("{0} FILTER (WHERE {1})", text, expression(choices, inner, BOOLEAN, 1))
    return Column(text, call.result)


def window(choices: Choices, scope: Scope) -> Column:
    """A call of a window function."""
    call = choices.pick(_allowed(WINDOWS, None, scope.shared))
    return Column(applied(choices, replace(scope, subquery=None), call, 1), call.result)


def odd(choices: Choices, scope: Scope) -> Both:
    """What only our side is asked: any function with any arguments, casts between any types."""
    if choices.chance(40):
        kind = choices.pick(tuple(LITERALS))
        source = leaf(choices, scope, kind).presto
        if choices.chance(50):
            through = choices.pick(_castable(kind, ODD))
            source, kind = f"CAST({source} AS {through})", through
        word = choices.pick(("TRY_CAST", "CAST"))
        if not choices.chance(10):
            return Both(f"{word}({source} AS {choices.pick(_castable(kind, (*ODD, *LITERALS)))})", None)
        return Both(f"{word}({source} AS {choices.pick((*ODD, *LITERALS))})", None)
    name = choices.pick(_names())
    signature = choices.pick(registry()[name])
    given = [_argument(choices, scope, str(kind)) for kind in signature.arguments]
    if choices.chance(4):
        given = given[1:] if choices.chance(50) else [*given, choices.pick(HOSTILE)]
    call = f'"{name}"({", ".join(given)})'
    return Both(f"{call} OVER ()" if signature.kind == "window" else call, None)


def _argument(choices: Choices, scope: Scope, kind: str) -> str:
    """Something of the type where we know it, now and then something strange."""
    if kind in ("T", "E", "K", "V"):
        kind = choices.pick(tuple(LITERALS))
    base = kind.split("(")[0].lower()
    known = next((name for name in LITERALS if name == kind), None)
    known = known or next((name for name in LITERALS if name.split("(")[0] == base and name not in NESTED), None)
    if choices.chance(8) or (known is None and base not in OF_TYPES):
        return choices.pick(HOSTILE)
    if known is None:
        return choices.pick(OF_TYPES[base])
    text = leaf(choices, scope, known).presto
    return f"CAST({text} AS {kind})" if choices.chance(10) and known == kind else text


@cache
def _castable(kind: str, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Those among the types to which a value of ``kind`` can be cast."""
    return tuple(target for target in targets if can_cast(parse_type(kind), parse_type(target))) or targets


def _names() -> Sequence[str]:
    return [name for name in sorted(registry()) if name.isidentifier() and name not in _AS_LONG_AS_ASKED]


def _allowed(calls: Sequence[Call], kind: str | None, shared: bool) -> list[Call]:
    return [c for c in calls if kind in (None, c.result) and not (shared and c.duck is None)]

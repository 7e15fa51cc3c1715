"""Which alternative the text goes on with, looked up as far ahead as it takes; as ANTLR's parsers do without context.

Places where rules were called are shared between all ways to read the text (a graph-structured stack), so that the
work is bounded by a polynomial. Alternatives are bits of a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from coordinator.sql.expected.network import Edge, Network, State

MOST_STEPS = 400_000
"""States looked at for one text, about a second. Beyond it nothing is explained."""


class TooLongError(Exception):
    """The text takes more steps than are worth its explanation."""


@dataclass(slots=True, eq=False)
class _Call:
    """A rule that was called at one token: by whom, as (state to go on in, call, alternatives)."""

    rule: str
    outside: bool
    callers: dict[tuple[State, _Call], int] = field(default_factory=dict)
    ended: int = 0
    ended_outside: int = 0
    shared: int | None = None


@dataclass(slots=True)
class _Frontier:
    """Places before a token: by state and call the alternatives that reach it, and those that left their rule.

    ``accepted`` are the alternatives that have read the whole text.
    """

    places: dict[tuple[State, _Call], tuple[int, int]]
    accepted: int

    @property
    def left(self) -> int:
        """The alternatives of which some way has left the rule where the choice is."""
        left = self.accepted
        for _, outside in self.places.values():
            left |= outside
        return left


@dataclass(frozen=True, slots=True)
class Prediction:
    """The alternative, from 0; or none, and the token where the last of them ended."""

    alternative: int | None
    failed_at: int


_Beginnings = dict[tuple[State, int], tuple[_Frontier, dict[str, int]]]


@lru_cache(maxsize=1)
def _beginnings(network: Network) -> tuple[dict[str, _Call], _Beginnings]:
    """The calls from which choices look ahead, and by choice and precedence what is before their first token.

    Both are the same for all texts: a few thousand entries at most.
    """
    return {rule: _Call(rule, outside=True) for rule in network.starts}, {}


class Predictor:
    """Predictions for the tokens of one text."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._outside, self._first = _beginnings(network)
        self.steps = 0

    def predict(self, state: State, level: int, tokens: Sequence[str], position: int) -> Prediction:
        """For a state with several edges, in a rule that was called with the precedence ``level``."""
        frontier, by_token = self._beginning(state, level)
        mask = by_token.get(tokens[position], 0)
        if mask and not mask & (mask - 1):
            return Prediction(mask.bit_length() - 1, position)
        while True:
            following = self._step(frontier, tokens[position])
            if not following.places:
                left = following.accepted or frontier.left
                return Prediction(_lowest(left) if left else None, position)
            frontier = following
            mask = 0
            for reached, _ in frontier.places.values():
                mask |= reached
            if not mask & (mask - 1) or _conflict(frontier):
                return Prediction(_lowest(mask), position)
            position += 1

    def _beginning(self, state: State, level: int) -> tuple[_Frontier, dict[str, int]]:
        key = (state, level)
        found = self._first.get(key)
        if found is None:
            call = self._outside[state.rule]
            pending = [(edge.target, call, 1 << number, 0) for number, edge in enumerate(state.edges)]
            if state.kind == "operators":
                frontier = self._before_operators(state, call, level)
            else:
                frontier = self._closed(pending, level)
            by_token: dict[str, int] = {}
            for (place, _), (mask, _) in frontier.places.items():
                for token in place.edges[0].tokens or ():
                    by_token[token] = by_token.get(token, 0) | mask
            found = self._first[key] = (frontier, by_token)
        return found

    def _before_operators(self, state: State, call: _Call, level: int) -> _Frontier:
        """An operator belongs to the innermost operand that takes it, and not to one around it in the same rule."""
        taken = self._closed([(state.edges[0].target, call, 1, 0)], level)
        around = self._closed([(state.edges[1].target, call, 2, 0)], level, inner_of=call.rule)
        callers = self._network.callers[call.rule]
        outside = [(follow, self._outside[follow.rule], 2, 2) for follow, asked in callers if not asked]
        places = dict(self._closed(outside, level).places)
        places.update((place, masks) for place, masks in around.places.items() if place not in taken.places)
        for place, (mask, left) in taken.places.items():
            other, other_left = places.get(place, (0, 0))
            places[place] = (mask | other, left | other_left)
        return _Frontier(places, 0)

    def _step(self, frontier: _Frontier, token: str) -> _Frontier:
        moved = [
            (edge.target, call, mask, outside)
            for (state, call), (mask, outside) in frontier.places.items()
            for edge in state.edges
            if edge.tokens is not None and token in edge.tokens
        ]
        return self._closed(moved, None)

    def _closed(self, pending: list[tuple[State, _Call, int, int]], level: int | None, inner_of: str = "") -> _Frontier:
        """All places that are reached without a token; ``level`` counts where nothing was called yet.

        The rule ``inner_of`` is left only for its own operands.
        """
        seen: dict[tuple[State, _Call], tuple[int, int]] = {}
        called: dict[str, _Call] = {}
        accepted = 0
        while pending:
            state, call, mask, outside = pending.pop()
            known, known_outside = seen.get((state, call), (0, 0))
            if not mask & ~known and not outside & ~known_outside:
                continue
            mask, outside = mask | known, outside | known_outside
            seen[(state, call)] = (mask, outside)
            self.steps += 1
            if state.kind == "stop":
                accepted |= 0 if self._network.callers[state.rule] else mask
                pending += self._ended(call, mask, outside, inner_of)
                continue
            for edge in state.edges:
                if edge.tokens is not None:
                    continue
                if edge.follow is not None:
                    pending += self._called(called, edge, edge.follow, call, mask, outside)
                elif not (edge.precedence and level is not None and call.outside and edge.precedence < level):
                    pending.append((edge.target, call, mask, outside))
        if self.steps > MOST_STEPS:
            raise TooLongError
        places = {place: masks for place, masks in seen.items() if place[0].edges and place[0].edges[0].tokens}
        return _Frontier(places, accepted)

    def _called(
        self, called: dict[str, _Call], edge: Edge, follow: State, call: _Call, mask: int, outside: int
    ) -> list[tuple[State, _Call, int, int]]:
        rule = edge.target.rule
        inner = called.get(rule)
        if inner is None:
            inner = called[rule] = _Call(rule, outside=False)
        inner.callers[(follow, call)] = inner.callers.get((follow, call), 0) | mask
        found = [(edge.target, inner, mask, outside)]
        if inner.ended & mask:
            found.append((follow, call, inner.ended & mask, inner.ended_outside & mask))
        return found

    def _ended(self, call: _Call, mask: int, outside: int, inner_of: str) -> list[tuple[State, _Call, int, int]]:
        """Where a rule is left: to its callers, or, from where the look-ahead began, to all that call it at all."""
        if call.outside:
            return [
                (follow, self._outside[follow.rule], mask, mask)
                for follow, asked in self._network.callers[call.rule]
                if asked or call.rule != inner_of
            ]
        call.ended |= mask
        call.ended_outside |= outside
        return [
            (follow, caller, mask & through, outside & through)
            for (follow, caller), through in call.callers.items()
            if mask & through
        ]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _conflict(frontier: _Frontier) -> bool:
    """Whether several alternatives read on alike: some place is theirs in common, and no state is one's alone."""
    by_state: dict[State, int] = {}
    common = False
    for (state, call), (mask, _) in frontier.places.items():
        by_state[state] = by_state.get(state, 0) | mask
        shared = mask & _shared(call)
        common = common or _several(shared)
    return common and all(_several(mask) for mask in by_state.values())


def _several(mask: int) -> bool:
    return bool(mask & (mask - 1))


def _shared(call: _Call) -> int:
    """The alternatives for which a call has one and the same past."""
    if call.outside:
        return -1
    if call.shared is None:
        call.shared = -1
        for (_, caller), through in call.callers.items():
            call.shared &= through & _shared(caller)
    return call.shared

"""The statements that wait in one group, and which of them is next under the group's policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import assert_never

from coordinator.resource_groups.specification import SchedulingPolicy


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One statement in line. ``start`` is called once, when it gets its slot; ``priority`` is ``query_priority``."""

    query_id: str
    start: Callable[[], None]
    priority: int = 1
    retry: bool = False


class TicketQueue:
    """Retries go first; among equals the policy decides, and in the end the order of arrival."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._retries: dict[str, Ticket] = {}
        self._others: dict[str, Ticket] = {}

    def __len__(self) -> int:
        return len(self._retries) + len(self._others)

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._retries or query_id in self._others

    def __iter__(self) -> Iterator[Ticket]:
        """Order of arrival, retries first."""
        yield from self._retries.values()
        yield from self._others.values()

    def put(self, ticket: Ticket) -> None:
        (self._retries if ticket.retry else self._others)[ticket.query_id] = ticket

    def discard(self, query_id: str) -> None:
        self._retries.pop(query_id, None)
        self._others.pop(query_id, None)

    def highest_priority(self) -> int:
        """0 when nothing waits."""
        return max((ticket.priority for ticket in self), default=0)

    def pop(self, policy: SchedulingPolicy) -> Ticket:
        """Take out the next one; there must be one."""
        tier = self._retries or self._others
        ticket = self._next(list(tier.values()), policy)
        del tier[ticket.query_id]
        return ticket

    def _next(self, tickets: list[Ticket], policy: SchedulingPolicy) -> Ticket:
        match policy:
            case "fair":
                return tickets[0]
            case "weighted":
                weights = [max(1, ticket.priority) for ticket in tickets]
                return self._random.choices(tickets, weights)[0]
            case "weighted_fair" | "query_priority":
                return max(tickets, key=lambda ticket: ticket.priority)
            case _:
                assert_never(policy)

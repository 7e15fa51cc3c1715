"""How the slots and places of a group are divided among coordinators: pure arithmetic, the same on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one coordinator in one group: what it has, and what it could use at once. Statements run, or wait."""

    running: int
    wanted: int
    """Those that run, and those that would if they might."""
    queued: int
    places: int
    """Those that wait, and those that would if they might."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU that counts against quotas, and memory of what runs."""

    cpu_seconds: float = 0.0
    memory_bytes: float = 0.0


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class Asked:
    """A group of one coordinator, with the limits that its configuration says for all of them together."""

    running_limit: int
    queued_limit: int
    demand: Demand
    running_share: int = 0
    queued_share: int = 0
    """What it may have now: until it knows its next share it may take as much."""
    used: Usage = NOTHING_USED
    """Where there are limits of it that are those of all."""


@dataclass(frozen=True, slots=True)
class Share:
    """Up to how many statements a coordinator may run and let wait.

    ``contended``: others have less than they want. ``full``: on all of them together as many wait as may.
    """

    running: int
    queued: int
    contended: bool = False
    full: bool = False
    others: Usage = NOTHING_USED
    """What the others use."""


def fair_shares(limit: int, wanted: Mapping[str, int], turn: int = 0) -> dict[str, int]:
    """``limit`` divided among those who want some of it: nobody gets less than another who wants no less.

    What is left over is divided equally as far as everybody gets as much, so that idle coordinators begin at once.
    Where there is not one for each, ``turn`` says who comes first: it grows with time, the same for all.
    """
    shares = dict.fromkeys(wanted, 0)
    left, hungry = max(0, limit), sorted(name for name, count in wanted.items() if count > 0)
    first = turn % len(hungry) if hungry else 0
    hungry = hungry[first:] + hungry[:first]
    while left and hungry:
        each = max(1, left // len(hungry))
        for name in hungry:
            given = min(each, wanted[name] - shares[name], left)
            shares[name] += given
            left -= given
        hungry = [name for name in hungry if shares[name] < wanted[name]]
    spare = left // len(wanted) if wanted else 0
    return {name: share + spare for name, share in shares.items()}


def share_of(
    limit: int, me: str, held: int, wanted: Mapping[str, int], reserved: Mapping[str, int], turn: int = 0
) -> int:
    """What ``me`` may have now: its fair share, as far as others have given theirs back.

    ``held`` is what it has and cannot give back; ``reserved`` is what others may have taken without telling yet.
    """
    free = limit - sum(count for name, count in reserved.items() if name != me)
    return max(0, min(fair_shares(limit, wanted, turn)[me], max(free, held)))


def contended(me: str, wanted: Mapping[str, int], reserved: Mapping[str, int]) -> bool:
    """Whether another coordinator waits for what this one may give back."""
    return any(count > reserved.get(name, 0) for name, count in wanted.items() if name != me)

"""A day of writers: which table gets a commit when. The same for the same number of tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["append", "cdc", "merge", "late"]
"""Appends; upserts by equality deletes; updates by vectors (version 3); late rows into old partitions."""
KINDS: tuple[Kind, ...] = ("append", "append", "cdc", "merge", "late")
_BUSY, _SOME = 0.1, 0.3
_BUSY_COMMITS, _SOME_COMMITS = 30, 8
_SEED = 21


@dataclass(frozen=True, slots=True)
class Member:
    """A table of the lake; ``commits`` is what it gets in the day beyond the rows that it begins with."""

    name: str
    kind: Kind
    commits: int


@dataclass(frozen=True, slots=True)
class Write:
    """A commit; ``moment`` is the share of the day that is over."""

    moment: float
    member: Member


def members(tables: int) -> tuple[Member, ...]:
    """A tenth is written 30 times, two tenths are written 8 times, the rest rests; kinds in the same shares."""
    chance, found = random.Random(_SEED), list[Member]()
    for number in range(tables):
        place = (number // len(KINDS) % 10) / 10
        commits = _BUSY_COMMITS if place < _BUSY else _SOME_COMMITS if place < _SOME else 0
        found.append(Member(f"t{number:04}", KINDS[number % len(KINDS)], commits))
    chance.shuffle(found)
    return tuple(found)


def sample(lake: Sequence[Member], count: int) -> tuple[Member, ...]:
    """So many tables of the same mix: of each kind and number of commits the same share, rounded up."""
    groups = Counter((member.kind, member.commits) for member in lake)
    wanted = {group: max(1, round(size * count / len(lake))) for group, size in groups.items()}
    found = list[Member]()
    for member in lake:
        group = (member.kind, member.commits)
        if wanted[group]:
            wanted[group] -= 1
            found.append(member)
    return tuple(found)


def day(lake: Iterable[Member]) -> tuple[Write, ...]:
    """All commits in the order of their moments."""
    writes = []
    for member in lake:
        chance = random.Random(f"{_SEED} {member.name}")
        writes += [Write(chance.random(), member) for _ in range(member.commits)]
    return tuple(sorted(writes, key=lambda write: (write.moment, write.member.name)))

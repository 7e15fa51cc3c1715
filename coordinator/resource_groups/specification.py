"""What is configured: groups, selectors, limits. Source: Presto's ResourceGroupSpec and SelectorSpec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

SchedulingPolicy = Literal["fair", "weighted", "weighted_fair", "query_priority"]

_VARIABLE = re.compile(r"\$\{([a-zA-Z]\w*)\}")


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Of each query in a group: seconds, bytes, CPU seconds; infinite where nothing is said."""

    execution_time: float = inf
    total_memory: float = inf
    cpu_time: float = inf


NO_LIMITS = QueryLimits()


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """One group; ``name`` may hold ``${VARIABLE}`` templates.

    Memory in bytes, CPU limits in seconds of the manager's quota period. ``hard_concurrency_limit`` queries run,
    ``max_queued`` wait. A group below ``soft_concurrency_limit`` goes first under the weighted policy.
    """

    name: str
    hard_concurrency_limit: int
    max_queued: int
    soft_memory_limit: float = inf
    soft_concurrency_limit: int = 0
    scheduling_policy: SchedulingPolicy = "fair"
    scheduling_weight: int = 1
    soft_cpu_limit: float = inf
    hard_cpu_limit: float = inf
    jmx_export: bool = False
    limits: QueryLimits = NO_LIMITS
    workers_per_query_limit: int = 0
    sub_groups: tuple[GroupSpec, ...] = ()
    memory_is_shared: bool = False
    """Whether ``soft_memory_limit`` is of all coordinators together, and no part of what each has."""


@dataclass(frozen=True, slots=True)
class Range:
    """Both ends included, as in Presto."""

    least: float = 0.0
    most: float = inf

    def holds(self, value: float | None) -> bool:
        """False without a value."""
        return value is not None and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class SelectorSpec:
    """Statements that match everything that is given go to ``group``: the template of a path, one name a level."""

    group: tuple[str, ...]
    user: re.Pattern[str] | None = None
    source: re.Pattern[str] | None = None
    principal: re.Pattern[str] | None = None
    client_info: re.Pattern[str] | None = None
    query_type: str | None = None
    client_tags: frozenset[str] = frozenset()
    estimates: Mapping[str, Range] = field(default_factory=dict)
    schema: str | None = None

    @property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(p for p in (self.user, self.source, self.principal, self.client_info) if p is not None)


@dataclass(frozen=True, slots=True)
class ManagerSpec:
    """All root groups, and the selectors in their order; ``cpu_quota_period`` in seconds."""

    root_groups: tuple[GroupSpec, ...]
    selectors: tuple[SelectorSpec, ...]
    cpu_quota_period: float | None = None


def global_group(
    hard_concurrency_limit: int = 100,
    max_queued: int = 1000,
    *,
    running_of_user: int | None = None,
    queued_of_user: int | None = None,
) -> ManagerSpec:
    """One group ``global`` for all: what a coordinator without a resource group file has.

    With a limit for each user, users have groups of their own in it, which take turns.
    """
    if running_of_user is None and queued_of_user is None:
        return ManagerSpec((GroupSpec("global", hard_concurrency_limit, max_queued),), (SelectorSpec(("global",)),))
    of_user = GroupSpec(
        "${USER}",
        hard_concurrency_limit if running_of_user is None else running_of_user,
        max_queued if queued_of_user is None else queued_of_user,
    )
    root = GroupSpec("global", hard_concurrency_limit, max_queued, sub_groups=(of_user,))
    return ManagerSpec((root,), (SelectorSpec(("global", "${USER}")),))


def variables_of(template: str) -> frozenset[str]:
    """Names of the ``${…}`` in ``template``."""
    return frozenset(_VARIABLE.findall(template))


def expand(template: str, variables: Mapping[str, str]) -> str:
    """``template`` with its variables filled in; those without a value stay empty."""
    if "$" not in template:
        return template
    return _VARIABLE.sub(lambda match: variables.get(match[1], ""), template)

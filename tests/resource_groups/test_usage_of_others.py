"""CPU and memory that other coordinators use count against the limits of a group, and are forgiven once."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.resource_groups.group import ResourceGroup
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.queue import Ticket
from coordinator.resource_groups.shares import Share, Usage
from coordinator.resource_groups.specification import GroupSpec, ManagerSpec
from coordinator.resource_groups.specification_file import parse_specification

LIMITED = GroupSpec("g", 10, 100, soft_cpu_limit=100.0, hard_cpu_limit=200.0)
PERIOD = 100.0
"""Two CPU seconds are forgiven each second."""


def alone(spec: GroupSpec = LIMITED) -> ResourceGroup:
    return ResourceGroup("g", spec, None, Random(1), PERIOD)


def test_limits_are_lowered_by_what_all_used() -> None:
    """As on one coordinator that used the sum."""
    here, there = alone(), alone()
    here.cpu_usage = 30.0
    here.others = Usage(cpu_seconds=120.0)
    there.cpu_usage = 150.0
    assert here.concurrency_limit == there.concurrency_limit == 5
    assert here.asked.running_limit == 5, "what is divided among coordinators is the lowered limit"
    here.others = Usage(cpu_seconds=170.0)
    assert not here.can_run_more()
    assert here.state == "CAN_QUEUE"


@given(st.lists(st.floats(0, 300), min_size=1, max_size=4), st.floats(0.1, 60))
def test_time_forgives_all_together_what_it_forgives_one(used: list[float], seconds: float) -> None:
    one = alone()
    one.cpu_usage = sum(used)
    one.refill(seconds)
    several = [alone() for _ in used]
    for group, own in zip(several, used, strict=True):
        group.cpu_usage, group.others = own, Usage(cpu_seconds=sum(used) - own)
        group.refill(seconds)
    assert sum(group.cpu_usage for group in several) == pytest.approx(one.cpu_usage, abs=1e-6)
    for group in several:
        # Each knows what became of the others without asking them.
        assert group.cpu_of_all == pytest.approx(one.cpu_usage, abs=1e-6)


def test_memory_of_others_counts_until_they_cannot_be_asked() -> None:
    spec = GroupSpec("g", 10, 100, soft_memory_limit=100.0, memory_is_shared=True)
    groups = ResourceGroups(ManagerSpec((spec,), ()))
    (root,) = groups.roots
    started: list[str] = []
    groups.allow({("g",): Share(10, 100, others=Usage(memory_bytes=101.0))})
    root.submit(Ticket("q", lambda: started.append("q")))
    assert started == []
    groups.lose_others()
    assert started == ["q"]


def test_only_limits_that_are_of_all_are_told() -> None:
    groups = parse_specification(
        b"""{"rootGroups": [
        {"name": "size", "softMemoryLimit": "10GB", "hardConcurrencyLimit": 1, "maxQueued": 1},
        {"name": "part", "softMemoryLimit": "10%", "hardConcurrencyLimit": 1, "maxQueued": 1,
         "softCpuLimit": "1s", "hardCpuLimit": "2s"}],
        "selectors": [{"group": "size"}], "cpuQuotaPeriod": "1h"}"""
    ).root_groups
    for spec, expected in zip(groups, (Usage(0.0, 7.0), Usage(3.0, 0.0)), strict=True):
        group = ResourceGroup(spec.name, spec, None, Random(1), 3600.0)
        group.memory_usage, group.cpu_usage = 7.0, 3.0
        assert group.asked.used == expected, spec.name

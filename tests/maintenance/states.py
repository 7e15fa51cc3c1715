"""States of tables as tests want them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from coordinator.maintenance.decisions import decide
from coordinator.maintenance.policies import DEFAULT, TablePolicy
from coordinator.maintenance.questions import Past, Question, Step
from shared.spi.maintenance import PartitionState, TableState

MB = 1 << 20
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def partition(name: str = "", files: int = 1, size: int = MB, **given: Any) -> PartitionState:
    """``files`` small files of ``size`` bytes in all, if nothing else is said."""
    known: dict[str, Any] = {"records": 1000, "small_files": files, "small_size": size, "predicate": f'"p" = {name!r}'}
    return PartitionState(name, files, size, **{**known, **given})


def table(*partitions: PartitionState, **given: Any) -> TableState:
    known: dict[str, Any] = {"uuid": "u", "marker": "m", "target_size": 512 * MB, "snapshots": 10}
    return TableState("lake", "db", "t", partitions=partitions, **{**known, **given})


def policy(**given: Mapping[str, Any]) -> TablePolicy:
    """The defaults with other configurations: ``policy(compaction={"strategy": "sort"})``."""
    changed = DEFAULT
    for name, config in given.items():
        old = getattr(changed, name)
        changed = replace(changed, **{name: type(old).model_validate({"enable": True, **old.model_dump(), **config})})
    return changed


def steps(state: TableState, rules: TablePolicy = DEFAULT, past: Past | None = None, **given: Any) -> dict[str, Step]:
    """What is decided, by procedure."""
    found = decide(Question(state, rules, past or Past(), NOW, **given))
    assert all(step.reason for step in found)
    return {step.kind: step for step in found}

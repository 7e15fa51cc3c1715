"""The threads that take up what others left, and that refuse commits, outlive whatever goes wrong in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from coordinator.cluster import recovery
from coordinator.cluster.recovery import PeerRecovery, Recover
from coordinator.connectors.iceberg.tables.late_writes import LateWrites
from coordinator.connectors.registry import CatalogConfig, Catalogs


class Failing:
    """Each of its steps fails once with something that nobody expects, and works from then on."""

    def __init__(self) -> None:
        self.failed: set[str] = set()
        self.worked: set[str] = set()

    def step(self, name: str) -> None:
        if name not in self.failed:
            self.failed.add(name)
            raise ValueError(name)
        self.worked.add(name)

    def catalogs(self) -> Mapping[str, Recover]:
        self.step("catalogs")
        return {}

    def refuse(self) -> bool:
        self.step("refuse")
        return True


def eventually(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.parametrize(("connected", "worked"), [(True, "catalogs"), (False, "refuse")])
def test_a_round_that_fails_is_not_the_last(connected: bool, worked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_LOOK_SECONDS", 0.01)
    failing = Failing()
    peers = PeerRecovery(lambda: connected, 0.01, failing.catalogs, failing.refuse)
    peers.start()
    eventually(lambda: worked in failing.worked)
    peers.stop()


def test_one_write_that_cannot_be_ended_keeps_no_other_from_it() -> None:
    unused: Any = None
    writes, asked = LateWrites(unused, 1.0, unused, unused, "unseen"), list[str]()

    def broken() -> bool:
        raise RuntimeError("broken")

    writes._working = {"broken": broken, "whole": lambda: asked.append("whole") is None}
    assert not writes.refuse_commits()
    assert asked == ["whole"]


def test_a_connector_that_nobody_asked_for_is_not_made_to_refuse_anything() -> None:
    catalogs = Catalogs([CatalogConfig("one", "tpch", {}), CatalogConfig("other", "no such connector", {})])
    assert catalogs.made() == ()
    asked = catalogs.connector("one")
    assert catalogs.made() == (asked,)

"""A coordinator whose connection to the shared database is cut, or slow, at each step of a rewrite's journal.

At most one commit, no row lost or twice, no file left, no record open: whether the one that began it goes on, or
another takes it over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.cluster.store import ClusterStore
from coordinator.cluster.work import ClusterWork
from shared.errors import ProcessionError
from tests.iceberg.test_peer_recovery import REWRITE_POINTS, Pair, at, eventually, pair, store, url
from tests.tcp_relay import Relay, relay
from tests.tiers import some

pytestmark = pytest.mark.slow
__all__ = ("pair", "store", "url")
POINTS = (*REWRITE_POINTS, "landed")


@dataclass
class Apart:
    """The first coordinator of the pair reaches the database through the relay, the second directly."""

    pair: Pair
    relay: Relay

    def settled(self) -> bool:
        nothing_left = self.pair.settle() == [] and not self.pair.open()
        return nothing_left and self.pair.lake.orphans("t") == set()


@pytest.fixture
def apart(pair: Pair, url: str) -> Iterator[Apart]:
    address = sa.make_url(url)
    assert address.host is not None
    with relay(address.host, address.port or 5432) as between:
        through = ClusterStore(address.set(host="127.0.0.1", port=between.port).render_as_string(hide_password=False))
        pair.first.tables_of.work.shared = ClusterWork(through.engine, "aaaaa", 5.0)
        yield Apart(pair, between)
        through.close()


def rewrite(pair: Pair) -> bool:
    """Whether it says that it landed; a failure says that it may be sent again, or that nobody knows."""
    try:
        return bool(pair.lake.rewrite("t", {"rewrite-all": "true"})["rewritten_rows_count"] == 300)
    except ProcessionError as error:
        assert error.retriable or "unknown" in error.message
        return False


def snapshots(lake: Any) -> int:
    return len(lake.table("t").snapshots())


@pytest.mark.parametrize("point", POINTS)
def test_a_cut_connection_that_another_coordinator_notices(
    apart: Apart, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = apart.pair
    rows, before = pair.lake.rows("t"), snapshots(pair.lake)
    at(point, pair, apart.relay.cut, monkeypatch)
    landed = rewrite(pair)
    pair.end_first()
    eventually(apart.settled)
    assert pair.lake.rows("t") == rows
    assert snapshots(pair.lake) - before <= 1
    assert not landed or snapshots(pair.lake) == before + 1
    apart.relay.heal()
    pair.wake_first()
    assert rewrite(pair)
    eventually(apart.settled)
    assert pair.lake.rows("t") == rows


@pytest.mark.parametrize("point", some(["committing"], [p for p in POINTS if p != "committing"], "one point of eight"))
def test_a_connection_that_is_cut_for_a_moment(apart: Apart, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else notices: it is new when it is next used."""
    pair = apart.pair
    rows, before = pair.lake.rows("t"), snapshots(pair.lake)

    def moment() -> None:
        apart.relay.cut()
        apart.relay.heal()

    at(point, pair, moment, monkeypatch)
    assert rewrite(pair)
    assert (pair.lake.rows("t"), snapshots(pair.lake)) == (rows, before + 1)
    eventually(apart.settled)


def test_a_slow_connection_only_takes_its_time(apart: Apart) -> None:
    apart.relay.delay = 0.02
    rows, before = apart.pair.lake.rows("t"), snapshots(apart.pair.lake)
    assert rewrite(apart.pair)
    assert (apart.pair.lake.rows("t"), snapshots(apart.pair.lake)) == (rows, before + 1)
    eventually(apart.settled)

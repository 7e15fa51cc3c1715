"""A sweep costs what is at work, not what is remembered; last pages go by age, and oldest first beyond their size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from coordinator.dispatch.query import Query
from coordinator.dispatch.replays import Replays
from coordinator.dispatch.settings import DispatchSettings
from tests.protocol.conftest import running_server


def test_ended_queries_are_looked_at_once(monkeypatch):
    looks, shrunk = list[str](), list[str]()
    active, shrink = Query.active.fget, Query.shrink

    def looked_at(query: Query) -> bool:
        looks.append(query.id)
        return active(query)

    def counted(query: Query, text_length: int) -> None:
        shrunk.append(query.id)
        shrink(query, text_length)

    settings = DispatchSettings(sweep_interval=1000, max_history=20)
    with running_server(settings=settings) as server:
        for _ in range(60):
            server.pages("SELECT 1")
        monkeypatch.setattr(Query, "active", property(looked_at))
        monkeypatch.setattr(Query, "shrink", counted)
        newest = next(iter(server.dispatcher.registry))
        for _ in range(5):
            server.sweep(newest)
        assert len(server.dispatcher.registry) == 60
        assert len(set(looks)) == 60
        assert len(looks) < 200, "a sweep looks again at what has ended"
        assert len(shrunk) == len(set(shrunk)) == 40
        server.clock.advance(1000)
        server.sweep(newest)
        assert len(server.dispatcher.registry) == 20, "the newest are remembered beyond their time"


@dataclass(eq=False)
class Conversation:
    """With a last page and nothing else."""

    replays: Replays
    size: int
    idle: float = 0.0
    active: bool = False
    released: bool = field(default=False)

    def __post_init__(self) -> None:
        self.replays.keep(self, self.size)

    @property
    def query(self) -> Any:
        return SimpleNamespace(idle_seconds=self.idle, active=self.active)

    def release(self) -> None:
        self.released = True
        self.replays.forget(self)

    async def set_aside(self) -> None:
        self.replays.moved(self)


def test_pages_go_once_their_clients_stay_away():
    replays = Replays(1000, seconds=60)
    old, young = Conversation(replays, 100, idle=61), Conversation(replays, 200, idle=60)
    assert list(replays.sweep()) == []
    assert (old.released, young.released, replays.size) == (True, False, 200)


def test_beyond_the_size_the_oldest_go_and_those_that_go_on_to_files():
    replays = Replays(1000, seconds=60)
    over, going, moved, fits, newest = (
        Conversation(replays, size, active=active)
        for size, active in ((500, False), (400, True), (0, True), (300, False), (600, False))
    )
    excess = list(replays.sweep())
    assert (over.released, excess) == (True, [going])
    assert not (moved.released or fits.released or newest.released)
    asyncio.run(excess[0].set_aside())
    assert replays.size == 900
    assert list(replays.sweep()) == []


def test_one_page_stays_however_large():
    replays = Replays(1000, seconds=60)
    only = Conversation(replays, 5000)
    assert list(replays.sweep()) == []
    assert not only.released


def test_a_page_that_is_asked_for_again_and_again_keeps_no_others():
    replays = Replays(1000, seconds=60)
    asked, gone = Conversation(replays, 100, idle=5), Conversation(replays, 200, idle=61)
    replays.asked(asked)
    assert list(replays.sweep()) == []
    assert (asked.released, gone.released, replays.size) == (False, True, 100)


def test_a_client_that_asks_for_its_last_page_again_is_told_to_the_replays(monkeypatch):
    told = []
    monkeypatch.setattr(Replays, "asked", lambda _self, conversation: told.append(conversation.query.id))
    with running_server() as server:
        answers = server.pages("SELECT 1")
        again = server.client.get(answers[-2].json()["nextUri"])
        assert again.json()["data"] == answers[-1].json()["data"] == [[1]]
        assert told == [again.json()["id"]]

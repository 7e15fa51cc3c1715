"""Coordinators over a real PostgreSQL: who lives, by the database's clock, and whose a query is."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import sqlalchemy as sa

from coordinator.cluster.membership import Membership
from coordinator.cluster.schema import LEASES, NODES
from coordinator.cluster.store import ClusterStore, Node
from shared.properties import ConfigurationError
from tests.databases import new_database

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(postgres: str) -> str:
    """A database of these tests' own."""
    return new_database(postgres, "cluster")


@pytest.fixture
def store(url: str) -> Iterator[ClusterStore]:
    opened = ClusterStore(url)
    with opened.engine.begin() as connection:
        connection.execute(sa.delete(NODES))
        connection.execute(sa.delete(LEASES))
    yield opened
    opened.close()


@pytest.fixture
def member(url: str, store: ClusterStore) -> Iterator[Callable[..., Membership]]:
    with ExitStack() as stack:

        def join(letter: str, term: float = 60.0, **change: Any) -> Membership:
            me = Node(letter * 5, change.get("name", letter), change.get("address", f"http://{letter}:1"), "1")
            made = Membership(ClusterStore(url), me, interval=0.05, term=term)
            made.join()
            stack.callback(made.leave)
            return made

        yield join


def eventually(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_they_find_each_other_and_see_who_leaves(member: Callable[..., Membership]) -> None:
    first, second = member("a"), member("b")
    found = second.peer("aaaaa")
    assert found is not None
    assert (found.address, found.alive) == ("http://a:1", True)
    # One that began a moment ago is found before the next heartbeat.
    eventually(lambda: first.look_again("bbbbb"))
    assert first.peer("aaaaa") is None
    assert [node.node_id for node in first.nodes] == ["a", "b"]
    second.leave()
    eventually(lambda: [node.node_id for node in first.nodes] == ["a"])
    left = first.peer("bbbbb")
    assert left is not None
    assert not left.alive


def test_one_that_is_silent_is_gone_after_its_term(store: ClusterStore, member: Callable[..., Membership]) -> None:
    first = member("a")
    assert store.register(Node("sssss", "silent", "http://s:1", "1"), 60.0)
    eventually(lambda: [node.node_id for node in first.nodes] == ["a", "silent"])
    assert store.renew("sssss", 0.1)
    eventually(lambda: [node.node_id for node in first.nodes] == ["a"])
    assert store.renew("sssss", 60.0)  # it was only paused
    eventually(lambda: [node.node_id for node in first.nodes] == ["a", "silent"])


@pytest.mark.parametrize("change", [{"name": "a"}, {"address": "http://a:1"}])
def test_names_and_addresses_are_one_coordinators(member: Callable[..., Membership], change: dict[str, str]) -> None:
    member("a")
    with pytest.raises(ConfigurationError, match=r"the coordinator a at http://a:1 has this name or address"):
        member("b", **change)


def test_one_that_was_killed_comes_back_at_once(store: ClusterStore, member: Callable[..., Membership]) -> None:
    assert store.register(Node("kkkkk", "a", "http://a:1", "1"), 600.0)
    again = member("a")
    killed = again.peer("kkkkk")
    assert killed is not None
    assert not killed.alive
    assert not store.renew("kkkkk", 60.0)  # should it live after all, it is told


def test_ends_of_ids_are_never_used_again(store: ClusterStore) -> None:
    assert store.register(Node("aaaaa", "a", "http://a:1", "1"), 60.0)
    assert not store.register(Node("aaaaa", "b", "http://b:1", "1"), 60.0)


def test_a_query_is_the_first_ones(store: ClusterStore, member: Callable[..., Membership]) -> None:
    first, second = member("a"), member("b")
    name = f"of_a_gateway_{uuid.uuid4().hex}"
    assert first.take(name) == "aaaaa"
    assert second.take(name) == "aaaaa"
    found = second.placed(name)
    assert found is not None
    assert found.suffix == "aaaaa"
    assert first.placed(name) is None
    assert second.placed("nobody") is None


def test_a_lease_has_one_holder_and_goes_on_when_it_ends(member: Callable[..., Membership]) -> None:
    first, second = member("a"), member("b")
    eventually(lambda: first.holds("work"))
    second.holds("work")
    for _ in range(20):
        assert not (first.holds("work") and second.holds("work"))
        time.sleep(0.02)
    assert first.holds("work")
    first.leave()
    eventually(lambda: second.holds("work"))


def test_who_was_paused_holds_nothing_before_another_does(store: ClusterStore) -> None:
    assert store.lease("work", "aaaaa", 60.0) == 1
    assert store.lease("work", "aaaaa", 60.0) == 1
    assert store.lease("work", "bbbbb", 60.0) is None
    assert store.lease("work", "aaaaa", 0.1) == 1
    eventually(lambda: store.lease("work", "bbbbb", 60.0))
    assert store.lease("work", "bbbbb", 60.0) == 2
    assert store.lease("work", "aaaaa", 60.0) is None


def test_a_database_that_is_away_for_a_while(member: Callable[..., Membership], store: ClusterStore) -> None:
    first = member("a", term=0.4)
    assert store.register(Node("bbbbb", "b", "http://b:1", "1"), 600.0)
    eventually(lambda: first.peer("bbbbb"))
    with store.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE cluster_nodes RENAME TO away")
        connection.commit()
        eventually(lambda: not first.connected)
        # What it knew it still knows.
        known = first.look_again("bbbbb")
        assert known is not None
        assert known.alive
        connection.exec_driver_sql("ALTER TABLE away RENAME TO cluster_nodes")
        connection.commit()
    eventually(lambda: first.connected)


def test_a_database_that_cannot_be_used_is_one_line_without_the_password() -> None:
    with pytest.raises(ConfigurationError, match=r"the database of state.url cannot be used") as found:
        ClusterStore("postgresql://user:open-sesame@127.0.0.1:1/nope")
    assert "open-sesame" not in str(found.value)
    assert "\n" not in str(found.value)


def test_several_start_at_once_and_one_makes_the_tables(postgres: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    address = new_database(postgres, "cluster")
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: ClusterStore(address), range(4)))
    assert [list(each.nodes()) for each in stores] == [[]] * 4
    for each in stores:
        each.close()

"""Two servers in this process, each of which knows the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from coordinator.cluster.store import Node
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.settings import DispatchSettings
from coordinator.server.owner_forwarding import QueryOwners
from coordinator.server.peers import PeerTokens
from coordinator.server.settings import Cluster, ServerSettings
from tests.protocol.conftest import Server, running_server

SECRET = "of-the-cluster"


@dataclass
class Known:
    """What a membership would tell, by hand."""

    nodes: dict[str, Node] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)

    def peer(self, suffix: str) -> Node | None:
        return self.nodes.get(suffix)

    def look_again(self, suffix: str) -> Node | None:
        return self.nodes.get(suffix)

    def placed(self, query_id: str) -> Node | None:
        return self.nodes.get(self.taken.get(query_id, ""))


@dataclass
class Beside:
    """The same for one of them."""

    known: Known
    suffix: str

    def peer(self, suffix: str) -> Node | None:
        return self.known.peer(suffix)

    look_again = peer

    def placed(self, query_id: str) -> Node | None:
        return self.known.placed(query_id)

    def others(self) -> list[Node]:
        return [node for node in self.known.nodes.values() if node.alive and node.suffix != self.suffix]


@dataclass
class Pair:
    """``first`` owns the ids that end in ``aaaaa``, ``second`` those in ``bbbbb``; ``known`` is what both look into."""

    first: Server
    second: Server
    known: Known
    looked: list[str]
    """Who was asked to look for catalogs."""

    def gone(self, suffix: str, *, alive: bool, address: str) -> None:
        self.known.nodes[suffix] = replace(self.known.nodes[suffix], alive=alive, address=address)


@contextmanager
def two_servers(
    settings: ServerSettings | None = None, dispatch: DispatchSettings | None = None, results: Path | None = None
) -> Iterator[Pair]:
    """``results``: where the first keeps its."""
    known = Known()
    with ExitStack() as stack:
        servers, looked = [], list[str]()
        for suffix in ("aaaaa", "bbbbb"):

            def cluster(dispatcher: Dispatcher, suffix: str = suffix) -> Cluster:
                tokens = PeerTokens(suffix, SECRET)
                owners = QueryOwners(Beside(known, suffix), tokens, dispatcher.registry.__contains__)
                return Cluster(
                    tokens,
                    owners,
                    lambda query_id: known.taken.setdefault(query_id, suffix) == suffix,
                    lambda: looked.append(suffix),
                )

            server = stack.enter_context(
                running_server(
                    settings=dispatch,
                    server_settings=settings,
                    id_suffix=suffix,
                    cluster=cluster,
                    results_folder=results if suffix == "aaaaa" else None,
                )
            )
            known.nodes[suffix] = Node(suffix, f"node-{suffix[0]}", server.url, "0.1.0")
            servers.append(server)
        yield Pair(servers[0], servers[1], known, looked)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with two_servers() as made:
        yield made

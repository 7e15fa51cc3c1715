"""Lists of queries that coordinators of one cluster give each other: of what the user who asks may see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import msgspec
import structlog
from fastapi import APIRouter, Request, Response

from coordinator.connectors.system.runtime import QueryState
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.query import Query
from coordinator.dispatch.runtime_state import state_of
from coordinator.server.authentication import identity_of
from coordinator.server.owner_forwarding import CUT_HEADER, Everywhere
from coordinator.server.problems import ProblemError
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster
from coordinator.server.uris import uris_of

PEER_QUERIES = "/v1/peer/queries"
PEER_CATALOGS = "/v1/peer/catalogs"
MOST_QUERIES = 10_000
"""The newest of one coordinator."""
SILENT_HEADER = "X-Procession-Silent-Nodes"
"""Names the coordinators whose queries are missing in an answer."""
CUT_NODES_HEADER = "X-Procession-Cut-Nodes"
"""Names the coordinators whose oldest queries are missing in an answer, as there were too many."""
_MOST_TEXT = 10_000
"""Characters of a statement that travel."""
_MOST_BYTES = 12 << 20
"""Of a list for another coordinator, which takes 16 MB."""
T = TypeVar("T")
Infos = list[dict[str, object]]
_log = structlog.get_logger(__name__)


def from_peer(request: Request) -> bool:
    """Whether another coordinator asks, which wants what this one alone has."""
    return bool(request.scope.get("state", {}).get("peer"))


def only_peers(request: Request) -> None:
    """Raises ProblemError for anybody else."""
    if not from_peer(request):
        raise ProblemError(404, "Not Found")


@dataclass(frozen=True, slots=True)
class Gathered(Generic[T]):
    """Decoded answers by the coordinator's ``node.id``, and those of which there is none."""

    answers: Mapping[str, T] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    """Those of which there is a part."""


def infos_of(others: Gathered[Infos]) -> Infos:
    """Of all together."""
    return [info for found in others.answers.values() for info in found]


async def gathered(cluster: Cluster | None, request: Request, target: str, kind: type[T]) -> Gathered[T]:
    """What the other coordinators answer to ``target``, for the user of ``request``; nothing for one of them."""
    if cluster is None or from_peer(request):
        return Gathered()
    found: Everywhere = await cluster.owners.everywhere(target, identity_of(request), uris_of(request).base)
    return await asyncio.to_thread(_understood, found, target.partition("?")[0], kind)


def _understood(found: Everywhere, path: str, kind: type[T]) -> Gathered[T]:
    decoded: dict[str, T] = {}
    for node, body in found.answers.items():
        try:
            decoded[node] = msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError:
            _log.warning("another coordinator says what is not understood", node=node, path=path)
    return Gathered(decoded, (*found.silent, *(node for node in found.answers if node not in decoded)), found.cut)


def list_for_peer(newest_first: Iterable[object]) -> Response:
    """As much of it as another coordinator takes; a header says how much is left out. Takes a while."""
    kept: list[bytes] = []
    size = left_out = 0
    for each in newest_first:
        encoded = b"" if left_out else msgspec.json.encode(each)
        size += len(encoded) + 1
        if left_out or size > _MOST_BYTES:
            left_out += 1
        else:
            kept.append(encoded)
    if left_out:
        _log.warning("too many queries for one list: another coordinator gets the newest", left_out=left_out)
    headers = {CUT_HEADER: str(left_out)} if left_out else {}
    return Response(b"[" + b",".join(kept) + b"]", media_type="application/json", headers=headers)


def shortened(text: str) -> str:
    """A statement for another coordinator's list; its own page has the whole."""
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}… ({len(text)} characters)"


def newest_first(infos: Infos) -> Infos:
    """Of several lists of ``/v1/query``."""
    return sorted(infos, key=_created, reverse=True)


def _created(info: Mapping[str, object]) -> str:
    stats = info["queryStats"]
    return str(stats["createTime"]) if isinstance(stats, dict) else ""


@dataclass(frozen=True, slots=True)
class PeerQueryRoutes:
    dispatcher: Dispatcher
    access: QueryAccess
    node_id: str
    cluster: Cluster | None = None

    def router(self) -> APIRouter:
        router = APIRouter(default_response_class=Response)
        router.add_api_route(PEER_QUERIES, self.queries, methods=["GET"])
        router.add_api_route(PEER_CATALOGS, self.catalogs, methods=["GET"])
        return router

    async def catalogs(self, request: Request) -> Response:
        """Another coordinator has made or dropped a catalog: answered when this one has looked."""
        only_peers(request)
        if self.cluster is not None:
            await asyncio.to_thread(self.cluster.look_at_catalogs)
        return Response(b"[]", media_type="application/json")

    async def queries(self, request: Request) -> Response:
        """As ``system.runtime`` shows them."""
        only_peers(request)
        newest = list(self.dispatcher.registry)[: -MOST_QUERIES - 1 : -1]
        found = await self.access.visible(request, newest)
        return await asyncio.to_thread(list_for_peer, (self._state(query) for query in found))

    def _state(self, query: Query) -> QueryState:
        state = state_of(query, self.node_id)
        return replace(state, text=shortened(state.text))

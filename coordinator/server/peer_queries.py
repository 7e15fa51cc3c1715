"""Lists of queries that coordinators of one cluster give each other: of what the user who asks may see."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
import structlog
from fastapi import APIRouter, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.runtime_state import state_of
from coordinator.server.authentication import identity_of
from coordinator.server.owner_forwarding import Everywhere
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


def infos_of(others: Gathered[Infos]) -> Infos:
    """Of all together."""
    return [info for found in others.answers.values() for info in found]


async def gathered(cluster: Cluster | None, request: Request, target: str, kind: type[T]) -> Gathered[T]:
    """What the other coordinators answer to ``target``, for the user of ``request``; nothing for one of them."""
    if cluster is None or from_peer(request):
        return Gathered()
    found: Everywhere = await cluster.owners.everywhere(target, identity_of(request), uris_of(request).base)
    decoded: dict[str, T] = {}
    for node, body in found.answers.items():
        try:
            decoded[node] = msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError:
            _log.warning("another coordinator says what is not understood", node=node, path=target.partition("?")[0])
    return Gathered(decoded, (*found.silent, *(node for node in found.answers if node not in decoded)))


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
        newest = list(self.dispatcher.registry)[-MOST_QUERIES:]
        found = [state_of(query, self.node_id) for query in await self.access.visible(request, newest)]
        return Response(msgspec.json.encode(found), media_type="application/json")

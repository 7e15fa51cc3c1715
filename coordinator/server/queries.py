"""``/v1/query``, ``/v1/queryState``: what runs, what ran, and killing it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.failures import killed, preempted
from coordinator.dispatch.info import basic_query_info, query_info, query_state_info
from coordinator.dispatch.query import Query as StatementQuery
from coordinator.dispatch.states import QueryState
from coordinator.server.node import json_response
from coordinator.server.peer_queries import (
    CUT_NODES_HEADER,
    MOST_QUERIES,
    SILENT_HEADER,
    Gathered,
    Infos,
    from_peer,
    gathered,
    infos_of,
    list_for_peer,
    newest_first,
    shortened,
)
from coordinator.server.problems import NOT_FOUND, ProblemError, bad_request
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster
from coordinator.server.uris import uris_of
from shared.errors import ProcessionError

_MESSAGE_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class QueryRoutes:
    """Views on the registry, of what the user may see; 403 for what is another's."""

    dispatcher: Dispatcher
    access: QueryAccess
    node_id: str = ""
    cluster: Cluster | None = None
    """The other coordinators, whose queries are listed too."""

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1", default_response_class=Response)
        router.add_api_route("/query", self.list, methods=["GET"])
        router.add_api_route("/query/{query_id}", self.one, methods=["GET"])
        router.add_api_route("/query/{query_id}", self.delete, methods=["DELETE"], status_code=204)
        router.add_api_route("/query/{query_id}/killed", self.kill, methods=["PUT"])
        router.add_api_route("/query/{query_id}/preempted", self.preempt, methods=["PUT"])
        router.add_api_route("/queryState", self.states, methods=["GET"])
        return router

    def _query(self, query_id: str) -> StatementQuery:
        query = self.dispatcher.registry.get(query_id)
        if query is None:
            raise ProblemError(410, NOT_FOUND)
        return query

    async def list(
        self,
        request: Request,
        state: str | None = None,
        limit: Annotated[int | None, Query(ge=1)] = None,
        include_local_query_only: Annotated[bool, Query(alias="includeLocalQueryOnly")] = False,
    ) -> Response:
        """Newest first, of all coordinators; ``state``, ``limit`` and ``includeLocalQueryOnly`` narrow."""
        queries = await self.access.visible(request, list(self.dispatcher.registry)[::-1])
        if state is not None:
            if state.upper() not in QueryState.__members__:
                raise bad_request(f"Unknown query state: {state}")
            queries = [query for query in queries if query.state.value == state.upper()]
        base = uris_of(request).base
        if self.cluster is None:
            return await asyncio.to_thread(lambda: json_response([basic_query_info(q, base) for q in queries[:limit]]))
        most = min(limit or MOST_QUERIES, MOST_QUERIES)
        made = (basic_query_info(query, base) | {"nodeId": self.node_id} for query in queries[:most])
        if from_peer(request):
            return await asyncio.to_thread(list_for_peer, map(_short, made))
        mine = await asyncio.to_thread(list, made)
        others: Gathered[Infos] = Gathered()
        if not include_local_query_only:
            asked = {"limit": str(most)} | ({} if state is None else {"state": state})
            others = await gathered(self.cluster, request, f"/v1/query?{urlencode(asked)}", Infos)
        return await asyncio.to_thread(lambda: _told(newest_first([*mine, *infos_of(others)])[:most], others))

    async def one(self, request: Request, query_id: str) -> Response:
        """Everything known, the timeline of the ten verbs included; 410 once forgotten."""
        query = self._query(query_id)
        await self.access.check_view(request, query)
        return json_response(query_info(query, uris_of(request).base))

    async def delete(self, request: Request, query_id: str) -> Response:
        query = self._query(query_id)
        await self.access.check_kill(request, query)
        self.dispatcher.cancel(query)
        return Response(status_code=204)

    async def kill(self, request: Request, query_id: str) -> Response:
        """The body is the reason that the query's owner reads; 409 if it has ended."""
        return await self._end(request, query_id, killed)

    async def preempt(self, request: Request, query_id: str) -> Response:
        """As ``kill``, with the code that tells the owner to come again."""
        return await self._end(request, query_id, preempted)

    async def _end(self, request: Request, query_id: str, error: Callable[[str], ProcessionError]) -> Response:
        query = self._query(query_id)
        await self.access.check_kill(request, query)
        message = (await request.body())[:_MESSAGE_LIMIT].decode("utf-8", "replace").strip()
        if not query.fail(error(message)):
            raise ProblemError(409, "Query is already finished")
        return Response(status_code=200)

    async def states(self, request: Request) -> Response:
        """The short form of every query that runs, on all coordinators."""
        queries = await self.access.visible(request, self.dispatcher.registry)
        made = (query_state_info(query) for query in queries if not query.state.done)
        if from_peer(request):
            return await asyncio.to_thread(list_for_peer, made)
        mine = await asyncio.to_thread(list, made)
        others = await gathered(self.cluster, request, "/v1/queryState", Infos)
        return await asyncio.to_thread(_told, [*mine, *infos_of(others)], others)


def _short(info: dict[str, object]) -> dict[str, object]:
    """With texts as they travel."""
    return info | {key: shortened(text) for key in ("query", "preparedQuery") if isinstance(text := info.get(key), str)}


def _told(infos: Infos, others: Gathered[Infos]) -> Response:
    """With headers that name the coordinators whose queries are missing."""
    answer = json_response(infos)
    if others.silent:
        answer.headers[SILENT_HEADER] = ",".join(others.silent)
    if others.cut:
        answer.headers[CUT_NODES_HEADER] = ",".join(others.cut)
    return answer

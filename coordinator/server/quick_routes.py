"""The requests of which each statement has several, past FastAPI's reading of parameters: that took 40 % of a poll.

FastAPI keeps the same routes behind these, for what has more parameters, and for /openapi.json.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from coordinator.server.node import NodeRoutes
from coordinator.server.statement import StatementRoutes

_POLL = "/v1/statement/{kind}/{query_id}/{token}"
_RETRY = "/queued/retry/"


def _any(_: Scope) -> bool:
    return True


class OneMethod(Route):
    """Starlette's route of one method; all other requests are left to the routes behind it."""

    def __init__(
        self,
        path: str,
        answer: Callable[[Request], Awaitable[Response]],
        method: str,
        takes: Callable[[Scope], bool] = _any,
    ) -> None:
        super().__init__(path, answer, methods=[method], include_in_schema=False)
        self.methods = {method}  # Starlette adds HEAD to GET
        self._takes = takes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["method"] not in (self.methods or ()) or not self._takes(scope):
            return Match.NONE, {}
        return super().matches(scope)


def quick_routes(statements: StatementRoutes, node: NodeRoutes) -> Sequence[Route]:
    """A poll, a POST without parameters, and what load balancers ask all the time."""

    async def poll(request: Request) -> Response:
        path, asked = request.path_params, request.query_params
        return await statements.poll(
            request,
            path["kind"],
            path["query_id"],
            path["token"],
            asked.get("slug", ""),
            asked.get("maxWait"),
            asked.get("targetResultSize"),
        )

    async def post(request: Request) -> Response:
        return await statements.post(request)

    async def info(_: Request) -> Response:
        return await node.info()

    return (
        OneMethod(_POLL, poll, "GET", lambda scope: _RETRY not in scope["path"]),
        OneMethod("/v1/statement", post, "POST", lambda scope: not scope.get("query_string")),
        OneMethod("/v1/info", info, "GET"),
    )

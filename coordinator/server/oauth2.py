"""``/oauth2``: the browser's way to the provider and back, and the client's wait for the token."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from fastapi import APIRouter, Request, Response

from coordinator.security.authentication.oauth2.logins import LoginError, Logins
from coordinator.server.node import json_response
from coordinator.server.problems import ProblemError
from coordinator.server.uris import uris_of

_HASH = re.compile(r"[0-9a-f]{64}")
_LOGIN_ID = re.compile(r"[0-9a-f-]{36}")
_SAFE = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class OAuth2Routes:
    """Over the logins under way. Nobody is authenticated here yet."""

    logins: Logins

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/oauth2", default_response_class=Response)
        router.add_api_route("/token/initiate/{hashed}", self.begin, methods=["GET"])
        router.add_api_route("/token/{login_id}", self.poll, methods=["GET"])
        router.add_api_route("/token/{login_id}", self.drop, methods=["DELETE"])
        router.add_api_route("/callback", self.callback, methods=["GET"])
        return router

    async def begin(self, request: Request, hashed: str) -> Response:
        """A client has opened a browser here; on to the provider."""
        if not _HASH.fullmatch(hashed):
            raise ProblemError(404, "Login not found")
        try:
            address = await self.logins.begin(hashed, _callback(request))
        except LoginError as error:
            return _page(400, str(error))
        return Response(status_code=303, headers=_SAFE | {"Location": address})

    async def poll(self, request: Request, login_id: str) -> Response:
        """The token, why there is none, or that the client is to ask again."""
        _check(login_id)
        outcome = await self.logins.outcome(login_id)
        if outcome.token is not None:
            answer = {"token": outcome.token}
        elif outcome.error is not None:
            answer = {"error": outcome.error}
        else:
            answer = {"nextUri": f"{uris_of(request).base}/oauth2/token/{login_id}"}
        response = json_response(answer)
        response.headers["Cache-Control"] = "no-store"
        return response

    async def drop(self, login_id: str) -> Response:
        _check(login_id)
        self.logins.drop(login_id)
        return Response("Authentication deleted", media_type="text/plain")

    async def callback(
        self, request: Request, state: str = "", code: str | None = None, error: str | None = None
    ) -> Response:
        """The provider has sent the browser back."""
        try:
            await self.logins.finish(state, code, error, _callback(request))
        except LoginError as problem:
            return _page(400, str(problem))
        return _page(200, "You are logged in. This page can be closed.")


def _check(login_id: str) -> None:
    if not _LOGIN_ID.fullmatch(login_id):
        raise ProblemError(404, "Login not found")


def _callback(request: Request) -> str:
    return f"{uris_of(request).base}/oauth2/callback"


def _page(status: int, text: str) -> Response:
    title = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Procession</title>"
    return Response(f"{title}<p>{escape(text)}</p></html>", status, media_type="text/html", headers=_SAFE)

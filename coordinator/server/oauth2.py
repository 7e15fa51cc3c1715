"""``/oauth2``: the browser's way to the provider and back, and the client's wait for the token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from coordinator.security.authentication.oauth2.logins import LoginError, Logins
from coordinator.server.browser_login import (
    COOKIE,
    NONCE,
    SAFE_HEADERS,
    SESSION,
    callback_address,
    logged_in,
    text_page,
)
from coordinator.server.node import json_response
from coordinator.server.problems import ProblemError
from coordinator.server.uris import uris_of

_HASH = re.compile(r"[0-9a-f]{64}")
_LOGIN_ID = re.compile(r"[0-9a-f-]{36}")


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
        router.add_api_route("/logout", self.logout, methods=["GET"])
        return router

    async def begin(self, request: Request, hashed: str) -> Response:
        """A client has opened a browser here; on to the provider."""
        if not _HASH.fullmatch(hashed):
            raise ProblemError(404, "Login not found")
        try:
            address = await self.logins.begin(hashed, callback_address(request))
        except LoginError as error:
            return text_page(400, str(error))
        return Response(status_code=303, headers=SAFE_HEADERS | {"Location": address})

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
        await self.logins.drop(login_id)
        return Response("Authentication deleted", media_type="text/plain")

    async def callback(
        self, request: Request, state: str = "", code: str | None = None, error: str | None = None
    ) -> Response:
        """The provider has sent the browser back."""
        try:
            nonce = request.cookies.get(NONCE)
            token = await self.logins.finish(state, code, error, callback_address(request), nonce)
        except LoginError as problem:
            return text_page(400, str(problem))
        if token is None:
            return text_page(200, "You are logged in. This page can be closed.")
        return logged_in(token)

    async def logout(self) -> Response:
        """The browser forgets who it is; the provider does not."""
        page = text_page(200, "You are logged out.")
        for name in (COOKIE, SESSION):
            page.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")
        return page


def _check(login_id: str) -> None:
    if not _LOGIN_ID.fullmatch(login_id):
        raise ProblemError(404, "Login not found")

"""Answers that are not QueryResults: short plain text, as Presto's own."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.dispatch.failures import internal_error

NOT_FOUND = "Query not found"


class ProblemError(Exception):
    """Ends a request with ``status`` and ``text``."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


def bad_request(text: str) -> ProblemError:
    return ProblemError(400, text)


def text_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    found = {"X-Content-Type-Options": "nosniff"} | dict(headers or {})
    return Response(text, status, media_type="text/plain", headers=found)


async def answer_problem(_: Request, error: Exception) -> Response:
    """Exception handler of ProblemError."""
    if not isinstance(error, ProblemError):
        raise error
    return text_response(error.status, error.text, error.headers)


class ErrorBoundary:
    """Outermost ASGI layer: a defect in a route is a text 500 with an error id; the stack goes to the log only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def observe(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except ClientDisconnect:
            return
        except Exception as error:
            problem = internal_error(error, path=scope["path"])
            if not begun:
                await text_response(500, problem.message)(scope, receive, send)

"""Trino Gateway's external routing rules: it asks for the routing group of every new statement.

Source: trino-gateway's ExternalRoutingGroupSelector, RoutingGroupExternalBody and ExternalRouterResponse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from fastapi import Request, Response

from coordinator.gateway.requests import PreChecks
from coordinator.gateway.wire import headers, json_response, target
from coordinator.server.problems import ProblemError
from coordinator.sql.parameters import placeholders
from shared.errors import ProcessionError
from shared.spi.session import Session

ROUTING_GROUP_HEADER = "X-Trino-Routing-Group"
_TOKENIZED_TEXT = 64_000
"""Characters; in a longer text nobody looks for parameters on the event loop."""


class _QueryProperties(msgspec.Struct, frozen=True):
    body: str = ""
    defaultCatalog: str | None = None
    defaultSchema: str | None = None


class _RequestUser(msgspec.Struct, frozen=True):
    user: str | None = None


class RoutingRequest(msgspec.Struct, frozen=True):
    """The members that matter here of what Trino Gateway posts."""

    trinoQueryProperties: _QueryProperties | None = None
    trinoRequestUser: _RequestUser | None = None
    method: str = "POST"


class RoutingAnswer(msgspec.Struct, frozen=True):
    """No group leaves the gateway its own default; with ``errors`` it takes the client's header or its default."""

    routingGroup: str | None
    errors: tuple[str, ...] = ()
    externalHeaders: dict[str, str] = {}


async def answer_routing(request: Request, checks: PreChecks) -> Response:
    """The routing group by the verdict on the statement. Raises ProblemError (400, 413, 429)."""
    asked = await _asked(request, checks)
    default = request.headers.get(ROUTING_GROUP_HEADER)
    text = asked.trinoQueryProperties.body if asked.trinoQueryProperties is not None else ""
    if asked.method.upper() != "POST" or not text.strip():
        # A poll, or a gateway that does not analyze requests: there is nothing to look at.
        return json_response(200, RoutingAnswer(checks.settings.accepted_target or default))
    verdict = await checks.verdict(_with_parameters(text), await _session(request, asked, checks))
    group = target(verdict, checks.settings)
    errors: tuple[str, ...] = ()
    if group is None and verdict.error is not None:
        errors = (verdict.error.wire_message,)
    return json_response(200, RoutingAnswer(group or default, errors), headers(verdict, checks.settings))


async def _asked(request: Request, checks: PreChecks) -> RoutingRequest:
    try:
        return msgspec.json.decode(await checks.text(request), type=RoutingRequest)
    except msgspec.DecodeError as error:
        raise ProblemError(400, f"Not a routing request: {error}") from error


async def _session(request: Request, asked: RoutingRequest, checks: PreChecks) -> Session:
    """Of the client's headers, which the gateway passes on; who they do not name is named in the body."""
    named: dict[str, Any] = {}
    user = asked.trinoRequestUser.user if asked.trinoRequestUser is not None else None
    scope = dict(request.scope)
    if user and not any(name.lower() in (b"x-trino-user", b"x-presto-user") for name, _ in scope["headers"]):
        scope["headers"] = [*scope["headers"], (b"x-trino-user", user.encode("latin-1", "replace"))]
    session = await checks.session(Request(scope))
    properties = asked.trinoQueryProperties
    if properties is not None:
        named["catalog"] = session.catalog or properties.defaultCatalog
        named["schema"] = session.schema or properties.defaultSchema
    return replace(session, **named)


def _with_parameters(text: str) -> str:
    """The gateway puts a prepared statement's text in place of EXECUTE: its parameters are unknown, hence NULL."""
    if "?" not in text or len(text) > _TOKENIZED_TEXT:
        return text
    try:
        count = len(placeholders(text))
    except ProcessionError:
        return text
    if not count:
        return text
    quoted = text.replace("'", "''")
    return f"EXECUTE IMMEDIATE '{quoted}' USING {', '.join(['NULL'] * count)}"

"""How long a REST catalog's server may stay silent: a request without a limit waits for as long as its connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from requests import PreparedRequest, Response, Session

REQUEST_TIMEOUT = "iceberg.rest.request-timeout"
"""In a catalog file; what PyIceberg is given are seconds."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 60.0
"""As of databases that hold a catalog."""


def with_deadlines(session: Session, properties: Mapping[str, str]) -> Session:
    """The session, whose requests end by ``requests.Timeout`` where they have no limit of their own."""
    answer = float(properties.get(REQUEST_TIMEOUT, _ANSWER_SECONDS))
    limits, send = (min(_CONNECT_SECONDS, answer), answer), session.send

    def sent(request: PreparedRequest, **options: Any) -> Response:
        return send(request, **{**options, "timeout": options.get("timeout") or limits})

    session.send = sent  # type: ignore[method-assign]
    return session

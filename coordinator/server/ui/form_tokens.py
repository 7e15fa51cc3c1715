"""What only pages of this server can send along: a form without it is refused (cross-site request forgery)."""

from __future__ import annotations

import hashlib
import hmac
from secrets import compare_digest, token_bytes
from urllib.parse import parse_qsl

from fastapi import Request

from coordinator.server.authentication import identity_of
from coordinator.server.problems import ProblemError, bad_request

FIELD = "form_token"
HEADER = "x-procession-form-token"
_MOST_FIELDS = 200


class FormTokens:
    """A token for each user, which needs no memory: a keyed hash of who it is for."""

    def __init__(self, secret: str | None = None) -> None:
        """Coordinators that share ``secret`` take each other's tokens."""
        self._key = token_bytes(32) if secret is None else hashlib.sha256(f"forms of {secret}".encode()).digest()

    def of(self, request: Request) -> str:
        """The token for whom the request is from."""
        identity = identity_of(request)
        return hmac.new(self._key, repr((identity.user, identity.principal)).encode(), "sha256").hexdigest()

    def check(self, request: Request) -> None:
        """For requests of scripts, which send it as a header. Raises ProblemError."""
        self._check(request, request.headers.get(HEADER, ""))

    async def form(self, request: Request, max_size: int) -> dict[str, str]:
        """The fields of a form that one of our pages sent. Raises ProblemError."""
        fields = await read_form(request, max_size)
        self._check(request, fields.pop(FIELD, ""))
        return fields

    def _check(self, request: Request, token: str) -> None:
        if not compare_digest(token.encode(), self.of(request).encode()):
            raise ProblemError(403, "This page is too old, or the form is not from here: load the page again")


async def read_form(request: Request, max_size: int) -> dict[str, str]:
    """The fields of a form, the last of a name; 400 for other content, 413 beyond ``max_size`` bytes."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/x-www-form-urlencoded":
        raise bad_request("Expected a form")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > max_size:
            raise ProblemError(413, f"Request body exceeds {max_size} bytes")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise bad_request("Invalid form") from error

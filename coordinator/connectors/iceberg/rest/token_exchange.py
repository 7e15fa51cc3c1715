"""A catalog's token that is exchanged for a new one before it ends (RFC 8693), as Iceberg's Java client does.

Source: Iceberg 1.11, ``OAuth2Util.AuthSession``: a token says by itself when it ends (``exp`` of a JWT), each answer
when the next one does, and a tenth of that time before it, five minutes at most, it is exchanged.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping

from pyiceberg.catalog.rest.auth import AuthManager
from requests import PreparedRequest, RequestException, Session
from requests.auth import AuthBase, HTTPBasicAuth

_LOG = logging.getLogger(__name__)
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a kind of token
_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_LONGEST_AHEAD = 300.0
_PAUSE = 10.0
"""Seconds until an exchange that failed is tried again."""
_SECONDS = 30.0


class _Bearer(AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class ExchangedToken(AuthManager):
    """Thread-safe. A token that does not say when it ends is never exchanged; an old one stays while exchange fails."""

    def __init__(
        self,
        session: Session,
        uri: str,
        token: str,
        client: str | None,
        optional: Mapping[str, str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``client`` is ``id:secret``; without one the token itself says who asks."""
        self._session, self._uri, self._client, self._optional, self._clock = session, uri, client, optional, clock
        self._token = token
        self._due = self._due_at(end_of(token))
        self._lock = threading.Lock()

    def auth_header(self) -> str:
        with self._lock:
            if self._due is not None and self._clock() >= self._due:
                self._exchange()
            return f"Bearer {self._token}"

    def _exchange(self) -> None:
        form = {
            "grant_type": _GRANT,
            "subject_token": self._token,
            "subject_token_type": _ACCESS_TOKEN,
            **self._optional,
        }
        user, colon, secret = (self._client or "").partition(":")
        auth = HTTPBasicAuth(user, secret) if colon else _Bearer(self._token)
        try:
            answer = self._session.post(self._uri, data=form, auth=auth, timeout=_SECONDS)
            answer.raise_for_status()
            found = answer.json()
            token, lives = str(found["access_token"]), found.get("expires_in")
        except (RequestException, ValueError, KeyError, TypeError, AttributeError) as error:
            _LOG.warning("The catalog's token was not exchanged: %s", type(error).__name__)
            self._due = self._clock() + _PAUSE
            return
        self._token = token
        self._due = self._due_at(end_of(token) if lives is None else self._clock() + float(lives))

    def _due_at(self, end: float | None) -> float | None:
        return None if end is None else end - min(_LONGEST_AHEAD, max(0.0, end - self._clock()) / 10)


def end_of(token: str) -> float | None:
    """Seconds since 1970; None for a token that is no JWT, or says nothing of it."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (ValueError, KeyError, TypeError):
        return None

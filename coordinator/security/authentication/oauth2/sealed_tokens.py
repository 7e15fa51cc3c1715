"""The provider's tokens as clients hold them: encrypted, so that a refresh token is of no use outside of this service.

Source: Trino's JweTokenSerializer.
"""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_bytes

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

_HEADER = {"alg": "dir", "enc": "A256GCM", "typ": "JWT"}
_BYTES = 32
_LONGEST = 64 << 10


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the provider gives for a login. ``expires`` is when the access token does, where the provider says it."""

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires: float | None = None


class SealedTokens:
    """Makes and reads encrypted tokens. They are of no use after ``timeout`` seconds."""

    def __init__(
        self, key: bytes | None, timeout: float, issuer: str, audience: str, now: Callable[[], float] = time.time
    ) -> None:
        self._key = OctKey.import_key(key or token_bytes(_BYTES))
        self._timeout, self._issuer, self._audience, self._now = timeout, issuer, audience, now

    def seal(self, tokens: Tokens) -> str:
        """A JWE in compact form."""
        content: dict[str, object] = {
            "iss": self._issuer,
            "aud": self._audience,
            "exp": self._now() + self._timeout,
            "access_token": tokens.access,
            "refresh_token": tokens.refresh,
            "expires": tokens.expires,
        }
        return jwe.encrypt_compact(_HEADER, json.dumps(content), self._key)

    def open(self, token: str) -> Tokens | None:
        """None for what was not sealed with this key for this service, or long ago."""
        if token.count(".") != 4 or len(token) > _LONGEST:
            return None
        try:
            plain = jwe.decrypt_compact(token, self._key, algorithms=["dir", "A256GCM"]).plaintext or b""
            content = json.loads(plain)
        except (JoseError, ValueError, TypeError, KeyError):
            return None
        if (content["iss"], content["aud"]) != (self._issuer, self._audience) or content["exp"] <= self._now():
            return None
        return Tokens(content["access_token"], content["refresh_token"], content["expires"])


def secret_key(text: str) -> bytes:
    """Of ``refresh-tokens.secret-key``. Raises ValueError."""
    try:
        key = b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError("not base64") from error
    if len(key) != _BYTES:
        raise ValueError(f"the key needs {_BYTES} bytes in base64, this one has {len(key)}")
    return key

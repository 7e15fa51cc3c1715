"""How processes of one cluster know each other. Source: Presto's InternalAuthenticationManager.

A request carries a JSON web token in a header of its own, signed HS256 with the SHA-256 of the shared secret; its
subject is the node, and it is good for minutes.
"""

from __future__ import annotations

from hashlib import sha256

BEARER_HEADER = "X-Presto-Internal-Bearer"
ALGORITHM = "HS256"
TOKEN_SECONDS = 300.0
SECRET_VARIABLE = "PROCESSION_SHARED_SECRET"  # noqa: S105 - the name of one
KEY_PASSWORD_VARIABLE = "PROCESSION_HTTPS_KEYSTORE_PASSWORD"  # noqa: S105 - the name of one
"""By which a child of `procession up` is told the secret."""


def signing_key(secret: str) -> bytes:
    """What tokens are signed with."""
    return sha256(secret.encode()).digest()

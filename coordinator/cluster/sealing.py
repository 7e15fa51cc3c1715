"""What coordinators keep in their database and nobody else may read there: encrypted by their shared secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

_HEADER = {"alg": "dir", "enc": "A256GCM", "typ": "JWT"}


class Sealing:
    """For one ``purpose``: what was sealed for another is not opened."""

    def __init__(self, secret: str, purpose: str) -> None:
        self._key = OctKey.import_key(sha256(f"{purpose}\0{secret}".encode()).digest())

    def seal(self, name: str, content: Mapping[str, object]) -> str:
        """With the name of its row in it, so that whoever can write the database cannot exchange rows."""
        return jwe.encrypt_compact(_HEADER, json.dumps({"": name, **content}), self._key)

    def open(self, name: str, sealed: str) -> dict[str, object] | None:
        """None for what another secret has sealed, or another row held."""
        try:
            plain = jwe.decrypt_compact(sealed, self._key, algorithms=["dir", "A256GCM"]).plaintext or b"{}"
            content: dict[str, object] = json.loads(plain)
        except (JoseError, ValueError):
            return None
        return content if content.pop("", None) == name else None

"""One TLS context for all HTTP clients of tests that ask for nothing else.

To read the certificates of the machine takes 25 ms of CPU time a client, also of one that never speaks TLS: 7 of 100
seconds of a run.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any

import httpx

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_made = httpx.create_ssl_context


def share() -> None:
    """From now on in this process."""
    from httpx._transports import default

    default.create_ssl_context = _context


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is True and cert is None:
        return _shared(trust_env, *map(os.environ.get, _PLACES))
    return _made(verify, cert, trust_env)


@cache
def _shared(trust_env: bool, *places: str | None) -> ssl.SSLContext:
    del places
    return _made(trust_env=trust_env)

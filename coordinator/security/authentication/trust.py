"""Whom the coordinator trusts when it asks providers of identities: reading their certificates takes 25 ms of CPU."""

from __future__ import annotations

import asyncio
import ssl
from functools import cache

import httpx


async def trusted() -> ssl.SSLContext:
    """The same for all requests of this process, read beside the event loop when the first one is made."""
    return await asyncio.to_thread(_read)


@cache
def _read() -> ssl.SSLContext:
    return httpx.create_ssl_context()

"""The connection to the sidecar: one pooled HTTP client, retries of lost connections, a circuit breaker in front.

aiohttp, because every fragment is a request: it costs a tenth of the CPU that httpx does (benchmarks/README.md).
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl

import aiohttp

from coordinator.checks.circuit_breaker import BreakerState, CircuitBreaker
from coordinator.checks.internal_bearer import InternalBearer
from coordinator.checks.native_settings import NativeSettings
from coordinator.checks.sidecar_answers import Answer, Response, SidecarUnavailableError, read
from coordinator.vocabulary.trace_context import outgoing_headers
from coordinator.vocabulary.traced_calls import traced
from shared.errors import ErrorCode
from shared.protocol.internal_authentication import BEARER_HEADER
from shared.protocol.sidecar import PLAN_PATH

_LOG = logging.getLogger(__name__)
_FIRST_BACKOFF_SECONDS = 0.02
_KEEP_ALIVE_SECONDS = 4.0
"""Below the five seconds after which the sidecar's server drops an idle connection."""


class SidecarClient:
    """Posts fragments. The HTTP client is made on first use in the running loop and closed by ``aclose``."""

    def __init__(self, settings: NativeSettings, breaker: CircuitBreaker | None = None) -> None:
        self._settings = settings
        self._url = settings.sidecar_uri.rstrip("/") + PLAN_PATH
        self._breaker = breaker or CircuitBreaker(settings.breaker_threshold, settings.breaker_reset)
        self._client: aiohttp.ClientSession | None = None
        self._bearer = None if settings.secret is None else InternalBearer(settings.secret)

    @property
    def state(self) -> BreakerState:
        return self._breaker.state

    async def post(self, fragment_json: bytes, accept: str | None = None) -> Answer:
        """One fragment; without ``accept`` only the verdict is asked for, as Presto's checker does.

        Raises SidecarUnavailableError.
        """
        if not self._breaker.allow():
            raise SidecarUnavailableError(
                ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR,
                "I/O error getting native plan checker response: the sidecar has not been answering; trying again soon",
            )
        try:
            with traced("sidecar.plan"):
                async with asyncio.timeout(self._settings.request_timeout):
                    response = await self._send(fragment_json, accept)
            answer = read(response)
        except SidecarUnavailableError:
            self._breaker.failed()
            raise
        except (aiohttp.ClientError, OSError) as error:
            self._breaker.failed()
            raise SidecarUnavailableError(
                ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR,
                f"I/O error getting native plan checker response: {self._reason(error)}",
            ) from error
        self._breaker.succeeded()
        return answer

    async def aclose(self) -> None:
        """Close all connections; the client may be used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _send(self, fragment_json: bytes, accept: str | None) -> Response:
        client = self._client = self._client or self._new_client()
        headers = {"Content-Type": "application/json; charset=utf-8"}
        if self._bearer is not None:
            headers[BEARER_HEADER] = self._bearer.token()
        if accept is not None:
            headers["Accept"] = accept
        headers |= outgoing_headers()
        attempt = 0
        while True:
            try:
                async with client.post(self._url, data=fragment_json, headers=headers, allow_redirects=False) as found:
                    body = await found.read()
                    return Response(found.status, found.headers.get("Content-Type", ""), body)
            except aiohttp.ClientError:
                # A conversion has no effect, so it may be sent twice. The deadline is over all attempts.
                if attempt == self._settings.max_retries:
                    raise
            await asyncio.sleep(_FIRST_BACKOFF_SECONDS * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311
            attempt += 1

    def _new_client(self) -> aiohttp.ClientSession:
        settings = self._settings
        tls = ssl.create_default_context(cafile=settings.trust_store) if self._url.startswith("https:") else True
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=settings.max_connections, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=tls
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout),
            skip_auto_headers=("Accept",),
        )

    def _reason(self, error: Exception) -> str:
        """For clients; where the sidecar is, is for the log."""
        _LOG.warning("%s: %s", self._url, error or type(error).__name__)
        match error:
            case aiohttp.ConnectionTimeoutError():
                return f"no connection within {self._settings.connect_timeout:g} s"
            case TimeoutError():
                return f"no answer within {self._settings.request_timeout:g} s"
            case aiohttp.ClientConnectorCertificateError():
                return "the certificate of the sidecar is not trusted"
            case aiohttp.ClientConnectorError():
                return "the sidecar cannot be reached"
            case _:
                return "the connection to the sidecar was lost"

"""The connection to the sidecar: one pooled HTTP client, retries of lost connections, a circuit breaker in front.

aiohttp, because every fragment is a request: it costs a tenth of the CPU that httpx does (benchmarks/README.md).
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
from dataclasses import dataclass

import aiohttp

from coordinator.checks.circuit_breaker import BreakerState, CircuitBreaker
from coordinator.checks.internal_bearer import InternalBearer
from coordinator.checks.native_settings import NativeSettings
from coordinator.vocabulary.trace_context import outgoing_headers
from coordinator.vocabulary.traced_calls import traced
from shared.errors import ErrorCode, ErrorLocation, ProcessionError, WireErrorCode
from shared.protocol.internal_authentication import BEARER_HEADER
from shared.protocol.sidecar import PLAN_PATH, Failure, decode_response

_LOG = logging.getLogger(__name__)
_FIRST_BACKOFF_SECONDS = 0.02
_KEEP_ALIVE_SECONDS = 4.0
"""Below the five seconds after which the sidecar's server drops an idle connection."""


class SidecarUnavailableError(ProcessionError):
    """No verdict could be had: nobody answered, or the answer came from something that is broken."""


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the sidecar said: ``failure`` is None for an accepted fragment."""

    body: bytes
    content_type: str
    failure: Failure | None = None


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
            answer = _read(response)
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

    async def _send(self, fragment_json: bytes, accept: str | None) -> _Response:
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
                    return _Response(found.status, found.headers.get("Content-Type", ""), body)
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


def _read(response: _Response) -> Answer:
    """The verdict in a response. Status decides, as in Presto: a 2xx is an acceptance whatever its body says.

    Raises SidecarUnavailableError for what is no verdict: no failure in it, or a server error.
    """
    if 200 <= response.status < 300:
        return Answer(response.body, response.content_type)
    if response.status == 401:
        raise SidecarUnavailableError(
            ErrorCode.NATIVEPLANCHECKER_CONNECTION_ERROR,
            "Error from native plan checker: it does not take our internal-communication.shared-secret",
        )
    try:
        failures = decode_response(response.body).failures
    except ValueError as error:
        raise SidecarUnavailableError(
            ErrorCode.GENERIC_INTERNAL_ERROR,
            f"Invalid JSON bytes for PlanConversionResponse from native plan checker with code: {response.status}",
        ) from error
    if not failures:
        raise SidecarUnavailableError(
            ErrorCode.NATIVEPLANCHECKER_UNKNOWN_CONVERSION_FAILURE,
            f"Error response without failure from native plan checker with code: {response.status}",
        )
    if response.status >= 500:
        refusal = refusal_error(failures[0])
        raise SidecarUnavailableError(refusal.code, refusal.message)
    return Answer(response.body, response.content_type, failures[0])


def refusal_error(failure: Failure, location: ErrorLocation | None = None) -> ProcessionError:
    """A failure in Presto's words: its own error code, and GENERIC_INTERNAL_ERROR when it has none."""
    message = "Internal error" if failure.message is None else failure.message
    return ProcessionError(_code(failure), f"Error from native plan checker: {message}", location=location)


def _code(failure: Failure) -> ErrorCode | WireErrorCode:
    sent = failure.errorCode
    if sent is None:
        return ErrorCode.GENERIC_INTERNAL_ERROR
    known = ErrorCode.__members__.get(sent.name)
    if known is not None and known.code == sent.code:
        return known
    return WireErrorCode(sent.name, sent.code, sent.type, sent.retriable)

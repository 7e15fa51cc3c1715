"""A thin client of the statement protocol, for ``procession sql``: pages of rows, session changes, cancel."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote

import httpx
import stamina

from shared.protocol import headers as names
from shared.protocol.headers import header_name, url_encode

_ATTEMPTS = 5
_TIMEOUT_SECONDS = 30.0
_GONE = 503


class StatementError(Exception):
    """The server refused or failed the statement; the text is the server's own."""

    def __init__(self, message: str, name: str = "", query_id: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.query_id = query_id


class ServerUnreachableError(Exception):
    """No answer, or an answer that is no statement protocol; the text names the address."""


@dataclass(frozen=True, slots=True)
class ClientSession:
    """What a client keeps between statements and sends with each."""

    user: str
    catalog: str | None = None
    schema: str | None = None
    source: str = "procession-sql"
    properties: Mapping[str, str] = field(default_factory=dict)
    prepared: Mapping[str, str] = field(default_factory=dict)
    transaction_id: str | None = None

    def headers(self) -> dict[str, str]:
        """Request headers; values that may hold any text are URL-encoded, as the protocol says."""
        sent = {
            names.USER: self.user,
            names.SOURCE: self.source,
            names.CATALOG: self.catalog,
            names.SCHEMA: self.schema,
            names.SESSION: ",".join(f"{k}={url_encode(v)}" for k, v in self.properties.items()),
            names.PREPARED_STATEMENT: ",".join(f"{url_encode(k)}={url_encode(v)}" for k, v in self.prepared.items()),
            names.TRANSACTION_ID: self.transaction_id or "NONE",
        }
        return {header_name("Presto", name): value for name, value in sent.items() if value}

    def changed_by(self, response: httpx.Headers) -> ClientSession:
        """The session after an answer with these headers."""

        def value(name: str) -> str | None:
            found: str | None = response.get(header_name("Presto", name))
            return found

        def pairs(name: str) -> list[tuple[str, str]]:
            listed = response.get_list(header_name("Presto", name), split_commas=True)
            return [(unquote(k), unquote(v)) for k, _, v in (entry.strip().partition("=") for entry in listed)]

        properties = dict(self.properties) | dict(pairs(names.SET_SESSION))
        prepared = dict(self.prepared) | dict(pairs(names.ADDED_PREPARE))
        for gone, _ in pairs(names.CLEAR_SESSION):
            properties.pop(gone, None)
        for gone, _ in pairs(names.DEALLOCATED_PREPARE):
            prepared.pop(gone, None)
        ended = value(names.CLEAR_TRANSACTION_ID) == "true"
        return replace(
            self,
            catalog=value(names.SET_CATALOG) or self.catalog,
            schema=value(names.SET_SCHEMA) or self.schema,
            properties=properties,
            prepared=prepared,
            transaction_id=None if ended else value(names.STARTED_TRANSACTION_ID) or self.transaction_id,
        )


@dataclass(frozen=True, slots=True)
class Login:
    """How a client says who it is: a password, or a token. ``truststore``: whom it trusts besides, in PEM."""

    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    truststore: Path | None = None

    @property
    def is_secret(self) -> bool:
        return self.password is not None or self.token is not None

    def headers(self, user: str) -> dict[str, str]:
        """Of every request."""
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        if self.password is not None:
            return {"Authorization": "Basic " + b64encode(f"{user}:{self.password}".encode()).decode()}
        return {}


@dataclass(frozen=True, slots=True)
class Page:
    """One answer. ``columns`` is empty until the server knows them."""

    query_id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    stats: Mapping[str, object]
    warnings: tuple[str, ...]
    update_type: str | None = None
    update_count: int | None = None


NOBODY = Login()


class StatementClient:
    """One connection to one server; ``session`` follows what the statements change. Not thread-safe."""

    def __init__(self, server: str, session: ClientSession, login: Login = NOBODY) -> None:
        """Raises ServerUnreachableError for a trust store that cannot be read."""
        self.server = server.rstrip("/") if "://" in server else f"http://{server.rstrip('/')}"
        self.session = session
        self._login = login
        self._http = httpx.Client(
            timeout=_TIMEOUT_SECONDS, verify=trusted(login.truststore), headers=login.headers(session.user)
        )
        self._next: str | None = None

    def __enter__(self) -> StatementClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def execute(self, sql: str) -> Generator[Page, None, None]:
        """The pages of one statement as they arrive; raises StatementError or ServerUnreachableError.

        Leaving the iteration early (Ctrl-C, ``close()``) cancels the statement on the server.
        """
        answer = self._send("POST", f"{self.server}/v1/statement", sql)
        try:
            while True:
                page = _page(answer)
                self._next = answer.get("nextUri")
                if "error" in answer:
                    error = answer["error"]
                    raise StatementError(error["message"], error["errorName"], page.query_id)
                yield page
                if self._next is None:
                    return
                answer = self._send("GET", self._next)
        finally:
            self._cancel()

    def _cancel(self) -> None:
        address, self._next = self._next, None
        if address is not None and not (self._login.is_secret and not address.startswith("https://")):
            try:
                self._http.delete(address)
            except httpx.TransportError:
                # The server is gone, and the statement with it.
                return

    def _send(self, method: str, address: str, sql: str | None = None) -> dict[str, Any]:
        try:
            response = self._request(method, address, sql)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ServerUnreachableError(
                f"no answer from {self.server}: {error} (`procession up` starts a server here; --server names another)"
            ) from error
        except httpx.HTTPStatusError as error:
            raise ServerUnreachableError(f"{self.server} is not taking statements: {error.response.text}") from error
        if response.status_code != httpx.codes.OK:
            raise StatementError(response.text.strip() or f"HTTP {response.status_code}")
        self.session = self.session.changed_by(response.headers)
        try:
            answer: dict[str, Any] = response.json()
        except ValueError as error:
            raise ServerUnreachableError(f"{self.server} does not speak the statement protocol") from error
        return answer

    def _request(self, method: str, address: str, sql: str | None) -> httpx.Response:
        if self._login.is_secret and not address.startswith("https://"):
            raise ServerUnreachableError(f"passwords and tokens are sent over https only, not to {address}")
        content = None if sql is None else sql.encode()
        if method == "POST":
            # Not repeated: nobody knows whether a lost answer's statement was taken.
            return self._http.post(address, content=content, headers=self.session.headers())
        for attempt in stamina.retry_context((httpx.TransportError, httpx.HTTPStatusError), attempts=_ATTEMPTS):
            with attempt:
                response = self._http.request(method, address, headers=self.session.headers())
                if response.status_code == _GONE:
                    response.raise_for_status()
        return response


def trusted(truststore: Path | None) -> ssl.SSLContext:
    """Whom a client trusts. Raises ServerUnreachableError for a file that cannot be read."""
    context = ssl.create_default_context()
    if truststore is not None:
        try:
            context.load_verify_locations(truststore)
        except OSError as error:
            raise ServerUnreachableError(f"{truststore} holds no certificates in PEM: {error}") from error
    return context


def _page(answer: Mapping[str, Any]) -> Page:
    return Page(
        query_id=answer["id"],
        columns=tuple(column["name"] for column in answer.get("columns", ())),
        rows=tuple(tuple(row) for row in answer.get("data", ())),
        stats=answer["stats"],
        warnings=tuple(warning["message"] for warning in answer.get("warnings", ())),
        update_type=answer.get("updateType"),
        update_count=answer.get("updateCount"),
    )

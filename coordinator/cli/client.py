"""A thin client of the statement protocol, for ``procession sql``: pages of rows, session changes, cancel."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from urllib.parse import unquote

import httpx
import msgspec
import stamina

from coordinator.cli.answers import DECODER, Answer, Column
from coordinator.cli.kerberos import KerberosAuth, KerberosError
from coordinator.cli.login import Login, LoginError
from coordinator.cli.tls import StoreError, client_context
from shared.protocol import headers as names
from shared.protocol.headers import header_name, url_encode
from shared.protocol.statement import Location, Stats

_ATTEMPTS = 5
_TIMEOUT_SECONDS = 30.0
_GONE = 503


class StatementError(Exception):
    """The server refused or failed the statement; the text is the server's own."""

    def __init__(self, message: str, name: str = "", query_id: str = "", location: Location | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.query_id = query_id
        self.location = location


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
    functions: Mapping[str, str] = field(default_factory=dict)
    """Temporary functions as they came, id and definition."""
    transaction_id: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    client_tags: str | None = None
    client_info: str | None = None
    trace_token: str | None = None
    time_zone: str | None = None
    resource_estimates: Mapping[str, str] = field(default_factory=dict)
    extra_credentials: Mapping[str, str] = field(default_factory=dict, repr=False)

    def headers(self) -> dict[str, str]:
        """Request headers; values that may hold any text are URL-encoded, as the protocol says."""
        sent = {
            names.USER: self.user,
            names.SOURCE: self.source,
            names.CATALOG: self.catalog,
            names.SCHEMA: self.schema,
            names.SESSION: _pairs(self.properties),
            names.PREPARED_STATEMENT: ",".join(f"{url_encode(k)}={url_encode(v)}" for k, v in self.prepared.items()),
            names.SESSION_FUNCTION: ",".join(f"{url_encode(k)}={url_encode(v)}" for k, v in self.functions.items()),
            names.TRANSACTION_ID: self.transaction_id or "NONE",
            names.ROLE: _pairs(self.roles),
            names.CLIENT_TAGS: self.client_tags,
            names.CLIENT_INFO: self.client_info,
            names.TRACE_TOKEN: self.trace_token,
            names.TIME_ZONE: self.time_zone,
            names.RESOURCE_ESTIMATE: _pairs(self.resource_estimates),
            names.EXTRA_CREDENTIAL: _pairs(self.extra_credentials),
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
        functions = dict(self.functions) | dict(pairs(names.ADDED_SESSION_FUNCTIONS))
        for gone, _ in pairs(names.REMOVED_SESSION_FUNCTION):
            functions.pop(gone, None)
        ended = value(names.CLEAR_TRANSACTION_ID) == "true"
        return replace(
            self,
            catalog=value(names.SET_CATALOG) or self.catalog,
            schema=value(names.SET_SCHEMA) or self.schema,
            properties=properties,
            prepared=prepared,
            functions=functions,
            roles=dict(self.roles) | dict(pairs(names.SET_ROLE)),
            transaction_id=None if ended else value(names.STARTED_TRANSACTION_ID) or self.transaction_id,
        )


def _pairs(values: Mapping[str, str]) -> str:
    return ",".join(f"{name}={url_encode(value)}" for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Page:
    """One answer. ``columns`` is empty until the server knows them."""

    query_id: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[object, ...]]
    stats: Stats
    warnings: tuple[str, ...]
    update_type: str | None = None
    update_count: int | None = None
    info_uri: str = ""


NOBODY = Login()


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client talks to a server, whoever it is."""

    timeout: float = _TIMEOUT_SECONDS
    proxy: str | None = None
    compression: bool = True


class StatementClient:
    """One connection to one server; ``session`` follows what the statements change. Not thread-safe."""

    def __init__(
        self, server: str, session: ClientSession, login: Login = NOBODY, connection: Connection = Connection()
    ) -> None:
        """Raises ServerUnreachableError for a store of certificates that cannot be read."""
        self.server = server.rstrip("/") if "://" in server else f"http://{server.rstrip('/')}"
        self.session = session
        self._login = login
        try:
            context = client_context(login.trusted, login.keystore, insecure=login.insecure)
            auth = None if login.kerberos is None else KerberosAuth(login.kerberos, self.server)
            self._http = httpx.Client(timeout=connection.timeout, verify=context, proxy=connection.proxy, auth=auth)
        except (StoreError, ImportError, ValueError) as error:
            raise ServerUnreachableError(str(error)) from error
        if not connection.compression:
            self._http.headers["Accept-Encoding"] = "identity"
        self._next: str | None = None
        self._early = False

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
        self._early = False
        answer = self._send("POST", f"{self.server}/v1/statement", sql)
        try:
            while True:
                self._next = answer.nextUri
                if answer.error is not None:
                    error = answer.error
                    raise StatementError(error.message, error.errorName, answer.id, error.errorLocation)
                yield _page(answer)
                if self._next is None:
                    return
                if self._early and answer.partialCancelUri is not None:
                    self._early = False
                    self._answered("DELETE", answer.partialCancelUri)
                answer = self._send("GET", self._next)
        finally:
            self._cancel()

    def end_early(self) -> None:
        """The rows so far are enough, once the server offers that (``partialCancelUri``). May be called by a signal."""
        self._early = True

    def _cancel(self) -> None:
        address, self._next = self._next, None
        if address is not None and not (self._login.is_secret and not address.startswith("https://")):
            try:
                self._http.delete(address, headers=self._headers())
            except (httpx.TransportError, KerberosError):
                # The server is gone, and the statement with it; without a ticket it does not listen.
                return

    def _headers(self) -> dict[str, str]:
        return self.session.headers() | self._login.headers(self.session.user)

    def _send(self, method: str, address: str, sql: str | None = None) -> Answer:
        response = self._answered(method, address, sql)
        if response.status_code != httpx.codes.OK:
            raise StatementError(response.text.strip() or f"HTTP {response.status_code}")
        self.session = self.session.changed_by(response.headers)
        try:
            return DECODER.decode(response.content)
        except msgspec.DecodeError as error:
            raise ServerUnreachableError(f"{self.server} does not speak the statement protocol") from error

    def _answered(self, method: str, address: str, sql: str | None = None) -> httpx.Response:
        try:
            response = self._request(method, address, sql)
            if response.status_code == httpx.codes.UNAUTHORIZED and self._logged_in(response):
                response = self._request(method, address, sql)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ServerUnreachableError(
                f"no answer from {self.server}: {error} (`procession up` starts a server here; --server names another)"
            ) from error
        except UnicodeEncodeError as error:
            found = ascii(error.object[error.start : error.end])
            raise StatementError(f"{found} cannot be sent: names in headers are ASCII, statements are UTF-8") from error
        except KerberosError as error:
            raise ServerUnreachableError(str(error)) from error
        except httpx.HTTPStatusError as error:
            raise ServerUnreachableError(f"{self.server} is not taking statements: {error.response.text}") from error
        return response

    def _logged_in(self, response: httpx.Response) -> bool:
        """Whether somebody has logged in with a browser, where that is wanted and offered."""
        try:
            challenges = ", ".join(response.headers.get_list("WWW-Authenticate"))
            return self._login.external is not None and self._login.external.answer(self._http, challenges)
        except LoginError as error:
            raise StatementError(f"Authentication failed: {error}") from error

    def _request(self, method: str, address: str, sql: str | None) -> httpx.Response:
        if self._login.is_secret and not address.startswith("https://"):
            secrets = "passwords and tokens" if self._login.kerberos is None else "Kerberos tickets"
            raise ServerUnreachableError(f"{secrets} are sent over https only, not to {address}")
        content = None if sql is None else sql.encode()
        if method == "POST":
            # Not repeated: nobody knows whether a lost answer's statement was taken.
            return self._http.post(address, content=content, headers=self._headers())
        for attempt in stamina.retry_context((httpx.TransportError, httpx.HTTPStatusError), attempts=_ATTEMPTS):
            with attempt:
                response = self._http.request(method, address, headers=self._headers())
                if response.status_code == _GONE:
                    response.raise_for_status()
        return response


def _page(answer: Answer) -> Page:
    return Page(
        query_id=answer.id,
        columns=answer.columns,
        rows=answer.data,
        stats=answer.stats,
        warnings=tuple(warning.message for warning in answer.warnings),
        update_type=answer.updateType,
        update_count=answer.updateCount,
        info_uri=answer.infoUri,
    )

"""Who calls: the same authenticators, headers and rights as over HTTP. On the coordinator's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import Headers

from coordinator.dispatch.clock import Clock
from coordinator.flight.failures import CallError, refused, statement_failure
from coordinator.flight.session_options import of_cookies, with_options
from coordinator.security.authentication.authentication import UNAUTHORIZED, RequestRefusedError
from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.browser_sessions import BrowserSessions
from coordinator.server.authentication import claimed_user
from coordinator.server.problems import ProblemError
from coordinator.server.session import RequestHeaders, session_of, unknown_time_zone
from coordinator.server.settings import ServerSettings
from shared.errors import ProcessionError
from shared.protocol.headers import USER
from shared.spi.access_control import Identity
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is known of a call before anything of it is read: its metadata, its address, and whether TLS brings it.

    ``certificate`` is the subject of the client's, where TLS has asked for one.
    """

    metadata: tuple[tuple[str, str], ...]
    address: str | None
    secure: bool
    certificate: str | None = None

    def headers(self) -> Headers:
        return Headers(
            raw=[(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in self.metadata]
        )


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and under which settings; ``options`` are those that it set for its session."""

    session: Session
    options: Mapping[str, str] = field(default_factory=dict, compare=False)

    def owns(self, session: Session) -> bool:
        """Whether a statement of ``session`` is this caller's."""
        return (session.user, session.principal) == (self.session.user, self.session.principal)


class Callers:
    """Lets callers in. Raises CallError for the others."""

    def __init__(self, settings: ServerSettings, clock: Clock, shared_secret: str | None = None) -> None:
        """Coordinators with one ``shared_secret`` take each other's tokens; without one, they end with us."""
        self._settings = settings
        self._clock = clock
        self._tokens = BrowserSessions(None if shared_secret is None else f"Flight SQL of {shared_secret}")

    async def caller(self, arrival: Arrival) -> Caller:
        """Whoever may run statements."""
        headers = arrival.headers()
        identity = await self._identity(arrival, headers)
        try:
            session = session_of(
                headers,
                arrival.address,
                self._clock.now(),
                principal_header=self._settings.principal_header,
                process_forwarded=self._settings.process_forwarded,
                identity=identity,
            )
        except ProblemError as error:
            raise refused(401 if error.text == "User must be set" else error.status, error.text) from error
        try:
            options = of_cookies(headers.get("cookie"))
            session = with_options(session, options)
            problem = unknown_time_zone(session.time_zone)
            if problem is not None:
                raise problem
            return Caller(await self._admitted(session), options)
        except ProcessionError as error:
            raise statement_failure(error) from error

    async def token(self, arrival: Arrival) -> str:
        """What a client that has said who it is may say in place of it, as ``Authorization: Bearer``.

        Who brings a token of somebody else's gets the same one back: none of ours may outlive it. One of ours is not
        exchanged, or it would last for ever.
        """
        headers = arrival.headers()
        bearer = Credentials(headers, arrival.address).bearer_token()
        if self._tokens.read(bearer) is not None:
            raise refused(401, "A token of a handshake is not exchanged for another")
        identity = await self._identity(arrival, headers, by_header=False)
        if identity is None:
            raise refused(401, UNAUTHORIZED)
        if bearer is not None:
            return bearer
        issued = self._tokens.issue(Authenticated(identity.principal or "", identity.user))
        if issued is None:
            raise refused(400, "The names are too long")
        return issued[0]

    async def _identity(self, arrival: Arrival, headers: Headers, *, by_header: bool = True) -> Identity | None:
        """``by_header``: the caller may name whom it acts as."""
        authentication = self._settings.authentication
        credentials = Credentials(headers, arrival.address, arrival.certificate)
        named = RequestHeaders(headers).text(USER) if by_header else None
        secure = self._is_secure(arrival, headers)
        known = self._tokens.read(credentials.bearer_token())
        try:
            if authentication is None:
                return _own_word(credentials, known, named)
            if known is not None and known.principal and secure:
                return await authentication.acting(known, named)
            if known is not None and not known.principal and not secure and authentication.allow_insecure:
                credentials, named = Credentials({}, arrival.address), named or known.user
            return await authentication.identify(credentials, named, secure=secure)
        except RequestRefusedError as error:
            raise self._not_let_in(error.status, error.text, arrival, headers) from error
        except AuthenticationError as error:
            raise self._not_let_in(401, error.message or UNAUTHORIZED, arrival, headers) from error

    def _not_let_in(self, status: int, problem: str, arrival: Arrival, headers: Headers) -> CallError:
        """Noted as a refused login; who brings nothing is being asked, and has not failed."""
        if problem != UNAUTHORIZED:
            self._settings.login_refused(problem, claimed_user(headers), arrival.address)
        return refused(status, problem)

    def _is_secure(self, arrival: Arrival, headers: Headers) -> bool:
        if arrival.secure:
            return True
        forwarded = headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
        return self._settings.process_forwarded and forwarded == "https"

    async def _admitted(self, session: Session) -> Session:
        if self._settings.admit_blocks:
            return await asyncio.to_thread(self._settings.admit, session)
        return self._settings.admit(session)


def _own_word(credentials: Credentials, known: Authenticated | None, named: str | None) -> Identity | None:
    """Where nobody has to prove who they are: None for who says so in the header. Raises AuthenticationError."""
    if named is not None:
        return None
    if known is not None:
        return Identity(known.user)
    basic = credentials.basic()
    return None if basic is None else Identity(basic[0])


def metadata_of(pairs: Sequence[tuple[str, str | bytes]]) -> tuple[tuple[str, str], ...]:
    """The text among a call's metadata."""
    return tuple((name.lower(), _padded(name, value)) for name, value in pairs if isinstance(value, str))


def _padded(name: str, value: str) -> str:
    """Flight's Go client leaves out the padding of base64."""
    is_basic = name.lower() == "authorization" and value[:6].lower() == "basic "
    return value + "=" * (-len(value[6:].strip()) % 4) if is_basic else value

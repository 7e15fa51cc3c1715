"""Every path asks who the request comes from, but for those by which load balancers see that the node is well."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog
from fastapi import Request, Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.security.authentication.authentication import UNAUTHORIZED, Authentication, RequestRefusedError
from coordinator.security.authentication.authenticator import AuthenticationError, Credentials
from coordinator.security.authentication.oauth2.authenticator import PREFIX, OAuth2Authenticator
from coordinator.security.authentication.oauth2.handed_tokens import Handed
from coordinator.server.browser_login import COOKIE, LOGIN_PAGE, SESSION, set_token, to_login, to_login_page
from coordinator.server.problems import ProblemError, text_response
from coordinator.server.session import RequestHeaders
from coordinator.server.uris import uris_of
from shared.protocol.headers import USER
from shared.spi.access_control import Identity

_log = structlog.get_logger(__name__)
UNAUTHENTICATED = 401
NEGOTIATE = "/ui/negotiate"
"""A page that challenges browsers, where others send them to the form."""
_READING = frozenset({"GET", "HEAD"})
_OPEN = frozenset({"/v1/info", "/v1/info/state", "/v1/info/coordinator", "/v1/info/stats", "/v1/status"})


def nothing_refused(_problem: str, _user: str | None, _address: str | None) -> None:
    return


class AuthenticationGuard:
    """ASGI layer: 401 for whom no authenticator knows, 403 for who may not act as the user that they name.

    The identity goes on as ``request.state.identity``. ``process_forwarded`` believes a proxy that it ended TLS.
    """

    def __init__(
        self,
        app: ASGIApp,
        authentication: Authentication,
        process_forwarded: bool,
        refused: Callable[[str, str | None, str | None], None] = nothing_refused,
    ) -> None:
        """``refused`` is told why somebody who brought something was not let in."""
        self._refused = refused
        self._app = app
        self._authentication = authentication
        self._process_forwarded = process_forwarded
        oauth2 = (each for each in authentication.authenticators if isinstance(each, OAuth2Authenticator))
        self._oauth2 = next(oauth2, None)
        self._logins = None if self._oauth2 is None else self._oauth2.logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope) or scope.get("state", {}).get("peer"):
            await self._app(scope, receive, send)
            return
        headers, request = Headers(scope=scope), Request(scope)
        secure = self._is_secure(scope, headers)
        by_cookie = secure and _takes_cookies(scope) and "authorization" not in headers
        session = self._authentication.sessions.read(request.cookies.get(SESSION)) if by_cookie else None
        login = self._logins if by_cookie and session is None else None
        cookie = None if login is None else request.cookies.get(COOKIE)
        is_page = by_cookie and scope["method"] in _READING and "text/html" in headers.get("accept", "")
        if login is not None and cookie is None and is_page:
            await (await to_login(request, login))(scope, receive, send)
            return
        if cookie is not None and self._oauth2 is not None:
            renewed = await self._oauth2.refreshes.for_browser(cookie)
            if renewed is not None:
                cookie, send = renewed.token, _with_token(send, renewed)
        said: list[str] = []
        try:
            if session is not None:
                identity: Identity | None = await self._authentication.acting(session, _named_user(headers))
            else:
                identity = await self._authentication.identify(
                    _credentials(scope, headers, cookie, said), _named_user(headers), secure=secure
                )
        except RequestRefusedError as error:
            response = self._refusal(request, error, is_page=is_page, by_cookie=cookie is not None)
            await response(scope, receive, send)
            return
        scope.setdefault("state", {})["identity"] = identity
        await self._app(scope, receive, _saying(send, said) if said else send)

    def _refusal(self, request: Request, error: RequestRefusedError, *, is_page: bool, by_cookie: bool) -> Response:
        """What somebody is told who is not let in, after those who want to know were told of it."""
        path = request.scope["path"]
        if error.text != UNAUTHORIZED:  # who brings nothing is being asked, and has not failed
            address = request.client and request.client.host
            _log.info("request refused", address=address, path=path, reason=error.text)
            self._refused(error.text, claimed_user(request.headers), address)
        elif is_page and self._authentication.forms and path != NEGOTIATE:
            return to_login_page(request)
        response = text_response(error.status, error.text)
        # Clients read one challenge from each line.
        response.raw_headers.extend((b"www-authenticate", each.encode("latin-1")) for each in error.challenges)
        if by_cookie and error.status == UNAUTHENTICATED:
            response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
        return response

    def _is_open(self, scope: Scope) -> bool:
        if scope["path"] in _OPEN and scope["method"] in _READING:
            return True
        is_login = self._logins is not None and scope["path"].startswith(PREFIX)
        if not is_login and not _is_login_page(scope["path"]) and not _is_segment(scope):
            return False
        return self._is_secure(scope, Headers(scope=scope)) or (not is_login and self._authentication.allow_insecure)

    def _is_secure(self, scope: Scope, headers: Headers) -> bool:
        if scope.get("scheme") == "https":
            return True
        forwarded = headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
        return self._process_forwarded and forwarded == "https"


def _with_token(send: Send, handed: Handed) -> Send:
    """The answer brings the browser its new token."""
    carrier = Response()
    set_token(carrier, handed)
    cookies = [header for header in carrier.raw_headers if header[0] == b"set-cookie"]

    return _with_headers(send, cookies)


def _saying(send: Send, said: list[str]) -> Send:
    """The answer shows who the server is."""
    return _with_headers(send, [(b"www-authenticate", each.encode("latin-1")) for each in said])


def _with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await send(message)

    return sending


def claimed_user(headers: Headers) -> str | None:
    """As whom somebody wanted in, by their own word."""
    try:
        basic = Credentials(headers, None).basic()
    except AuthenticationError:
        basic = None
    return _named_user(headers) if basic is None else basic[0]


def _named_user(headers: Headers) -> str | None:
    return RequestHeaders(headers).text(USER)


def _takes_cookies(scope: Scope) -> bool:
    """What a browser may open with its cookie: the pages, whose forms carry tokens, and what reads queries."""
    path: str = scope["path"]
    reads = path in ("/", "/v1/query") or path.startswith(("/v1/query/", "/v1/history/"))
    return path.startswith("/ui/") or (reads and scope["method"] in _READING)


def _is_login_page(path: str) -> bool:
    """What who is not logged in needs to do so."""
    return path == LOGIN_PAGE or path.startswith("/ui/static/")


def _is_segment(scope: Scope) -> bool:
    """Clients of Trino's fetch what was told to them alone without saying who they are."""
    return scope["method"] in _READING and scope["path"].startswith("/v1/spooled/")


def _credentials(scope: Scope, headers: Headers, cookie: str | None, said: list[str]) -> Credentials:
    client = scope.get("client")
    tls = scope.get("extensions", {}).get("tls", {})
    try:
        base = uris_of(Request(scope)).base
    except ProblemError:  # which the route will tell
        base = ""
    brought: Mapping[str, str] = headers if cookie is None else {**headers, "authorization": f"Bearer {cookie}"}
    return Credentials(brought, None if client is None else client[0], tls.get("client_cert_name"), base, said.append)


def authenticated_identity(request: Request) -> Identity | None:
    """Who was let in; None where nobody has to say who they are."""
    identity: Identity | None = getattr(request.state, "identity", None)
    return identity


def identity_of(request: Request) -> Identity:
    """Who asks: authenticated, or by their own word."""
    found = authenticated_identity(request)
    return Identity(RequestHeaders(request.headers).text(USER) or "") if found is None else found

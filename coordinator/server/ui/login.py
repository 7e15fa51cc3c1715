"""``/ui/login`` and the way out: by password or token where one is asked for, else by a name."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass

import jwt
from fastapi import Request, Response

from coordinator.security.authentication.authentication import Authentication, RequestRefusedError
from coordinator.security.authentication.authenticator import Authenticated, Credentials
from coordinator.server.authentication import authenticated_identity
from coordinator.server.browser_login import COOKIE as OAUTH2
from coordinator.server.browser_login import SESSION
from coordinator.server.ui.form_tokens import read_form
from coordinator.server.ui.page import Pages, see_other
from coordinator.server.ui.user_names import COOKIE as NAME
from coordinator.server.ui.user_names import cookie_value, readable

_OWN_PAGE = re.compile(r"(?:[a-z]{1,20}(?:\.html)?)?(?:\?[\w=&%.+~-]{0,2000})?", re.ASCII)
_FORM = 32_000
_YEAR = 365 * 86_400


@dataclass(frozen=True, slots=True)
class LoginPage:
    """Open to everybody: it tells nothing."""

    authentication: Authentication | None
    oauth2: bool
    pages: Pages

    async def show(self, request: Request) -> Response:
        return await self._page(request, request.query_params.get("next", ""), out="out" in request.query_params)

    async def submit(self, request: Request) -> Response:
        """The form: a session for who is let in, or the form again with the reason."""
        fields = await read_form(request, _FORM)
        wanted = fields.get("next", "")
        if self.authentication is None or not self.pages.is_secure(request):
            user = fields.get("user", "").strip()
            if readable(user) != user:
                return await self._page(request, wanted, error="A name is of letters that a header takes", status=400)
            return self._named(user, wanted)
        try:
            identity = await self.authentication.identify(_credentials(request, fields), None, secure=True)
        except RequestRefusedError as error:
            return await self._page(request, wanted, error=error.text, status=error.status)
        if identity is None or identity.principal is None:
            return await self._page(request, wanted, error="Unauthorized", status=401)
        expires = _expiry(fields.get("token", ""))
        return self._logged_in(Authenticated(identity.principal, identity.user), _own(wanted), expires)

    async def negotiated(self, request: Request) -> Response:
        """Whom the browser's own way of authentication let in, for whom other pages need not ask again."""
        identity = authenticated_identity(request)
        if self.authentication is None or identity is None or identity.principal is None:
            return see_other("./")
        return self._logged_in(Authenticated(identity.principal, identity.user), "./", None)

    async def out(self, request: Request) -> Response:
        """The browser forgets who it is; a provider does not."""
        await self.pages.tokens.form(request, _FORM)
        response = see_other("login?out")
        for name in (SESSION, OAUTH2):
            response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="lax")
        response.delete_cookie(NAME, path="/", httponly=True, samesite="strict")
        return response

    def _named(self, user: str, wanted: str) -> Response:
        response = see_other(_own(wanted))
        if not user:
            response.delete_cookie(NAME, path="/", httponly=True, samesite="strict")
            return response
        response.set_cookie(NAME, cookie_value(user), path="/", httponly=True, samesite="strict", max_age=_YEAR)
        return response

    def _logged_in(self, who: Authenticated, where: str, expires: float | None) -> Response:
        issued = None if self.authentication is None else self.authentication.sessions.issue(who, expires)
        response = see_other(where)
        if issued is not None:
            content, lasting = issued
            response.set_cookie(SESSION, content, path="/", secure=True, httponly=True, samesite="lax", max_age=lasting)
        return response

    async def _page(
        self, request: Request, wanted: str, *, error: str = "", out: bool = False, status: int = 200
    ) -> Response:
        asks = self.authentication is not None and self.pages.is_secure(request)
        made: dict[str, object] = {
            "next": wanted if _OWN_PAGE.fullmatch(wanted) else "",
            "error": error,
            "out": out,
            "forms": self.authentication.forms if asks and self.authentication is not None else frozenset(),
            "negotiates": asks and self.authentication is not None and self.authentication.negotiates,
            "oauth2": asks and self.oauth2,
            "asks": asks,
        }
        return await self.pages.show(request, "login.html", "", lambda: made, status)


def _own(wanted: str) -> str:
    return wanted if wanted and _OWN_PAGE.fullmatch(wanted) else "./"


def _credentials(request: Request, fields: dict[str, str]) -> Credentials:
    address = None if request.client is None else request.client.host
    token = fields.get("token", "").strip()
    if token:
        return Credentials({"authorization": f"Bearer {token}"}, address)
    pair = f"{fields.get('user', '')}:{fields.get('password', '')}"
    return Credentials({"authorization": f"Basic {b64encode(pair.encode()).decode()}"}, address)


def _expiry(token: str) -> float | None:
    """Of a token that was verified a moment ago."""
    if not token:
        return None
    try:
        claims = jwt.decode(token.strip(), options={"verify_signature": False})
        return float(claims["exp"])
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        return None

"""A browser's login for the pages of the UI: to the provider and back with a cookie, which opens pages alone."""

from __future__ import annotations

import time
from html import escape
from secrets import token_urlsafe
from urllib.parse import urlencode

from fastapi import Request, Response

from coordinator.security.authentication.oauth2.handed_tokens import LONGEST_COOKIE, Handed
from coordinator.security.authentication.oauth2.logins import LoginError, Logins, hash_of
from coordinator.server.uris import uris_of

# Browsers take names with this prefix only over TLS, for the whole of this host, and for no other.
COOKIE = "__Host-Procession-OAuth2-Token"
NONCE = "__Host-Procession-OAuth2-Nonce"
SESSION = "__Host-Procession-Session"
"""Of those who have logged in by our own page."""
LOGIN_PAGE = "/ui/login"

SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


async def to_login(request: Request, logins: Logins) -> Response:
    """A browser that opens a page of the UI, on its way to the provider."""
    nonce = token_urlsafe(32)
    try:
        address = await logins.begin(hash_of(token_urlsafe(32)), callback_address(request), nonce)
    except LoginError as error:
        return text_page(400, str(error))
    response = Response(status_code=303, headers=SAFE_HEADERS | {"Location": address})
    response.set_cookie(NONCE, nonce, path="/", secure=True, httponly=True, samesite="lax", max_age=3600)
    return response


def logged_in(handed: Handed) -> Response:
    """Back to the UI with the provider's token."""
    if len(handed.token) > LONGEST_COOKIE:
        return text_page(400, "The provider's token is too long for a cookie")
    response = Response(status_code=303, headers=SAFE_HEADERS | {"Location": "/ui/"})
    set_token(response, handed)
    response.delete_cookie(NONCE, path="/", secure=True, httponly=True, samesite="lax")
    return response


def set_token(response: Response, handed: Handed) -> None:
    """The cookie by which the browser is known; who it is from is verified whenever it comes back."""
    lasting = max(int(handed.expires - time.time()), 0)
    response.set_cookie(COOKIE, handed.token, path="/", secure=True, httponly=True, samesite="lax", max_age=lasting)


def to_login_page(request: Request) -> Response:
    """A browser that opens a page of the UI, on its way to our own form and back to the page."""
    path = request.url.path
    where = "login"
    if path.startswith("/ui/"):
        wanted = path.removeprefix("/ui/") + (f"?{request.url.query}" if request.url.query else "")
        where += f"?{urlencode({'next': wanted})}" if wanted else ""
    else:
        where = "../" * (path.count("/") - 1) + f"ui/{where}"
    return Response(status_code=303, headers=SAFE_HEADERS | {"Location": where})


def callback_address(request: Request) -> str:
    """Where the provider sends browsers back to."""
    return f"{uris_of(request).base}/oauth2/callback"


def text_page(status: int, text: str) -> Response:
    """A line for the user."""
    title = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Procession</title>"
    return Response(f"{title}<p>{escape(text)}</p></html>", status, media_type="text/html", headers=SAFE_HEADERS)

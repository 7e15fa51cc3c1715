"""The OAuth2 provider: its addresses, its keys, and codes for tokens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlencode

import httpx

from coordinator.security.authentication.jwt_keys import JwksAddress, VerificationKey
from coordinator.security.authentication.oauth2.settings import OAuth2Settings

_TIMEOUT_SECONDS = 30.0


class ProviderError(Exception):
    """The provider does not answer, or refuses; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Addresses:
    authorization: str
    token: str
    keys: str


class Provider:
    """Asked for its addresses once, when they are first needed. Implements VerificationKeys."""

    def __init__(self, settings: OAuth2Settings) -> None:
        self._settings = settings
        self._addresses: Addresses | None = None
        self._keys: JwksAddress | None = None
        self._lock = asyncio.Lock()

    async def login_address(self, redirect_uri: str, state: str, challenge: str) -> str:
        """Where a browser logs in. Raises ProviderError."""
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id or "",
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = (await self._known()).authorization
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}"

    async def access_token(self, code: str, redirect_uri: str, verifier: str) -> str:
        """Raises ProviderError."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        login = (self._settings.client_id or "", self._settings.client_secret or "")
        answer = await _asked("POST", (await self._known()).token, data=form, auth=login)
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            raise ProviderError("the provider gave no access token")
        return token

    async def key(self, key_id: str | None) -> VerificationKey | None:
        try:
            address = (await self._known()).keys
        except ProviderError:
            return None
        if self._keys is None:
            self._keys = JwksAddress(address)
        return await self._keys.key(key_id)

    async def _known(self) -> Addresses:
        async with self._lock:
            if self._addresses is None:
                self._addresses = await self._discovered()
            return self._addresses

    async def _discovered(self) -> Addresses:
        given = self._settings
        told: dict[str, object] = {}
        if not (given.auth_url and given.token_url and given.jwks_url):
            issuer = (given.issuer or "").rstrip("/")
            told = await _asked("GET", f"{issuer}/.well-known/openid-configuration")
            if str(told.get("issuer", "")).rstrip("/") != issuer:
                raise ProviderError("the provider says that it is another issuer")
        return Addresses(
            given.auth_url or _address(told, "authorization_endpoint"),
            given.token_url or _address(told, "token_endpoint"),
            given.jwks_url or _address(told, "jwks_uri"),
        )


def _address(told: dict[str, object], name: str) -> str:
    found = told.get(name)
    if not isinstance(found, str):
        raise ProviderError(f"the provider's discovery has no {name}")
    return found


async def _asked(
    method: str, url: str, data: dict[str, str] | None = None, auth: tuple[str, str] | None = None
) -> dict[str, object]:
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, auth=auth) as client:
            answer = await client.request(method, url, data=data, headers={"Accept": "application/json"})
        content = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ProviderError(f"the provider does not answer ({type(error).__name__})") from error
    if answer.status_code != httpx.codes.OK or not isinstance(content, dict):
        reason = content.get("error") if isinstance(content, dict) else None
        raise ProviderError(f"the provider refuses ({answer.status_code} {reason or ''})".replace(" )", ")"))
    return content

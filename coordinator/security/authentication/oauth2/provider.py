"""The OAuth2 provider: its addresses, its keys, and codes for tokens."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlencode

import httpx

from coordinator.security.authentication.jwt_keys import JwksAddress, VerificationKey
from coordinator.security.authentication.oauth2.sealed_tokens import Tokens
from coordinator.security.authentication.oauth2.settings import OAuth2Settings
from coordinator.security.authentication.trust import trusted

_TIMEOUT_SECONDS = 30.0
_FAILED_SECONDS = 5.0
_REFUSALS = frozenset({400, 401, 403})


class ProviderError(Exception):
    """The provider does not answer, or refuses; the text is for the user."""


class TokenRefusedError(ProviderError):
    """The provider has answered, and the token is no good."""


@dataclass(frozen=True, slots=True)
class Addresses:
    authorization: str
    token: str
    keys: str
    userinfo: str | None
    introspection: str | None


class Provider:
    """Asked for its addresses once, when they are first needed. Implements VerificationKeys."""

    def __init__(self, settings: OAuth2Settings) -> None:
        self._settings = settings
        self._addresses: Addresses | None = None
        self._keys: JwksAddress | None = None
        self._lock = asyncio.Lock()
        self._failed: tuple[str | None, float] = None, 0.0

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

    async def tokens(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        """Raises ProviderError."""
        return await self._given(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": verifier,
            }
        )

    async def refreshed(self, refresh: str) -> Tokens:
        """New tokens; those that give no new refresh token keep the old one. Raises ProviderError."""
        given = await self._given({"grant_type": "refresh_token", "refresh_token": refresh})
        return given if given.refresh is not None else Tokens(given.access, refresh, given.expires)

    async def claims(self, token: str, *, ours: bool) -> dict[str, object]:
        """What the provider says of an opaque token; ``ours`` is one that it gave to this service.

        The page of the user's data does not say for whom a token was made, so that it is asked about ours alone: any
        other service of the provider could log in as its users here. Raises ProviderError.
        """
        known = await self._known()
        if known.introspection is not None:
            answer = await _asked("POST", known.introspection, data={"token": token}, auth=self._login)
            if answer.get("active") is not True:
                raise TokenRefusedError("the token is not active")
            if not ours:
                self._check_audience(answer)
            return answer
        if known.userinfo is None or not ours:
            raise TokenRefusedError("the token is no JSON web token, and nobody can be asked about it")
        return await _asked("GET", known.userinfo, token=token)

    def _check_audience(self, answer: dict[str, object]) -> None:
        named = answer.get("aud")
        audiences = {named} if isinstance(named, str) else set(named) if isinstance(named, list) else set()
        audiences.add(str(answer.get("client_id")))
        if not audiences & {self._settings.client_id, *self._settings.additional_audiences}:
            raise TokenRefusedError("Audience doesn't match")

    @property
    def _login(self) -> tuple[str, str]:
        return self._settings.client_id or "", self._settings.client_secret or ""

    async def _given(self, form: dict[str, str]) -> Tokens:
        answer = await _asked("POST", (await self._known()).token, data=form, auth=self._login)
        token, refresh, lasting = (answer.get(name) for name in ("access_token", "refresh_token", "expires_in"))
        if not isinstance(token, str) or not token:
            raise ProviderError("the provider gave no access token")
        expires = time.time() + lasting if isinstance(lasting, int | float) else None
        return Tokens(token, refresh if isinstance(refresh, str) and refresh else None, expires)

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
            if self._addresses is not None:
                return self._addresses
            problem, until = self._failed
            if problem is not None and until > time.monotonic():
                raise ProviderError(problem)
            try:
                self._addresses = await self._discovered()
            except ProviderError as error:
                # Requests do not wait one after the other for a provider that is gone.
                self._failed = str(error), time.monotonic() + _FAILED_SECONDS
                raise
            return self._addresses

    async def _discovered(self) -> Addresses:
        given = self._settings
        metadata: dict[str, object] = {}
        if given.discovery and not (given.auth_url and given.token_url and given.jwks_url):
            issuer = (given.issuer or "").rstrip("/")
            metadata = await _asked("GET", f"{issuer}/.well-known/openid-configuration")
            if str(metadata.get("issuer", "")).rstrip("/") != issuer:
                raise ProviderError("the provider says that it is another issuer")
        return Addresses(
            given.auth_url or _address(metadata, "authorization_endpoint"),
            given.token_url or _address(metadata, "token_endpoint"),
            given.jwks_url or _address(metadata, "jwks_uri"),
            given.userinfo_url or (_found(metadata, "userinfo_endpoint") if given.use_userinfo else None),
            given.introspection_url,
        )


def _found(metadata: dict[str, object], name: str) -> str | None:
    found = metadata.get(name)
    return found if isinstance(found, str) else None


def _address(metadata: dict[str, object], name: str) -> str:
    found = _found(metadata, name)
    if found is None:
        raise ProviderError(f"the provider's discovery has no {name}")
    return found


async def _asked(
    method: str,
    url: str,
    data: dict[str, str] | None = None,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
) -> dict[str, object]:
    headers = {"Accept": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, auth=auth, verify=await trusted()) as client:
            answer = await client.request(method, url, data=data, headers=headers)
    except httpx.HTTPError as error:
        raise ProviderError(f"the provider does not answer ({type(error).__name__})") from error
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.status_code == httpx.codes.OK and isinstance(content, dict):
        return content
    reason = content.get("error") if isinstance(content, dict) else None
    problem = f"the provider refuses ({answer.status_code} {reason or ''})".replace(" )", ")")
    # What it says of one token is for good; a failure of its own is not.
    raise (TokenRefusedError if answer.status_code in _REFUSALS else ProviderError)(problem)

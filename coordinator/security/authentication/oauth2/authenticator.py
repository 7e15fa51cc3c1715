"""OAUTH2: the provider's access tokens, and where to get one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from uuid import uuid4

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.guess_limit import GuessLimit, source_of
from coordinator.security.authentication.jwt_authenticator import JwtAuthenticator, TokenExpiredError
from coordinator.security.authentication.oauth2.handed_tokens import HandedTokens, is_web_token
from coordinator.security.authentication.oauth2.logins import Logins, hash_of
from coordinator.security.authentication.oauth2.opaque_tokens import OpaqueTokens
from coordinator.security.authentication.oauth2.provider import ProviderError, TokenRefusedError
from coordinator.security.authentication.oauth2.refreshes import Refreshes
from coordinator.security.authentication.oauth2.sealed_tokens import Tokens

PREFIX = "/oauth2/"
_FREE_OF_ADDRESS = 50


@dataclass(frozen=True, slots=True)
class OAuth2Authenticator:
    """``web_tokens`` and ``opaque`` verify; whoever has a token that is not good any more is told where to get one."""

    web_tokens: JwtAuthenticator
    opaque: OpaqueTokens
    handed: HandedTokens
    logins: Logins
    refreshes: Refreshes
    guesses: GuessLimit = field(default_factory=lambda: GuessLimit(_FREE_OF_ADDRESS))

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """Raises AuthenticationError."""
        token = credentials.bearer_token()
        if not token:
            raise AuthenticationError(challenge=_challenge(credentials.base))
        ours = self.handed.sealed.open(token)
        try:
            claims = await self._claims(ours) if ours is not None else await self._claims_of(token, credentials)
            return self.web_tokens.named(claims)
        except TokenExpiredError as error:
            challenge = await self._new_token(ours, credentials.base) or _challenge(credentials.base)
            raise AuthenticationError(error.message, challenge) from error
        except AuthenticationError as error:
            raise AuthenticationError(error.message, _challenge(credentials.base)) from error

    async def _claims(self, ours: Tokens) -> dict[str, object]:
        """Of tokens that this service has given away."""
        if is_web_token(ours.access):
            return await self.web_tokens.claims(ours.access)
        if ours.expires is not None and ours.expires <= time.time():
            raise TokenExpiredError("Invalid credentials: the token has expired")
        try:
            return await self.opaque.claims(ours.access, ours=True)
        except TokenRefusedError as error:
            raise TokenExpiredError(f"Invalid credentials: {error}") from error
        except ProviderError as error:
            raise AuthenticationError(f"Invalid credentials: {error}") from error

    async def _claims_of(self, token: str, credentials: Credentials) -> dict[str, object]:
        """Of a token that came from elsewhere. The provider is not asked about any number of guesses."""
        if is_web_token(token):
            return await self.web_tokens.claims(token)
        source = source_of(credentials.address)
        wait = self.guesses.seconds_to_wait(source)
        if wait > 0 and not self.opaque.remembers(token):
            raise AuthenticationError(f"Too many wrong tokens; try again in {math.ceil(wait)} s")
        try:
            return await self.opaque.claims(token, ours=False)
        except ProviderError as error:
            if isinstance(error, TokenRefusedError):
                self.guesses.failed(source)
            raise AuthenticationError(f"Invalid credentials: {error}") from error

    async def _new_token(self, ours: Tokens | None, base: str) -> str | None:
        """The challenge that asks for nothing but to fetch it."""
        if ours is None or ours.refresh is None:
            return None
        login_id = await self.refreshes.login_id(ours.refresh)
        return None if login_id is None else f'Bearer x_token_server="{base}{PREFIX}token/{login_id}"'


def _challenge(base: str) -> str:
    login_id = str(uuid4())
    addresses = f"{base}{PREFIX}token/initiate/{hash_of(login_id)}", f"{base}{PREFIX}token/{login_id}"
    return f'Bearer x_redirect_server="{addresses[0]}", x_token_server="{addresses[1]}"'

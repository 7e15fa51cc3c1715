"""OAUTH2: the provider's access tokens, and where to get one."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.jwt_authenticator import JwtAuthenticator
from coordinator.security.authentication.oauth2.logins import Logins, hash_of

PREFIX = "/oauth2/"


@dataclass(frozen=True, slots=True)
class OAuth2Authenticator:
    """``tokens`` verifies; whoever has none, or one that is not good any more, is told where to log in."""

    tokens: JwtAuthenticator
    logins: Logins

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """Raises AuthenticationError."""
        try:
            return await self.tokens.authenticate(credentials)
        except AuthenticationError as error:
            raise AuthenticationError(error.message, _challenge(credentials.base)) from error


def _challenge(base: str) -> str:
    login_id = str(uuid4())
    addresses = f"{base}{PREFIX}token/initiate/{hash_of(login_id)}", f"{base}{PREFIX}token/{login_id}"
    return f'Bearer x_redirect_server="{addresses[0]}", x_token_server="{addresses[1]}"'

"""JWT: ``Authorization: Bearer`` with a signed token. Source: Presto's JsonWebTokenAuthenticator."""

from __future__ import annotations

from dataclasses import dataclass

import jwt

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.jwt_keys import VerificationKey, VerificationKeys
from coordinator.security.authentication.user_mapping import UserMapping

CHALLENGE = 'Bearer realm="Presto", token_type="JWT"'


class TokenExpiredError(AuthenticationError):
    """Good but for its age."""


@dataclass(frozen=True, slots=True)
class JwtAuthenticator:
    """Signature, expiry and, where required, issuer and audience; then the claim ``principal_field``."""

    keys: VerificationKeys
    mapping: UserMapping
    issuer: str | None = None
    audience: str | tuple[str, ...] | None = None
    principal_field: str = "sub"
    leeway: float = 0.0

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """Raises AuthenticationError."""
        token = credentials.bearer_token()
        if not token:
            raise AuthenticationError(challenge=CHALLENGE)
        try:
            return self.named(await self.claims(token))
        except AuthenticationError as error:
            raise AuthenticationError(error.message, CHALLENGE) from error

    def named(self, claims: dict[str, object]) -> Authenticated:
        """Whom claims name. Raises AuthenticationError."""
        principal = _text(claims, self.principal_field)
        return Authenticated(principal, self.mapping(principal))

    async def claims(self, token: str) -> dict[str, object]:
        """Of a token that is good. Raises AuthenticationError."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            key = _fitting(algorithm, await self.keys.key(key_id if isinstance(key_id, str) else None))
            claims: dict[str, object] = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                issuer=self.issuer,
                audience=self.audience,
                leeway=self.leeway,
                options={"verify_aud": self.audience is not None},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenExpiredError(f"Invalid credentials: {error}") from error
        except jwt.PyJWTError as error:
            raise AuthenticationError(f"Invalid credentials: {error}") from error
        return claims


def _text(claims: dict[str, object], name: str) -> str:
    found = claims.get(name)
    if not isinstance(found, str) or not found:
        raise AuthenticationError("Invalid credentials: the token names no principal")
    return found


def _fitting(algorithm: object, key: VerificationKey | None) -> VerificationKey:
    """Presto's texts; a token does not choose what kind of key it is verified with."""
    if key is None:
        raise AuthenticationError("Invalid credentials: the token is signed with an unknown key")
    if algorithm not in key.algorithms:
        wanted = "HMAC key" if isinstance(algorithm, str) and algorithm.startswith("HS") else "key"
        raise AuthenticationError(f"JWT is signed with {algorithm}, but no {wanted} is configured")
    return key

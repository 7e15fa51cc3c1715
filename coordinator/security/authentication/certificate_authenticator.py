"""CERTIFICATE: the subject of the certificate that TLS has verified."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.user_mapping import UserMapping


@dataclass(frozen=True, slots=True)
class CertificateAuthenticator:
    """Clients may have none, so that other types still work. There is no challenge: TLS has asked already."""

    mapping: UserMapping

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        if not credentials.certificate:
            raise AuthenticationError
        return Authenticated(credentials.certificate, self.mapping(credentials.certificate))

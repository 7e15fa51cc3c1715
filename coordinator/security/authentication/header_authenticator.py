"""HEADER: whom a proxy in front says that it has authenticated."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.user_mapping import UserMapping
from shared.properties import ConfigurationError


class HeaderAuthenticator:
    """Believes the header from the addresses of ``proxies`` alone."""

    def __init__(self, header: str, proxies: Iterable[str], mapping: UserMapping) -> None:
        """Raises ConfigurationError for what is no address and no network."""
        self._header, self._mapping = header.lower(), mapping
        try:
            self._proxies = tuple(ip_network(proxy, strict=False) for proxy in proxies)
        except ValueError as error:
            raise ConfigurationError(f"http-server.authentication.header.trusted-proxies: {error}") from error

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        principal = credentials.headers.get(self._header, "").strip()
        if not principal:
            raise AuthenticationError
        if not self._is_trusted(credentials.address):
            raise AuthenticationError(f"{self._header} comes from an address that is no trusted proxy's")
        return Authenticated(principal, self._mapping(principal))

    def _is_trusted(self, address: str | None) -> bool:
        try:
            found = ip_address((address or "").removeprefix("::ffff:"))
        except ValueError:
            return False
        return any(found in network for network in self._proxies)

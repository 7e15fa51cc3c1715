"""KERBEROS: a ticket for this service in ``Authorization: Negotiate``, by the package ``gssapi``. Source: Trino's."""

from __future__ import annotations

import asyncio
import binascii
import os
import socket
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import structlog

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.user_mapping import UserMapping

_log = structlog.get_logger(__name__)
_CHALLENGE = "Negotiate"
_LONGEST_TOKEN = 1 << 16


class KerberosAuthenticator:
    """``keytab`` holds the keys of ``service/hostname``. The library keeps tickets from being used twice."""

    def __init__(
        self, keytab: Path, service: str, hostname: str | None, mapping: UserMapping, config: Path | None = None
    ) -> None:
        """Raises ImportError without the package, ValueError when the keytab has no key of the service."""
        if config is not None:
            os.environ["KRB5_CONFIG"] = str(config)  # where the library looks, and nowhere else
        import gssapi

        name = gssapi.Name(f"{service}@{hostname or socket.getfqdn()}", gssapi.NameType.hostbased_service)
        self._gssapi, self._mapping = gssapi, mapping
        try:
            self._keys = gssapi.Credentials(name=name, usage="accept", store={"keytab": f"FILE:{keytab}"})
        except gssapi.exceptions.GSSError as error:
            raise ValueError(f"{keytab}: {_line(error)}") from error

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """Raises AuthenticationError."""
        scheme, _, value = credentials.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "negotiate":
            raise AuthenticationError("", _CHALLENGE)
        try:
            token = b64decode(value.strip()[:_LONGEST_TOKEN], validate=True)
        except (binascii.Error, ValueError) as error:
            raise AuthenticationError("Invalid Kerberos token", _CHALLENGE) from error
        principal, proof = await asyncio.to_thread(self._accepted, token)
        if proof:
            credentials.say(f"{_CHALLENGE} {b64encode(proof).decode()}")
        return Authenticated(principal, self._mapping(principal))

    def _accepted(self, token: bytes) -> tuple[str, bytes | None]:
        """The principal, and what proves to a client that wants it who the server is.

        Reads the keytab and the cache of tickets that were used.
        """
        try:
            context: Any = self._gssapi.SecurityContext(creds=self._keys, usage="accept")
            proof: bytes | None = context.step(token)
            if not context.complete:
                raise AuthenticationError("Kerberos login takes more than one step", _CHALLENGE)
            return str(context.initiator_name), proof
        except self._gssapi.exceptions.GSSError as error:
            _log.info("kerberos ticket refused", reason=_line(error))
            raise AuthenticationError("Kerberos login failed", _CHALLENGE) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())

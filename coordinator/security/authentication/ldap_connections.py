"""Connections to a directory. Blocks."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from coordinator.security.authentication.ldap_settings import DirectorySettings

Connect = Callable[[str, str], Any]
"""From a distinguished name and a password to a connection of ldap3 that is not bound."""


def connector(settings: DirectorySettings) -> Connect:
    """Raises ImportError where the package is missing; what it makes raises LDAPException."""
    import ldap3  # a package that only this needs
    from ldap3.core.exceptions import LDAPStartTLSError

    class Tls(ldap3.Tls):  # type: ignore[misc]
        """The library's own check of names rests on what Python 3.12 has no more; and it leaves sockets open."""

        def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:  # noqa: ARG002
            plain = connection.socket
            try:
                connection.socket = context.wrap_socket(plain, server_hostname=connection.server.host)
            except BaseException:
                plain.close()
                raise

    tls = None
    if settings.start_tls or settings.url.startswith("ldaps://"):
        context = ssl.create_default_context(cafile=settings.truststore)
        tls = Tls(validate=ssl.CERT_REQUIRED)
    server = ldap3.Server(settings.url, tls=tls, connect_timeout=settings.connect_timeout, get_info=ldap3.NONE)

    def connect(name: str, password: str) -> object:
        # A referral would send the password to whomever the directory names.
        made = ldap3.Connection(
            server,
            name,
            password,
            auto_referrals=False,
            receive_timeout=max(1, round(settings.read_timeout)),  # it takes whole seconds alone
            read_only=True,
            check_names=False,
        )
        if settings.start_tls:
            started = False
            try:
                made.open()
                started = made.start_tls()
            finally:
                if not started:
                    end(made)
            if not started:
                raise LDAPStartTLSError("the directory refuses TLS")
        return made

    return connect


def end(connection: Any) -> None:
    """Says good-bye where it can; the library leaves sockets open that nobody has answered."""
    try:
        connection.unbind()
    finally:
        if connection.socket is not None:
            connection.socket.close()

"""TLS of the HTTP server: PEM files that are read again when they change, and client certificates."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from cryptography.x509 import load_der_x509_certificate

from coordinator.security.keystores import load_authorities, load_key
from coordinator.security.refreshed_file import RefreshedFile
from coordinator.security.settings import HttpsSettings
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError

_PATH = "http-server.https.keystore.path"


class RefreshedContext(ssl.SSLContext):
    """Every new connection gets the files as they are; one that is open keeps its own."""

    _current: RefreshedFile[ssl.SSLContext]

    @classmethod
    def of(cls, keystore: Path, truststore: Path | None, settings: HttpsSettings) -> RefreshedContext:
        """Raises ConfigurationError."""
        made = cls(ssl.PROTOCOL_TLS_SERVER)
        made._current = RefreshedFile(
            keystore,
            lambda file: _context(file, truststore, settings),
            settings.refresh_time,
            beside=() if truststore is None else (truststore,),
        )
        return made

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """What event loops ask of a context."""
        return self._current.get().wrap_bio(*arguments, **options)


def load_tls(etc: Path, settings: HttpsSettings) -> RefreshedContext | None:
    """None without TLS. Raises ConfigurationError."""
    if not settings.enabled:
        if not settings.http_enabled:
            raise ConfigurationError("http-server.http.enabled and http-server.https.enabled are both false")
        return None
    if settings.keystore_path is None:
        raise ConfigurationError(f"http-server.https.enabled=true needs {_PATH}")
    named_in = etc / "config.properties"
    keystore = find_file(etc, settings.keystore_path, named_in)
    truststore = None if settings.truststore_path is None else find_file(etc, settings.truststore_path, named_in)
    return RefreshedContext.of(keystore, truststore, settings)


def _context(keystore: Path, truststore: Path | None, settings: HttpsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        load_key(context, keystore, settings.keystore_key)
    except OSError as error:
        raise ConfigurationError(
            f"{keystore}: no private key with its certificate chain in PEM or PKCS#12, or a wrong password"
            f" ({error.strerror})"
        ) from error
    if truststore is not None:
        try:
            load_authorities(context, truststore, settings.truststore_key)
        except OSError as error:
            raise ConfigurationError(f"{truststore}: no certificates in PEM or PKCS#12 ({error.strerror})") from error
        # Asked for, not demanded, so that other ways to authenticate still work.
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def client_subject(connection: ssl.SSLObject | None) -> str | None:
    """The subject of the certificate that the client has shown, as RFC 4514 writes it."""
    shown = None if connection is None else connection.getpeercert(binary_form=True)
    return None if shown is None else load_der_x509_certificate(shown).subject.rfc4514_string()

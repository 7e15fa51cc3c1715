"""TLS of the Flight SQL server: the key and the certificates of HTTPS, read again when they change.

gRPC either demands a certificate of every client or asks for none. So it does where certificates are the one way to
say who one is; beside other ways, clients of Flight SQL use those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import grpc
from cryptography.x509 import load_pem_x509_certificate

from coordinator.security.keystores import authorities, key_and_chain
from coordinator.security.refreshed_file import RefreshedFile
from coordinator.security.settings import HttpsSettings
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError


@dataclass(frozen=True, slots=True)
class _Files:
    key: bytes
    chain: bytes
    signers: bytes | None


def load_credentials(
    etc: Path, settings: HttpsSettings, authentication_types: Sequence[str] = ()
) -> Callable[[], grpc.ServerCredentials] | None:
    """None without TLS. Raises ConfigurationError."""
    if not settings.enabled or settings.keystore_path is None:
        return None
    named_in = etc / "config.properties"
    keystore = find_file(etc, settings.keystore_path, named_in)
    demands = tuple(authentication_types) == ("CERTIFICATE",) and settings.truststore_path is not None
    truststore = find_file(etc, settings.truststore_path, named_in) if demands and settings.truststore_path else None
    file = RefreshedFile(
        keystore,
        lambda path: _read(path, truststore, settings),
        settings.refresh_time,
        beside=() if truststore is None else (truststore,),
    )

    def credentials() -> grpc.ServerCredentials:
        return grpc.dynamic_ssl_server_credentials(
            _configuration(file.get()), lambda: _configuration(file.get()), demands
        )

    return credentials


def client_subject(shown: Mapping[str, Sequence[bytes]]) -> str | None:
    """The subject of the certificate in what gRPC knows of a connection, as RFC 4514 writes it; None without one."""
    found = shown.get("x509_pem_cert")
    return _subject(found[0]) if found else None


@lru_cache(maxsize=256)
def _subject(certificate: bytes) -> str:
    return load_pem_x509_certificate(certificate).subject.rfc4514_string()


def _configuration(files: _Files) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(((files.key, files.chain),), files.signers)


def _read(keystore: Path, truststore: Path | None, settings: HttpsSettings) -> _Files:
    try:
        pair = key_and_chain(keystore, settings.keystore_key)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{keystore}: no private key with its certificate chain in PEM or PKCS#12") from error
    if truststore is None:
        return _Files(*pair, None)
    try:
        return _Files(*pair, authorities(truststore, settings.truststore_key))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{truststore}: no certificates in PEM or PKCS#12") from error

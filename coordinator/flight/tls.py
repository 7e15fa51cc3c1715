"""TLS of the Flight SQL server: the key and the certificates of HTTPS, read again when they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc

from coordinator.security.keystores import key_and_chain
from coordinator.security.refreshed_file import RefreshedFile
from coordinator.security.settings import HttpsSettings
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError


def load_credentials(etc: Path, settings: HttpsSettings) -> Callable[[], grpc.ServerCredentials] | None:
    """None without TLS. Raises ConfigurationError."""
    if not settings.enabled or settings.keystore_path is None:
        return None
    keystore = find_file(etc, settings.keystore_path, etc / "config.properties")
    file = RefreshedFile(keystore, lambda path: _read(path, settings.keystore_key), settings.refresh_time)

    def credentials() -> grpc.ServerCredentials:
        return grpc.dynamic_ssl_server_credentials(_configuration(file.get()), lambda: _configuration(file.get()))

    return credentials


def _configuration(pair: tuple[bytes, bytes]) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration((pair,))


def _read(keystore: Path, password: str | None) -> tuple[bytes, bytes]:
    try:
        return key_and_chain(keystore, password)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{keystore}: no private key with its certificate chain in PEM or PKCS#12") from error

"""The address of a Spark of others: what it says, and what of it people may see."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from shared.properties import ConfigurationError

_BEGIN = b"-----BEGIN CERTIFICATE-----"


def remote_problem(url: str, trust_store: Path | None) -> str | None:
    """What is wrong with spark.remote and its trust store; None when nothing is."""
    parameters = _parameters(url)
    secure = parameters.get("use_ssl", "").lower() == "true"
    if trust_store is not None and not secure:
        return "spark.remote.trust-store-path needs use_ssl=true in spark.remote"
    return None


def remote_token(url: str) -> str | None:
    """The secret in the address."""
    return _parameters(url).get("token")


def without_secrets(url: str) -> str:
    """The address as people may see it."""
    return url.partition("/;")[0] if url.startswith("sc://") else url


def read_trust_store(file: Path) -> bytes:
    """Certificates in PEM. Raises ConfigurationError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    if _BEGIN not in content:
        raise ConfigurationError(f"{file}: no certificate in PEM")
    return content


def _parameters(url: str) -> dict[str, str]:
    path = urlsplit(url).path
    pairs = (part.partition("=") for part in path.partition(";")[2].split(";"))
    return {name: value for name, separator, value in pairs if separator}

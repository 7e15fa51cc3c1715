"""Keys that JSON web tokens are verified with: a file, a file for each key id, or a JWKS address.

Source: Presto's JsonWebTokenAuthenticator, Trino's JwkService.
"""

from __future__ import annotations

import asyncio
import binascii
import re
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import jwt
import structlog
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

from coordinator.security.authentication.trust import trusted
from coordinator.security.refreshed_file import RefreshedFile, read_text
from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
_HMAC = ("HS256", "HS384", "HS512")
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_EC = ("ES256", "ES384", "ES512")
_EDDSA = ("EdDSA",)
_KEY_ID = re.compile(r"\$\{(?:KID|KEYID)\}|\$KEYID")
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9_-]")
_DEFAULT_KEY = "default-key"
_FILE_SECONDS = 5.0
_FETCH_SECONDS = 900.0
_LEAST_SECONDS_BETWEEN_FETCHES = 10.0
_FETCH_TIMEOUT = 10.0
_MOST_KEYS = 100


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key, and the algorithms that a key of its kind is for: a token does not choose its own."""

    key: Any
    algorithms: tuple[str, ...]


class VerificationKeys(Protocol):
    async def key(self, key_id: str | None) -> VerificationKey | None:
        """None when there is no such key."""
        ...


def verification_keys(text: str, find: Callable[[Path], Path]) -> VerificationKeys:
    """Of ``http-server.authentication.jwt.key-file``; ``find`` resolves relative paths. Raises ConfigurationError."""
    if text.startswith("http://"):
        _log.warning("keys of tokens come over plain HTTP: who is on the way can choose them", url=text)
    if text.startswith(("https://", "http://")):
        return JwksAddress(text)
    if _KEY_ID.search(text) is not None:
        return KeyFiles(text)
    return KeyFile(find(Path(text)))


class KeyFile:
    """One key for all tokens; read again when the file changes."""

    def __init__(self, file: Path) -> None:
        self._key = RefreshedFile(file, read_key, _FILE_SECONDS)

    async def key(self, key_id: str | None) -> VerificationKey | None:  # noqa: ARG002 - one for all
        return self._key.get()


class KeyFiles:
    """A file for each key id, whose name stands for ``${KID}`` in ``template``."""

    def __init__(self, template: str) -> None:
        self._template = template
        self._known: dict[str, RefreshedFile[VerificationKey]] = {}

    async def key(self, key_id: str | None) -> VerificationKey | None:
        name = _DEFAULT_KEY if key_id is None else _NO_FILE_NAME.sub("_", key_id)
        file = Path(_KEY_ID.sub(lambda _: name, self._template))
        if name not in self._known:
            try:
                found = RefreshedFile(file, read_key, _FILE_SECONDS)
            except ConfigurationError as error:
                _log.warning("no key for a token", reason=str(error))
                return None
            if len(self._known) >= _MOST_KEYS:
                self._known.clear()
            self._known[name] = found
        return self._known[name].get()


class JwksAddress:
    """The provider's set of keys, fetched when a token needs it, and again for a key id that is not in it."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._url, self._monotonic = url, monotonic
        self._keys: Mapping[str | None, VerificationKey] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._fetch_task: asyncio.Task[None] | None = None

    async def key(self, key_id: str | None) -> VerificationKey | None:
        known = self._keys.get(key_id)
        if known is None or self._is_older_than(_FETCH_SECONDS, self._fetched):
            if not self.fetching and self._is_older_than(_LEAST_SECONDS_BETWEEN_FETCHES, self._tried):
                self._fetch_task = asyncio.create_task(self._fetch())
            # Who has a key that is known does not wait for a provider that is slow or silent.
            if known is None and self._fetch_task is not None:
                await asyncio.shield(self._fetch_task)
        return known or self._keys.get(key_id)

    @property
    def fetching(self) -> bool:
        """Whether the provider is being asked."""
        return self._fetch_task is not None and not self._fetch_task.done()

    def _is_older_than(self, seconds: float, instant: float | None) -> bool:
        return instant is None or self._monotonic() - instant > seconds

    async def _fetch(self) -> None:
        self._tried = self._monotonic()
        try:
            async with httpx.AsyncClient(timeout=_FETCH_TIMEOUT, verify=await trusted()) as client:
                answer = await client.get(self._url)
            answer.raise_for_status()
            self._keys = keys_of(answer.json())
        except (httpx.HTTPError, ValueError, jwt.PyJWTError) as error:
            _log.error("keys of tokens cannot be fetched", url=self._url, reason=str(error) or type(error).__name__)
            return
        finally:
            self._tried = self._monotonic()  # a silent provider is left alone for a while, too
        self._fetched = self._monotonic()


def keys_of(content: object) -> dict[str | None, VerificationKey]:
    """Public keys of a JWKS by id; those of unknown kinds, and shared secrets, are left out. Raises ValueError."""
    entries = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise ValueError("not a set of keys")  # noqa: TRY004 - of what came over the network
    found: dict[str | None, VerificationKey] = {}
    for entry in entries:
        kinds = {"RSA": _RSA, "EC": _EC, "OKP": _EDDSA}
        algorithms = kinds.get(str(entry.get("kty"))) if isinstance(entry, dict) else None
        if algorithms is None or entry.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(entry, entry.get("alg") or algorithms[0]).key
            found[entry.get("kid")] = VerificationKey(key, algorithms)
        except jwt.PyJWTError as error:
            _log.warning("a key of the set is left out", key_id=entry.get("kid"), reason=str(error))
    if len(found) == 1:
        found.setdefault(None, next(iter(found.values())))
    return found


def read_key(file: Path) -> VerificationKey:
    """Raises ConfigurationError, without the file's content."""
    text = read_text(file).strip()
    if "-----BEGIN" not in text:
        return _hmac_key(text, file)
    try:
        data = text.encode()
        is_certificate = "BEGIN CERTIFICATE" in text
        key = load_pem_x509_certificate(data).public_key() if is_certificate else load_pem_public_key(data)
    except ValueError as error:
        raise ConfigurationError(f"{file}: no PEM public key") from error
    if isinstance(key, RSAPublicKey):
        return VerificationKey(key, _RSA)
    return VerificationKey(key, _EC if isinstance(key, EllipticCurvePublicKey) else _EDDSA)


def _hmac_key(text: str, file: Path) -> VerificationKey:
    try:
        secret = b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigurationError(f"{file}: neither PEM nor a base64 key") from error
    if len(secret) < 32:
        raise ConfigurationError(f"{file}: an HMAC key needs 32 bytes, this one has {len(secret)}")
    return VerificationKey(secret, _HMAC)

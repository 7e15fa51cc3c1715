"""Files of users and their hashed passwords, as ``htpasswd -B`` writes them. Source: Presto's PasswordStore."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import pbkdf2_hmac
from pathlib import Path

import bcrypt

from coordinator.security.refreshed_file import read_text
from shared.properties import ConfigurationError

_LEAST_COST = 8
_LEAST_ITERATIONS = 1000
_MOST_BCRYPT_BYTES = 72
_BCRYPT = ("$2y$", "$2b$", "$2a$")


@dataclass(frozen=True, slots=True)
class BcryptHash:
    hashed: bytes

    def matches(self, password: str) -> bool:
        """bcrypt hears 72 bytes: a longer password is none, rather than as good as its beginning."""
        given = password.encode()
        if len(given) > _MOST_BCRYPT_BYTES or b"\0" in given:
            return False
        return bcrypt.checkpw(given, self.hashed)


@dataclass(frozen=True, slots=True)
class Pbkdf2Hash:
    """PBKDF2 with HMAC-SHA1, as Presto means it, or with HMAC-SHA256."""

    iterations: int
    salt: bytes
    hashed: bytes

    def matches(self, password: str) -> bool:
        def derived(algorithm: str) -> bytes:
            return pbkdf2_hmac(algorithm, password.encode(), self.salt, self.iterations, len(self.hashed))

        if "\0" in password:  # HMAC takes keys with and without zeros at the end for the same
            return False
        return any(hmac.compare_digest(derived(name), self.hashed) for name in ("sha1", "sha256"))


PasswordHash = BcryptHash | Pbkdf2Hash


def read_password_file(file: Path) -> Mapping[str, PasswordHash]:
    """The hash of each user's password; raises ConfigurationError with file and line, never with a hash."""
    users: dict[str, PasswordHash] = {}
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        user, separator, hashed = line.strip().partition(":")
        if not separator or not user:
            raise ConfigurationError(f"{where}: Expected two parts for user and password")
        if user in users:
            raise ConfigurationError(f"{where}: Duplicate user: {user}")
        users[user] = _hash(hashed, where)
    return users


def _hash(text: str, where: str) -> PasswordHash:
    if text.startswith(_BCRYPT):
        return _bcrypt(text, where)
    if ":" in text:
        return _pbkdf2(text, where)
    raise ConfigurationError(f"{where}: Password hashing algorithm cannot be determined")


def _bcrypt(text: str, where: str) -> BcryptHash:
    cost = text[4:6]
    if not cost.isdigit() or len(text) != 60:
        raise ConfigurationError(f"{where}: Invalid BCrypt password")
    if int(cost) < _LEAST_COST:
        raise ConfigurationError(f"{where}: Minimum cost of BCrypt password must be {_LEAST_COST}")
    return BcryptHash(text.encode("utf-8", "replace"))


def _pbkdf2(text: str, where: str) -> Pbkdf2Hash:
    parts = text.split(":")
    try:
        iterations, salt, hashed = int(parts[0]), bytes.fromhex(parts[1]), bytes.fromhex(parts[2])
    except (ValueError, IndexError) as error:
        raise ConfigurationError(f"{where}: Invalid PBKDF2 password") from error
    if len(parts) != 3 or not hashed:
        raise ConfigurationError(f"{where}: Invalid PBKDF2 password")
    if iterations < _LEAST_ITERATIONS:
        raise ConfigurationError(f"{where}: Minimum iterations of PBKDF2 password must be {_LEAST_ITERATIONS}")
    return Pbkdf2Hash(iterations, salt, hashed)

"""PASSWORD: ``Authorization: Basic`` against password files. Source: Presto's PasswordAuthenticator."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from coordinator.security.authentication.authenticator import Authenticated, AuthenticationError, Credentials
from coordinator.security.authentication.guess_limit import GuessLimit, source_of
from coordinator.security.authentication.ldap_directory import LdapDirectory
from coordinator.security.authentication.password_file import PasswordHash
from coordinator.security.authentication.user_mapping import UserMapping
from coordinator.security.refreshed_file import RefreshedFile

CHALLENGE = 'Basic realm="Presto"'
_INVALID = "Access Denied: Invalid credentials"
_FREE_OF_USER, _FREE_OF_ADDRESS = 5, 50
_MOST_WAITING = 100
"""Passwords that wait to be looked at: each takes a processor for a tenth of a second."""

Users = Mapping[str, PasswordHash]


class PasswordFile:
    """One file, and the right passwords that it has seen. They are known by a keyed digest alone."""

    def __init__(self, users: RefreshedFile[Users], cache_size: int) -> None:
        self._users, self._cache_size = users, cache_size
        self._key = secrets.token_bytes(32)
        self._seen: OrderedDict[bytes, PasswordHash] = OrderedDict()

    def hash_of(self, user: str) -> PasswordHash | None:
        return self._users.get().get(user)

    def any_hash(self) -> PasswordHash | None:
        """Somebody's, which takes as long to look at as that of others."""
        return next(iter(self._users.get().values()), None)

    def remembers(self, user: str, password: str) -> bool:
        """Whether this password was right, under the hash that the file still has."""
        known = self._seen.get(self._digest(user, password))
        return known is not None and known == self.hash_of(user)

    def remember(self, user: str, password: str, hashed: PasswordHash) -> None:
        self._seen[self._digest(user, password)] = hashed
        while len(self._seen) > self._cache_size:
            self._seen.popitem(last=False)

    def _digest(self, user: str, password: str) -> bytes:
        text = f"{len(user)}:{user}{password}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256)


class PasswordAuthenticator:
    """Asks each file in order. Belongs to one event loop; hashes are computed on threads of its own, two at a time."""

    def __init__(
        self, files: Sequence[PasswordFile], mapping: UserMapping, directories: Sequence[LdapDirectory] = ()
    ) -> None:
        """Files are asked before directories."""
        self._files, self._mapping, self._directories = tuple(files), mapping, tuple(directories)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="passwords")
        self._looking: dict[tuple[str, str, str | None], asyncio.Future[bool]] = {}
        self._of_user, self._of_address = GuessLimit(_FREE_OF_USER), GuessLimit(_FREE_OF_ADDRESS)

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        """Raises AuthenticationError, with Presto's texts."""
        given = credentials.basic(CHALLENGE)
        if given is None:
            raise AuthenticationError(challenge=CHALLENGE)
        user, password = given
        if not password:
            raise AuthenticationError("Malformed credentials: password is empty", CHALLENGE)
        sources: tuple[PasswordFile | LdapDirectory, ...] = (*self._files, *self._directories)
        if not any(source.remembers(user, password) for source in sources):
            await self._look_at(user, password, source_of(credentials.address))
        try:
            return Authenticated(user, self._mapping(user))
        except AuthenticationError as error:
            raise AuthenticationError(error.message, CHALLENGE) from error

    async def _look_at(self, user: str, password: str, address: str | None) -> None:
        """Raises AuthenticationError. The same guess made at the same time is looked at once."""
        guess = (user, password, address)
        looking = self._looking.get(guess)
        if looking is None:
            self._refuse_too_many(user, address)
            # Counted before it is known to be wrong, so that guesses side by side are no way around the limit.
            self._of_user.failed((user, address))
            looking = self._looking[guess] = asyncio.ensure_future(
                asyncio.get_running_loop().run_in_executor(self._threads, self._is_right, user, password)
            )
            looking.add_done_callback(lambda done: self._looked_at(guess, done))
        if not await asyncio.shield(looking):
            raise AuthenticationError(_INVALID, CHALLENGE)

    def _looked_at(self, guess: tuple[str, str, str | None], done: asyncio.Future[bool]) -> None:
        user, _, address = guess
        del self._looking[guess]
        if not done.cancelled() and done.exception() is None and done.result():
            self._of_user.succeeded((user, address))
        else:
            self._of_address.failed(address)

    def _refuse_too_many(self, user: str, address: str | None) -> None:
        wait = max(self._of_user.seconds_to_wait((user, address)), self._of_address.seconds_to_wait(address))
        if wait > 0:
            raise AuthenticationError(f"Too many wrong passwords; try again in {math.ceil(wait)} s", CHALLENGE)
        if len(self._looking) >= _MOST_WAITING:
            raise AuthenticationError("Too many passwords wait to be looked at; try again", CHALLENGE)

    def _is_right(self, user: str, password: str) -> bool:
        found = [(file, hashed) for file in self._files if (hashed := file.hash_of(user)) is not None]
        for file, hashed in found:
            if hashed.matches(password):
                file.remember(user, password, hashed)
                return True
        if any(directory.is_right(user, password) for directory in self._directories):
            return True
        # A user who is not there takes as long as one who is.
        somebody = next((hashed for file in self._files if (hashed := file.any_hash()) is not None), None)
        if not found and somebody is not None:
            somebody.matches(password)
        return False

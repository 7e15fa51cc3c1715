"""PASSWORD against an LDAP directory. Source: Presto's ``LdapAuthenticator`` and its settings.

The password is right when the directory lets the user in with it, and, where a pattern of groups is set, the search for
it finds the user.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import structlog

from coordinator.security.authentication.ldap_connections import Connect, connector, end
from coordinator.security.authentication.ldap_settings import LdapSettings

_log = structlog.get_logger(__name__)
_USER = "${USER}"
_SPECIAL = re.compile(r'[\x00-\x1f*()\\,=+<>#;"/|&!]')
"""What has a meaning in names or filters of LDAP: no user has it, so that none can be made of it."""
_MOST_KEPT = 1000


class LdapDirectory:
    """Blocks while it asks; ``remembers`` does not. Right passwords are known by a keyed digest, for a while."""

    def __init__(
        self, settings: LdapSettings, connect: Connect | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._monotonic = settings, monotonic
        self._connect = connect or connector(settings)
        self._key = secrets.token_bytes(32)
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def remembers(self, user: str, password: str) -> bool:
        """Whether the password was right not long ago."""
        until = self._seen.get(self._digest(user, password))
        return until is not None and until > self._monotonic()

    def is_right(self, user: str, password: str) -> bool:
        """False also where the directory cannot be asked, which is logged."""
        if not password or _SPECIAL.search(user):
            return False  # an empty password would be no login at all, and succeed
        from ldap3.core.exceptions import LDAPException

        try:
            right = self._by_search(user, password) if self._settings.bind_dn else self._by_pattern(user, password)
        except (LDAPException, OSError) as error:
            _log.error("LDAP cannot be asked", url=self._settings.url, reason=type(error).__name__)
            return False
        if right and self._settings.cache_ttl > 0:
            self._seen[self._digest(user, password)] = self._monotonic() + self._settings.cache_ttl
            while len(self._seen) > _MOST_KEPT:
                self._seen.popitem(last=False)
        return right

    def _by_pattern(self, user: str, password: str) -> bool:
        for pattern in (self._settings.user_bind_pattern or "").split(":"):
            connection = self._connect(pattern.replace(_USER, user), password)
            try:
                if connection.bind():
                    return self._settings.group_auth_pattern is None or len(self._found(connection, user)) > 0
            finally:
                end(connection)
        return False

    def _by_search(self, user: str, password: str) -> bool:
        settings = self._settings
        service = self._connect(settings.bind_dn or "", settings.bind_password or "")
        try:
            if not service.bind():
                _log.error("LDAP refuses ldap.bind-dn", url=settings.url)
                return False
            names = self._found(service, user)
        finally:
            end(service)
        if len(names) != 1:
            return False
        connection = self._connect(names[0], password)
        try:
            return bool(connection.bind())
        finally:
            end(connection)

    def _found(self, connection: Any, user: str) -> list[str]:
        """Distinguished names of what the pattern of groups finds."""
        search = (self._settings.group_auth_pattern or "").replace(_USER, user)
        connection.search(self._settings.user_base_dn, search, size_limit=2, time_limit=self._seconds)
        return [entry.entry_dn for entry in connection.entries]

    @property
    def _seconds(self) -> int:
        return max(1, round(self._settings.read_timeout))

    def _digest(self, user: str, password: str) -> bytes:
        text = f"{len(user)}:{user}{password}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, text, hashlib.sha256)

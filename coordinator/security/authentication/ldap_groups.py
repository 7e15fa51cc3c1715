"""Groups of users from an LDAP directory. Source: Trino's LDAP group provider and its settings."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import structlog

from coordinator.security.authentication.file_settings import in_case
from coordinator.security.authentication.ldap_connections import Connect, connector, end
from coordinator.security.authentication.ldap_settings import LdapGroupSettings
from shared.errors import ErrorCode, ProcessionError

_log = structlog.get_logger(__name__)
_MOST_KEPT = 10_000
_PLACE = "{0}"


class LdapGroups:
    """Blocks while it asks; ``remembers`` does not. Thread-safe: at worst two threads ask for the same user.

    Whose groups cannot be looked up is refused: rules may take something away from the members of a group.
    """

    def __init__(
        self,
        settings: LdapGroupSettings,
        connect: Connect | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._monotonic = settings, monotonic
        self._connect = connect or connector(settings)
        self._known: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()

    def remembers(self, user: str) -> bool:
        """Whether the answer is there without a look."""
        return self._known.get(user, (0.0, ()))[0] > self._monotonic()

    def __call__(self, user: str) -> tuple[str, ...]:
        """Raises ProcessionError."""
        from ldap3.core.exceptions import LDAPException

        until, groups = self._known.get(user, (0.0, ()))
        if until > self._monotonic():
            return groups
        try:
            groups = in_case(self._settings.group_case, self._asked(user))
        except (LDAPException, OSError) as error:
            _log.error("groups cannot be looked up", url=self._settings.url, reason=str(error) or type(error).__name__)
            raise ProcessionError(
                ErrorCode.PERMISSION_DENIED, "Access Denied: the groups of the user cannot be looked up"
            ) from error
        self._known[user] = self._monotonic() + self._settings.cache_ttl, groups
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return groups

    def _asked(self, user: str) -> list[str]:
        from ldap3.utils.conv import escape_filter_chars

        settings = self._settings
        connection = self._connect(settings.admin_user, settings.admin_password)
        try:
            if not connection.bind():
                raise OSError("the directory refuses ldap.admin-user")
            asked = [] if settings.member_of_attribute is None else [settings.member_of_attribute]
            search = settings.user_search_filter.replace(_PLACE, escape_filter_chars(user))
            users = self._found(connection, settings.user_base_dn, search, asked)
            if not users:
                return []
            if len(users) > 1:
                raise OSError("ldap.user-search-filter finds several users of one name")
            if settings.use_group_filter:
                return self._groups_with(connection, users[0]["dn"])
            named = _texts(users[0], settings.member_of_attribute or "")
            return [name for each in named if (name := _name_in(each, settings.group_name_attribute)) is not None]
        finally:
            end(connection)

    def _groups_with(self, connection: Any, member: str) -> list[str]:
        from ldap3.utils.conv import escape_filter_chars

        settings = self._settings
        search = f"(&{settings.group_search_filter or ''}({settings.member_attribute}={escape_filter_chars(member)}))"
        found = self._found(connection, settings.group_base_dn or "", search, [settings.group_name_attribute])
        return [name for each in found for name in _texts(each, settings.group_name_attribute)]

    def _found(self, connection: Any, base: str, search: str, attributes: list[str]) -> list[dict[str, Any]]:
        """Raises OSError for an answer that is not whole."""
        limit = max(1, round(self._settings.read_timeout))
        connection.search(base, search, attributes=attributes, time_limit=limit)
        if connection.result["result"] != 0:
            raise OSError(f"the directory answers {connection.result['description']}")
        return [each for each in connection.response or () if each.get("type") == "searchResEntry"]


def _texts(entry: dict[str, Any], attribute: str) -> list[str]:
    """Values of an attribute, whose name the directory may write in another case."""
    by_name = {name.lower(): value for name, value in entry["attributes"].items()}
    found = by_name.get(attribute.lower(), [])
    return [str(each) for each in (found if isinstance(found, list) else [found])]


def _name_in(distinguished: str, attribute: str) -> str | None:
    """``lake`` of ``cn=lake,ou=groups``."""
    from ldap3.utils.dn import parse_dn

    parts = parse_dn(distinguished)
    return next((value for name, value, _ in parts if name.lower() == attribute.lower()), None)

"""access-control.name=file. Source: Presto's and Trino's FileBasedSystemAccessControl.

The first rule that matches decides. A section that is absent allows, but for impersonation and system information; one
that is there and has no rule for somebody denies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import TypeVar

from coordinator.security.access_control.rules import CatalogAccess, PrincipalRule, Rules
from coordinator.security.authentication.user_mapping import expanded
from shared.spi.access_control import AccessDeniedError, Identity

R = TypeVar("R")
_ANYBODY = re.compile(".*", re.DOTALL)


class FileRules:
    """``rules`` gives the newest."""

    def __init__(self, rules: Callable[[], Rules]) -> None:
        self._rules = rules

    def check_can_set_user(self, principal: str | None, user: str) -> None:
        rules = self._rules().principals
        if rules is None:
            return
        for rule in rules:
            found = rule.principal.compiled.fullmatch(principal or "")
            if found is not None and _becomes(rule, found, user):
                if rule.allow:
                    return
                break
        raise AccessDeniedError(f"Principal {principal} cannot become user {user}")

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        rules = self._rules()
        if rules.impersonation is None and rules.principals is not None:
            return  # check_can_set_user has decided
        for rule in rules.impersonation or ():
            original = _ANYBODY if rule.original_user is None else rule.original_user.compiled
            found = original.fullmatch(identity.user)
            if found is None or rule.original_role is not None or not _is_new_user(rule.new_user, found, user):
                continue
            if rule.allow:
                return
            break
        raise AccessDeniedError(f"User {identity.user} cannot impersonate user {user}")

    def check_can_execute_query(self, identity: Identity) -> None:
        rules = self._rules().queries
        if rules is None:
            return
        mine = next((rule for rule in rules if rule.is_for(identity) and rule.queryOwner is None), None)
        if mine is None or "execute" not in mine.allow:
            raise AccessDeniedError("Cannot execute query")

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        if not self._may_touch(identity, owner, "view"):
            raise AccessDeniedError("Cannot view query")

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None:
        if not self._may_touch(identity, owner, "kill"):
            raise AccessDeniedError("Cannot kill query")

    def check_can_read_system_information(self, identity: Identity) -> None:
        if not self._may_information(identity, "read"):
            raise AccessDeniedError("Cannot read system information")

    def check_can_write_system_information(self, identity: Identity) -> None:
        if not self._may_information(identity, "write"):
            raise AccessDeniedError("Cannot write system information")

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None:
        rules = self._rules().system_session_properties
        if rules is None:
            return
        mine = (r for r in rules if r.is_for(identity) and (r.property is None or r.property.matches(name)))
        if not any(rule.allow for rule in _first(mine)):
            raise AccessDeniedError(f"Cannot set system session property {name}")

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None:
        self.check_can_access_catalog(identity, catalog, changes=False)
        rules = self._rules().catalog_session_properties
        if rules is None:
            return
        mine = (
            rule
            for rule in rules
            if rule.is_for(identity)
            and (rule.catalog is None or rule.catalog.matches(catalog))
            and (rule.property is None or rule.property.matches(name))
        )
        if not any(rule.allow for rule in _first(mine)):
            raise AccessDeniedError(f"Cannot set catalog session property {catalog}.{name}")

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:
        access = self._catalog_access(identity, catalog)
        if access == "none" or (changes and access != "all"):
            raise AccessDeniedError(f"Cannot access catalog {catalog}")

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:
        return frozenset(name for name in catalogs if self._catalog_access(identity, name) != "none")

    def _catalog_access(self, identity: Identity, catalog: str) -> CatalogAccess:
        rules = self._rules().catalogs
        if rules is None:
            return "all"
        for rule in rules:
            if rule.is_for(identity) and (rule.catalog is None or rule.catalog.matches(catalog)):
                return rule.access
        return "all" if catalog == "system" else "none"

    def _may_touch(self, identity: Identity, owner: Identity, what: str) -> bool:
        rules = self._rules().queries
        if rules is None or identity.user == owner.user:
            return True
        mine = (r for r in rules if r.is_for(identity) and (r.queryOwner is None or r.queryOwner.matches(owner.user)))
        return any(what in rule.allow for rule in _first(mine))

    def _may_information(self, identity: Identity, what: str) -> bool:
        mine = (rule for rule in self._rules().system_information or () if rule.is_for(identity))
        return any(what in rule.allow for rule in _first(mine))


def _becomes(rule: PrincipalRule, found: re.Match[str], user: str) -> bool:
    if rule.user is not None and rule.user.matches(user):
        return True
    return rule.principal_to_user is not None and expanded(rule.principal_to_user, found) == user


def _is_new_user(pattern: str, original: re.Match[str], user: str) -> bool:
    """``$1`` stands for what the first group of ``original_user`` matched, as a text and not as a pattern."""
    try:
        filled = re.sub(r"\$(\d)", lambda found: re.escape(original.group(int(found[1])) or ""), pattern)
        return re.fullmatch(filled, user) is not None
    except (re.error, IndexError):
        return False


def _first(rules: Iterable[R]) -> tuple[R, ...]:
    """The rule that decides, if there is one."""
    return tuple(islice(rules, 1))

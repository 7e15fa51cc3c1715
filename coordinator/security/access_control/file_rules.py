"""access-control.name=file. Source: Presto's and Trino's FileBasedSystemAccessControl.

The first rule that matches decides. A section that is absent allows, but for impersonation and system information; one
that is there and has no rule for somebody denies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from coordinator.security.access_control.denials import denied
from coordinator.security.access_control.object_decisions import ObjectDecisions
from coordinator.security.access_control.rules import CatalogAccess, PrincipalRule, Rules
from coordinator.security.authentication.user_mapping import expanded
from shared.errors import ProcessionError
from shared.spi.access_control import AccessDeniedError, Identity, ViewExpression
from shared.spi.accesses import Access, CatalogManagement, TableName, catalog_of

R = TypeVar("R")
RolesOf = Callable[[Identity, str], frozenset[str]]
"""The roles that an identity uses in a catalog."""
_Decided = tuple[Identity, frozenset[str]]
_MOST_IDENTITIES = 200
_ANYBODY = re.compile(".*", re.DOTALL)


def no_roles(_identity: Identity, _catalog: str) -> frozenset[str]:
    """Of catalogs that keep none."""
    return frozenset()


class FileRules:
    """``rules`` gives the newest; ``roles`` is asked only where rules name any."""

    def __init__(self, rules: Callable[[], Rules], roles: RolesOf = no_roles) -> None:
        self._rules, self._roles_of = rules, roles
        self._naming: tuple[Rules | None, bool] = (None, False)
        self._decided: tuple[Rules | None, dict[_Decided, ObjectDecisions]] = (None, {})

    @property
    def rules_version(self) -> str | None:
        """None where roles matter, which the catalogs' databases know."""
        rules = self._rules()
        return None if self._name_roles(rules) and self._roles_of is not no_roles else rules.version

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
            if found is None or not _is_new_user(rule.new_user, found, user):
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
        of_file = self._rules()
        rules = of_file.catalog_session_properties
        if rules is None:
            return
        roles = self._roles(of_file, identity, catalog)
        mine = (
            rule
            for rule in rules
            if rule.is_for(identity, roles)
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
        return frozenset(name for name in catalogs if self._shows(identity, name))

    def check_access(self, identity: Identity, access: Access) -> None:
        if isinstance(access, CatalogManagement):
            self._check_management(identity, access)
            return
        self._objects(identity, catalog_of(access)).check(access)

    def _check_management(self, identity: Identity, access: CatalogManagement) -> None:
        """A catalog reaches whatever the coordinator does: beside the catalog itself, one must manage the node."""
        if self._catalog_access(identity, access.catalog) != "all":
            raise denied(access, "catalogs")
        if not self._may_information(identity, "write"):
            raise denied(access, "system_information")

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:
        objects = self._objects(identity, catalog)
        return frozenset(schema for schema in schemas if objects.sees_schema(catalog, schema))

    def filter_tables(
        self, identity: Identity, catalog: str, tables: Collection[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        objects = self._objects(identity, catalog)
        return frozenset(each for each in tables if objects.sees_table(TableName(catalog, each[0], each[1])))

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:
        objects = self._objects(identity, table.catalog)
        if not objects.sees_table(table):
            return frozenset()
        hidden = objects.hidden_columns(table)
        return frozenset(column for column in columns if column.lower() not in hidden)

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:
        return self._objects(identity, table.catalog).row_filters(table)

    def column_masks(
        self, identity: Identity, table: TableName, columns: Collection[str]
    ) -> Mapping[str, ViewExpression]:
        masks = self._objects(identity, table.catalog).column_masks(table)
        return {column: masks[column.lower()] for column in columns if column.lower() in masks}

    def _objects(self, identity: Identity, catalog: str) -> ObjectDecisions:
        """Kept for as long as the rules are the same: most rules are for others."""
        rules = self._rules()
        of_rules, known = self._decided
        if of_rules is not rules or len(known) > _MOST_IDENTITIES:
            known = {}
            self._decided = (rules, known)
        roles = self._roles(rules, identity, catalog)
        found = known.get((identity, roles))
        if found is None:
            catalogs = partial(_access_of, rules, identity, roles)
            found = known[identity, roles] = ObjectDecisions(rules, identity, catalogs, roles)
        return found

    def _roles(self, rules: Rules, identity: Identity, catalog: str) -> frozenset[str]:
        return self._roles_of(identity, catalog) if self._name_roles(rules) else frozenset()

    def _name_roles(self, rules: Rules) -> bool:
        """Found out once: there may be thousands of rules."""
        of_rules, known = self._naming
        if of_rules is not rules:
            known = rules.name_roles
            self._naming = (rules, known)
        return known

    def _catalog_access(self, identity: Identity, catalog: str) -> CatalogAccess:
        rules = self._rules()
        named = self._name_roles(rules) and any(rule.role is not None for rule in rules.catalogs or ())
        return _access_of(rules, identity, self._roles(rules, identity, catalog) if named else frozenset(), catalog)

    def _shows(self, identity: Identity, catalog: str) -> bool:
        """A catalog that cannot be asked for roles is hidden, and no other one with it."""
        try:
            return self._catalog_access(identity, catalog) != "none"
        except ProcessionError:
            return False

    def _may_touch(self, identity: Identity, owner: Identity, what: str) -> bool:
        rules = self._rules().queries
        if rules is None or identity.user == owner.user:
            return True
        mine = (r for r in rules if r.is_for(identity) and (r.queryOwner is None or r.queryOwner.matches(owner.user)))
        return any(what in rule.allow for rule in _first(mine))

    def _may_information(self, identity: Identity, what: str) -> bool:
        mine = (rule for rule in self._rules().system_information or () if rule.is_for(identity))
        return any(what in rule.allow for rule in _first(mine))


def _access_of(of_file: Rules, identity: Identity, roles: frozenset[str], catalog: str) -> CatalogAccess:
    rules = of_file.catalogs
    if rules is None:
        return "all"
    for rule in rules:
        if rule.is_for(identity, roles) and (rule.catalog is None or rule.catalog.matches(catalog)):
            return rule.access
    return "all" if catalog == "system" else "none"


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

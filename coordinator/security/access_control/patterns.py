"""What every rule begins with: whom it is for, as patterns over whole names."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from coordinator.security.java_pattern import java_pattern
from shared.spi.access_control import Identity


class Pattern:
    """A whole match, as rules mean it."""

    __slots__ = ("compiled",)

    def __init__(self, text: str) -> None:
        try:
            self.compiled = java_pattern(text)
        except re.error as error:
            raise ValueError(f"not a valid regular expression: {text}: {error}") from error

    def matches(self, text: str) -> bool:
        return self.compiled.fullmatch(text) is not None


class Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    user: Pattern | None = None
    group: Pattern | None = None
    role: Pattern | None = None

    def is_for(self, identity: Identity, roles: Collection[str] = ()) -> bool:
        """``roles`` are those that the identity uses in the catalog that the rule is asked about."""
        if self.user is not None and not self.user.matches(identity.user):
            return False
        if self.role is not None and not any(map(self.role.matches, roles)):
            return False
        return self.group is None or any(map(self.group.matches, identity.groups))

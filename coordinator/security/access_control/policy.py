"""The access control with what it needs to know of users that are not the ones who ask: owners of views, say."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.security.access_control.built_in import AllowAll, OwnQueries
from coordinator.security.access_control.catalog_controls import CatalogControls
from coordinator.security.authentication.groups import GroupsOf, no_groups
from shared.spi.access_control import Identity, SystemAccessControl


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Of one process."""

    control: SystemAccessControl = field(default_factory=AllowAll)
    groups_of: GroupsOf = no_groups

    @property
    def hides_objects(self) -> bool:
        """Whether some objects may be hidden from some."""
        if isinstance(self.control, CatalogControls):
            return self.control.hides_objects
        return type(self.control) not in (AllowAll, OwnQueries)

    def identity_of(self, user: str) -> Identity:
        """Somebody who is not there."""
        return Identity(user, groups=self.groups_of(user))

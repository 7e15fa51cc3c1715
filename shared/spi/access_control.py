"""SystemAccessControl: may this identity do that. Checks raise; filters leave out. Source: Trino's SPI of this name.

Registered under the entry point group ``procession.access_controls``: a function from the properties of the file,
beside ``access-control.name``, to a SystemAccessControl.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks. ``principal`` is whom an authenticator has let in, None where nobody is authenticated."""

    user: str
    principal: str | None = None
    groups: tuple[str, ...] = ()


def identity_of_session(session: Session) -> Identity:
    """Whom statements of the session are from."""
    return Identity(session.user, session.principal, session.groups)


class AccessDeniedError(ProcessionError):
    """PERMISSION_DENIED with Presto's prefix."""

    def __init__(self, problem: str) -> None:
        super().__init__(ErrorCode.PERMISSION_DENIED, f"Access Denied: {problem}")


class SystemAccessControl(Protocol):
    """One source of rules. Asked on the event loop: whatever takes time is to be done before."""

    def check_can_set_user(self, principal: str | None, user: str) -> None:
        """Whether whom an authenticator let in may be this user at all; asked for every request of theirs."""

    def check_can_impersonate_user(self, identity: Identity, user: str) -> None:
        """``identity`` is the authenticated one; asked only where ``user`` is another."""

    def check_can_execute_query(self, identity: Identity) -> None: ...

    def check_can_view_query_owned_by(self, identity: Identity, owner: Identity) -> None: ...

    def check_can_kill_query_owned_by(self, identity: Identity, owner: Identity) -> None: ...

    def check_can_read_system_information(self, identity: Identity) -> None: ...

    def check_can_write_system_information(self, identity: Identity) -> None: ...

    def check_can_set_system_session_property(self, identity: Identity, name: str) -> None: ...

    def check_can_set_catalog_session_property(self, identity: Identity, catalog: str, name: str) -> None: ...

    def check_can_access_catalog(self, identity: Identity, catalog: str, *, changes: bool) -> None:
        """``changes``: by a statement that does more than read."""

    def filter_catalogs(self, identity: Identity, catalogs: Collection[str]) -> frozenset[str]:
        """Those of ``catalogs`` that the identity may see."""
        ...


AccessControlFactory = Callable[[Mapping[str, str]], SystemAccessControl]

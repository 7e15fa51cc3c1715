"""Which queries a user may see and end, asked once for each owner, on any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from coordinator.dispatch.query import Query
from coordinator.server.query_access import owner_of
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl


class Visible:
    """Of one request."""

    def __init__(self, control: SystemAccessControl, identity: Identity) -> None:
        self._control, self._identity = control, identity
        self._seen: dict[tuple[str, str | None, tuple[str, ...]], bool] = {}

    def may_see(self, owner: Identity) -> bool:
        """Whether statements of ``owner`` may be shown."""
        return self._allows(lambda: self._control.check_can_view_query_owned_by(self._identity, owner))

    def may_kill(self, owner: Identity) -> bool:
        """Whether the button is offered; the request itself is checked again."""
        return self._allows(lambda: self._control.check_can_kill_query_owned_by(self._identity, owner))

    def of(self, queries: Iterable[Query]) -> Iterator[Query]:
        """Those that may be shown."""
        for query in queries:
            session = query.session
            key = (session.user, session.principal, session.groups)
            if key not in self._seen:
                self._seen[key] = self.may_see(owner_of(query))
            if self._seen[key]:
                yield query

    def _allows(self, check: Callable[[], None]) -> bool:
        try:
            check()
        except ProcessionError:
            return False
        return True

"""Who may see and end whose queries, and the node: the access control as HTTP answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import Request

from coordinator.dispatch.query import Query
from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.off_loop import asked
from coordinator.server.authentication import authenticated_identity, identity_of
from coordinator.server.problems import ProblemError
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session


@dataclass(frozen=True, slots=True)
class QueryAccess:
    """Checks raise ProblemError (403)."""

    control: SystemAccessControl
    denied: Callable[[ProcessionError, Identity | None], None] = audit
    """Told of each refusal."""
    done: Callable[[str, str, Identity], None] = lambda _access, _subject, _identity: None
    """Told of each query that is about to be ended, and of each change of the node."""

    async def check_view(self, request: Request, query: Query) -> None:
        await self._check(request, lambda asks: self.control.check_can_view_query_owned_by(asks, owner_of(query)))

    async def check_kill(self, request: Request, query: Query) -> None:
        await self._check(request, lambda asks: self.control.check_can_kill_query_owned_by(asks, owner_of(query)))
        self.done("KillQueryOwnedBy", query.id, identity_of(request))

    async def check_read_information(self, request: Request) -> None:
        await self._check(request, self.control.check_can_read_system_information)

    async def check_write_information(self, request: Request) -> None:
        await self._check(request, self.control.check_can_write_system_information)
        self.done("WriteSystemInformation", request.url.path, identity_of(request))

    async def may_read_information(self, request: Request) -> bool:
        """The same as an answer, for a page that shows less to others; nobody is told of it."""
        identity = identity_of(request)

        def allowed() -> bool:
            try:
                self.control.check_can_read_system_information(identity)
            except ProcessionError:
                return False
            return True

        return await asked(self.control, allowed)

    async def visible(self, request: Request, queries: Iterable[Query]) -> list[Query]:
        """Those that the user may see."""
        identity, found = identity_of(request), list(queries)
        return await asked(self.control, lambda: [query for query in found if self._is_visible(identity, query)])

    async def _check(self, request: Request, check: Callable[[Identity], None]) -> None:
        identity = identity_of(request)
        try:
            await asked(self.control, lambda: check(identity))
        except ProcessionError as error:
            self.denied(error, identity)
            raise ProblemError(403, error.message) from error

    def _is_visible(self, identity: Identity, query: Query) -> bool:
        try:
            self.control.check_can_view_query_owned_by(identity, owner_of(query))
        except ProcessionError:
            return False
        return True


def owner_of(query: Query) -> Identity:
    return identity_of_session(query.session)


def is_stranger(request: Request, query: Query) -> bool:
    """Whether somebody else sent the query: then its id and slug are of no use.

    The principal counts and not the user, since clients need not repeat whom they act as.
    """
    identity = authenticated_identity(request)
    return identity is not None and identity.principal != query.session.principal

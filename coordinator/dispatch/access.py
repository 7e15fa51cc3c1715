"""What a planned statement does to catalogs, asked of the access control before it may queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import assert_never

from coordinator.dispatch.ports import StatementPlanner
from coordinator.security.access_control.audit import audit
from coordinator.security.access_control.off_loop import asked
from coordinator.security.session_property_manager import SessionPropertyManager
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    CallProcedure,
    ChangeCatalog,
    ExplainAnalyze,
    ExplainNative,
    FetchRows,
    ManageCatalog,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    RunOnSpark,
    SelectRows,
    Work,
    WriteRows,
)
from shared.errors import ProcessionError
from shared.spi.access_control import AccessDeniedError, SystemAccessControl, identity_of_session
from shared.spi.session import Session

NOTHING_GIVEN = SessionPropertyManager()


def admitted(
    control: SystemAccessControl,
    session: Session,
    catalogs: Collection[str],
    given: SessionPropertyManager = NOTHING_GIVEN,
) -> Session:
    """The session with the catalogs that its statements may name, and with properties that the configuration gives.

    Raises ProcessionError if it may run no statement at all.
    """
    identity = identity_of_session(session)
    try:
        control.check_can_execute_query(identity)
        for name, value in session.properties.items():
            if session.given_properties.get(name) == value:
                continue  # of a query that is run again
            control.check_can_set_system_session_property(identity, name)
        for catalog, properties in session.catalog_properties.items():
            for name in properties:
                control.check_can_set_catalog_session_property(identity, catalog, name)
    except AccessDeniedError as error:
        audit(error, identity, session.query_id)
        raise
    visible = control.filter_catalogs(identity, catalogs)
    session = given.applied(session)
    return session if visible >= set(catalogs) else replace(session, accessible_catalogs=tuple(sorted(visible)))


class AuthorizedPlanner:
    """A planner whose statements change only catalogs that the session may change.

    Which it may name at all, planning itself looks at.
    """

    def __init__(self, planner: StatementPlanner, control: SystemAccessControl) -> None:
        self._planner, self._control = planner, control

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        """Raises ProcessionError."""
        try:
            planned = await self._planner.plan(text, session)
            changed = changed_catalog(planned.work)
            if changed is not None:
                identity = identity_of_session(session)
                check = partial(self._control.check_can_access_catalog, identity, changed, changes=True)
                await asked(self._control, check)
        except AccessDeniedError as error:
            audit(error, identity_of_session(session), session.query_id)
            raise
        return planned


def changed_catalog(work: Work) -> str | None:
    """The catalog that running ``work`` may change."""
    match work:
        case CallProcedure() | ChangeCatalog() | AnalyzeTable():
            return work.catalog
        case WriteRows():
            return work.write.catalog
        case ExplainAnalyze():
            return changed_catalog(work.work)
        case ManageCatalog():
            return None  # planning has asked: the catalog may not be there yet
        case ReturnRows() | RunLocally() | SelectRows() | RunOnSpark() | FetchRows() | ExplainNative():
            return None
        case _:
            assert_never(work)


def may_view(control: SystemAccessControl, session: Session | None, owner: Session) -> bool:
    """Whether a statement of ``session`` may see one of ``owner``; None is the coordinator itself."""
    if session is None:
        return True
    try:
        control.check_can_view_query_owned_by(identity_of_session(session), identity_of_session(owner))
    except ProcessionError:
        return False
    return True


def check_kill(control: SystemAccessControl, session: Session, owner: Session) -> None:
    """Raises AccessDeniedError unless a statement of ``session`` may end one of ``owner``."""
    control.check_can_kill_query_owned_by(identity_of_session(session), identity_of_session(owner))

"""SystemAccessControl: may this identity do that. Checks raise; filters leave out. Source: Trino's SPI of this name.

Registered under the entry point group ``procession.access_controls``: a function from the properties of the file,
beside ``access-control.name``, to a SystemAccessControl.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.errors import ErrorCode, ProcessionError
from shared.spi.accesses import Access, TableName
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks. ``principal`` is whom an authenticator has let in, None where nobody is authenticated."""

    user: str
    principal: str | None = None
    groups: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    """``ROLE{name}``, ``ALL`` or ``NONE`` by catalog, where the client has chosen."""


def identity_of_session(session: Session) -> Identity:
    """Whom statements of the session are from."""
    return Identity(session.user, session.principal, session.groups, tuple(sorted(session.roles.items())))


class AccessDeniedError(ProcessionError):
    """PERMISSION_DENIED with Presto's prefix. For the log alone: ``rule``, what decided; ``access`` to ``subject``."""

    def __init__(
        self, problem: str, rule: str | None = None, access: str | None = None, subject: str | None = None
    ) -> None:
        super().__init__(ErrorCode.PERMISSION_DENIED, f"Access Denied: {problem}")
        self.problem = problem
        self.rule = rule
        self.access = access
        self.subject = subject

    def __reduce__(self) -> tuple[object, ...]:
        return (AccessDeniedError, (self.problem, self.rule, self.access, self.subject))


@dataclass(frozen=True, slots=True)
class ViewExpression:
    """A row filter or column mask: an expression over one table, analyzed for ``user`` (None: for who asks).

    Names of tables in its subqueries are completed by ``catalog`` and ``schema``.
    """

    expression: str
    user: str | None = None
    catalog: str | None = None
    schema: str | None = None


class SystemAccessControl(Protocol):
    """One source of rules.

    What concerns queries, users and catalogs is asked on the event loop, where nothing may take long; what concerns
    objects (``check_access`` and below) in planner processes, which each have an access control of their own, and on
    threads.
    """

    @property
    def rules_version(self) -> str | None:
        """What changes when an answer may. None: any time, so that nothing that depends on an answer is kept."""

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

    def check_access(self, identity: Identity, access: Access) -> None:
        """Whether the identity may do that to an object. Raises AccessDeniedError."""

    def filter_schemas(self, identity: Identity, catalog: str, schemas: Collection[str]) -> frozenset[str]:
        """Those that the identity may see."""
        ...

    def filter_tables(
        self, identity: Identity, catalog: str, tables: Collection[tuple[str, str]]
    ) -> frozenset[tuple[str, str]]:
        """Those pairs of schema and table (or view) that the identity may see."""
        ...

    def filter_columns(self, identity: Identity, table: TableName, columns: Collection[str]) -> frozenset[str]:
        """Those that the identity may see."""
        ...

    def row_filters(self, identity: Identity, table: TableName) -> Sequence[ViewExpression]:
        """What must be true of the rows that the identity reads of a table or view."""
        ...

    def column_masks(
        self, identity: Identity, table: TableName, columns: Collection[str]
    ) -> Mapping[str, ViewExpression]:
        """What the identity reads instead of columns, which may come as a mapping to their types."""
        ...


AccessControlFactory = Callable[[Mapping[str, str]], SystemAccessControl]

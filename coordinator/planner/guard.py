"""What a statement asks of the access control while it is planned, in one place.

What its words say is asked before its tables are looked at (``statement_accesses``), so that a refusal tells nothing of
them; which columns it reads is known, and asked, at its end. Source of rules: Presto's ``StatementAnalyzer``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from coordinator.connectors.registry import Catalogs
from coordinator.security.access_control.denials import denied
from coordinator.security.access_control.policy import AccessPolicy
from coordinator.security.current_session import may_use_catalog
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi import accesses as of
from shared.spi.access_control import AccessDeniedError, Identity, ViewExpression, identity_of_session
from shared.spi.grants import Principal
from shared.spi.session import Session

_RESTRICTED = {
    of.InsertIntoTable: "Insert into table with {} is not supported",
    of.DeleteFromTable: "Delete from table with {} is not supported",
    of.TruncateTable: "Truncate of table with {} is not supported",
    of.UpdateTableColumns: "Updating a table with {} is not supported",
}


PATHS = ("$path", "_file")
"""The hidden columns with the file of a row."""


@dataclass(frozen=True, slots=True)
class Reader:
    """As whom a relation is read; ``hands_on``: a view's owner reads for somebody else."""

    identity: Identity
    hands_on: bool = False


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table or view of FROM: its columns by the names of their variables, and the names that expressions mean."""

    table: of.TableName
    columns: Mapping[str, str]
    references: set[str]
    reader: Reader
    optional: bool = False
    """Whether only what is named is read, as of the table that DELETE changes."""
    masked: frozenset[str] = frozenset()
    """Columns in whose place the reader sees something else."""
    path_tells: tuple[str, ...] = ()
    """Columns whose values stand in paths of files."""


class Guard:
    """Of one statement."""

    def __init__(
        self,
        policy: AccessPolicy,
        session: Session,
        columns_of: Callable[[of.TableName], Sequence[str]] = lambda _table: (),
        base_name: Callable[[of.TableName], of.TableName] = lambda table: table,
    ) -> None:
        """``columns_of``: the columns of a table, none where there is none; ``base_name``: what a name means."""
        self._policy = policy
        self._base_name = base_name
        self._columns_of = columns_of
        self._reads: list[TableRead] = []
        self._asked: dict[of.AskedAccess, None] = {}
        self.reader = Reader(identity_of_session(session))

    @property
    def asked(self) -> tuple[of.AskedAccess, ...]:
        """Everything that was asked, in its order."""
        return tuple(self._asked)

    @property
    def hides(self) -> bool:
        """Whether rules may keep rows or values from somebody."""
        return self._policy.hides_objects

    @property
    def rules_version(self) -> str | None:
        return self._policy.control.rules_version

    def ask(self, *accesses: of.Access) -> None:
        """Raises AccessDeniedError; NOT_SUPPORTED where rows would be written that the user cannot see."""
        for access in map(self._plain, accesses):
            self._check(access, self.reader.identity)
            if isinstance(access, of.InsertIntoTable | of.DeleteFromTable | of.TruncateTable | of.UpdateTableColumns):
                restriction = self.restriction(access.table)
                if restriction is not None:
                    raise ProcessionError(
                        ErrorCode.NOT_SUPPORTED,
                        _RESTRICTED[type(access)].format(restriction),
                        location=ErrorLocation(1, 1),
                    )

    def ask_of_session_property(self, name: Sequence[str]) -> None:
        """Of SET SESSION. Raises AccessDeniedError."""
        control, identity = self._policy.control, self.reader.identity
        if len(name) == 1:
            control.check_can_set_system_session_property(identity, name[0])
        else:
            control.check_can_set_catalog_session_property(identity, name[0], name[1])

    def ask_to_run_as(self, view: of.TableName, user: str) -> None:
        """Whether who asks may make a view read as ``user``: as themselves, or as whom they may act as anyway.

        Raises AccessDeniedError.
        """
        identity, control = self.reader.identity, self._policy.control
        if user == identity.user:
            return
        try:
            control.check_can_set_user(identity.principal, user)
            control.check_can_impersonate_user(identity, user)
        except AccessDeniedError as error:
            refused = denied(of.SetViewAuthorization(view, Principal("USER", user)), error.rule or "impersonation")
            problem = f"{refused.problem}: the view would run as {user}"
            raise AccessDeniedError(problem, refused.rule, refused.access, refused.subject) from error

    def read(self, read: TableRead) -> None:
        """A relation of the statement."""
        self._reads.append(read)

    def read_in_vain(self, table: of.TableName, reader: Reader) -> None:
        """A name that stands for no relation, of a table that may be hidden: which versions it has is told of it."""
        self._reads.append(TableRead(self._base_name(table), {}, set(), reader))

    def owner(self, user: str, reader: Reader) -> Reader:
        """A view's owner, reading for ``reader``."""
        return reader if user == reader.identity.user else Reader(self._policy.identity_of(user), hands_on=True)

    def reader_named(self, user: str) -> Reader:
        """Whom a row filter or mask is analyzed for."""
        return Reader(self._policy.identity_of(user))

    def row_filters(self, table: of.TableName, reader: Reader) -> Sequence[ViewExpression]:
        return self._policy.control.row_filters(reader.identity, table) if self._policy.hides_objects else ()

    def column_masks(
        self, table: of.TableName, columns: Collection[str], reader: Reader
    ) -> Mapping[str, ViewExpression]:
        """By the names of columns; ``columns`` may be a mapping to their types."""
        return self._policy.control.column_masks(reader.identity, table, columns) if self._policy.hides_objects else {}

    def restriction(self, table: of.TableName) -> str | None:
        """What keeps rows or values of the table from who asks: a row filter, or column masks."""
        if not self._policy.hides_objects:
            return None
        control, identity = self._policy.control, self.reader.identity
        if control.row_filters(identity, table):
            return "row filter"
        return "column masks" if control.column_masks(identity, table, self._columns_of(table)) else None

    def settle(self) -> None:
        """Asks for all that was read. Raises AccessDeniedError."""
        merged: dict[tuple[of.TableName, Reader], dict[str, None]] = {}
        for read in self._reads:
            named = {column: None for variable, column in read.columns.items() if variable in read.references}
            if named_paths := tuple(name for name in PATHS if name in named):
                _check_paths_told(read, named_paths)
                named |= dict.fromkeys(read.path_tells)
            if named or not read.optional:
                merged.setdefault((read.table, read.reader), {}).update(named)
        self._reads.clear()
        for (table, reader), columns in merged.items():
            kind = of.CreateViewWithSelectFromColumns if reader.hands_on else of.SelectFromColumns
            self._check(kind(table, tuple(columns)), reader.identity)

    def _plain(self, access: of.Access) -> of.Access:
        """The access with the names of tables for those that ask for something of a table: catalogs know which."""
        names: dict[str, Any] = {
            key: self._base_name(value)
            for key in ("table", "view", "new_name")
            if isinstance(value := getattr(access, key, None), of.TableName)
        }
        return replace(access, **names)

    def _check(self, access: of.Access, identity: Identity) -> None:
        asked = of.AskedAccess(access, identity.user)
        if asked in self._asked:
            return
        catalog = of.catalog_of(access)
        # One that is to be made is in nobody's list yet: rules alone decide.
        if not isinstance(access, of.CreateCatalog) and not may_use_catalog(catalog):
            raise AccessDeniedError(f"Cannot access catalog {catalog}", "catalogs: none")
        self._policy.control.check_access(identity, access)
        self._asked[asked] = None


def _check_paths_told(read: TableRead, named_paths: tuple[str, ...]) -> None:
    """Paths of files tell the values by which a table is, or was, partitioned. Raises AccessDeniedError."""
    if read.masked.intersection(read.path_tells):
        raise denied(of.SelectFromColumns(read.table, named_paths), f"{read.table} has column masks")


def columns_of(catalogs: Catalogs, table: of.TableName) -> tuple[str, ...]:
    """Those that are not hidden, in small letters; none where there is no such table."""
    try:
        found = catalogs.connector(table.catalog).table(table.schema, table.table)
    except ProcessionError:
        return ()
    return () if found is None else tuple(column.name.lower() for column in found.columns if not column.hidden)


def guard_of(session: Session, catalogs: Catalogs) -> Guard:
    """The guard of one statement."""
    return Guard(catalogs.access, session, partial(columns_of, catalogs), partial(_base_name, catalogs))


def _base_name(catalogs: Catalogs, table: of.TableName) -> of.TableName:
    try:
        meaning = catalogs.capabilities(table.catalog).base_name
    except ProcessionError:
        return table  # there is no such catalog
    return table if meaning is None else replace(table, table=meaning(table.table))


_GUARD: ContextVar[Guard | None] = ContextVar("guard", default=None)


@contextmanager
def guarding(guard: Guard) -> Iterator[None]:
    """Meanwhile, on this thread, planning asks ``guard``; at the end it asks for what was read.

    A statement that is wrong is told so only where it may read what it names.
    """
    token = _GUARD.set(guard)
    try:
        yield
    except ProcessionError:
        guard.settle()
        raise
    else:
        guard.settle()
    finally:
        _GUARD.reset(token)


def current_guard(session: Session) -> Guard:
    """That of the statement; one that allows everything where nobody is planned for."""
    return _GUARD.get() or Guard(AccessPolicy(), session)

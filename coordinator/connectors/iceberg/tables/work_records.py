"""Records of work that is under way: in an SQLite file of this coordinator, or in a database that several share.

There each record has an owner, one start of one coordinator. What it left open when it ended becomes another's, in one
step; a coordinator that was only suspended can from then on change, commit and close nothing of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.values.shared_work import SharedWork
from shared.errors import ErrorCode

_LOG = logging.getLogger(__name__)
SHARED = sa.MetaData()
"""The tables of the shared database."""
Row = sa.RowMapping
Key = Mapping[str, str]
_Open = Callable[[sa.Table], sa.ColumnElement[bool]]


class TakenOverError(NotCommittedError):
    """Other coordinators took this one for gone, and one of them has its work: nothing of it may be committed."""


def shared_form(table: sa.Table) -> sa.Table:
    """The same table in the shared database. ``taken``: its owner did not begin the work, and is to settle it."""
    made = table.to_metadata(SHARED, name=f"work_{table.name}")
    made.append_column(sa.Column("owner", sa.String(5), nullable=False, index=True))
    made.append_column(sa.Column("taken", sa.Boolean, nullable=False, server_default=sa.false()))
    return made


class WorkPlace:
    """Where the records of one catalog are; thread-safe. The file is made on first use."""

    def __init__(self, catalog: str, file: Path) -> None:
        self.catalog = catalog
        self.file = file
        self.shared: SharedWork | None = None
        self._engine: sa.Engine | None = None
        self._made: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def begin(self, local: sa.Table) -> Iterator[sa.Connection]:
        """A transaction. Raises SQLAlchemy's errors; NotCommittedError where the shared database is away."""
        if self.shared is None:
            with self.file_engine(local).begin() as connection:
                yield connection
            return
        try:
            with self.shared.engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            message = f"The database of the coordinators cannot be reached, so that nothing is committed: {reason}"
            raise NotCommittedError(ErrorCode.ICEBERG_COMMIT_ERROR, message, retriable=True) from error

    def file_engine(self, local: sa.Table) -> sa.Engine:
        """Of the coordinator's own file."""
        with self._lock:
            if self._engine is None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self._engine = sa.create_engine(f"sqlite:///{self.file}", poolclass=sa.NullPool)
            if local.name not in self._made:
                with self._engine.begin() as connection:  # of several that begin, one makes it
                    connection.execute(sa.schema.CreateTable(local, if_not_exists=True))
                self._made.add(local.name)
            return self._engine


class WorkRecords:
    """The records of one kind; thread-safe, each write durable on return. ``is_open`` tells the unfinished ones."""

    def __init__(self, place: WorkPlace, local: sa.Table, is_open: _Open = lambda _table: sa.true()) -> None:
        self._place, self._local, self._is_open = place, local, is_open
        self._over = SHARED.tables[f"work_{local.name}"]
        self._owed: list[tuple[Key, Mapping[str, str] | None]] = []
        """Closings that the shared database was away for."""

    @property
    def _table(self) -> sa.Table:
        return self._local if self._place.shared is None else self._over

    def add(self, values: Mapping[str, object]) -> None:
        """Raises NotCommittedError where the shared database is away, or takes this coordinator for gone."""
        shared = self._place.shared
        mine = {} if shared is None else {"owner": shared.owner}
        with self._place.begin(self._local) as connection:
            _check_lives(connection, shared)
            connection.execute(sa.insert(self._table).values(**values, **mine))

    def change(self, key: Key, values: Mapping[str, str]) -> None:
        """Raises TakenOverError for a record that is another's now."""
        with self._place.begin(self._local) as connection:
            changed = connection.execute(sa.update(self._table).where(*self._of(key)).values(**values)).rowcount
        if not changed and self._place.shared is not None:
            raise _taken_over(key)

    def check(self, key: Key) -> None:
        """Raises TakenOverError for a record that is another's now.

        NotCommittedError where that cannot be told, or may change at any moment: others take this coordinator for gone.
        """
        if self._place.shared is None:
            return
        with self._place.begin(self._local) as connection:
            if not self._is_mine(connection, key):
                raise _taken_over(key)
            _check_lives(connection, self._place.shared)

    def is_mine(self, key: Key) -> bool:
        """Whether an open record is this coordinator's still. Raises NotCommittedError where that cannot be told."""
        if self._place.shared is None:
            return True
        with self._place.begin(self._local) as connection:
            return self._is_mine(connection, key)

    def _is_mine(self, connection: sa.Connection, key: Key) -> bool:
        # What this coordinator took back from another is its recovery's, and nobody else's.
        begun_here = sa.select(sa.literal(1)).where(*self._of(key), ~self._over.c.taken)
        return connection.execute(begun_here).scalar() is not None

    def settle(self, key: Key, values: Mapping[str, str] | None = None) -> None:
        """Take a record away, or give it its last state: what is another's now stays as it is.

        Where the shared database is away that is done later, since the work itself is over.
        """
        try:
            self._settle(key, values)
        except NotCommittedError as error:
            _LOG.warning("The record of %s stays open for now: %s", dict(key), error.message)
            self._owed.append((key, values))

    def _settle(self, key: Key, values: Mapping[str, str] | None) -> None:
        its_row = self._of(key)
        change = sa.delete(self._table) if values is None else sa.update(self._table).values(**values)
        with self._place.begin(self._local) as connection:
            connection.execute(change.where(*its_row))

    def open_rows(self, *order: str) -> Sequence[Row]:
        """What an earlier coordinator left: of the shared database, what ``take_over`` has given this one."""
        shared = self._place.shared
        if shared is None and not self._place.file.exists():
            return []
        while self._owed:
            self._settle(*self._owed[0])
            del self._owed[0]
        table = self._table
        wanted = sa.select(table).where(table.c.catalog == self._place.catalog, self._is_open(table))
        if shared is not None:
            wanted = wanted.where(table.c.owner == shared.owner, table.c.taken)
        with self._place.begin(self._local) as connection:
            return connection.execute(wanted.order_by(*(table.c[name] for name in order))).mappings().all()

    def row(self, key: Key) -> Row | None:
        """One record, whosever it is."""
        wanted = sa.select(self._table).where(*(self._table.c[name] == value for name, value in key.items()))
        with self._place.begin(self._local) as connection:
            return connection.execute(wanted).mappings().one_or_none()

    def taken_over(self, key: Key) -> Row | None:
        """A record that another coordinator has to settle, or has settled; None for one of this coordinator's own."""
        shared = self._place.shared
        row = None if shared is None else self.row(key)
        return None if row is None or shared is None or row["owner"] == shared.owner else row

    def unowned(self, shared: SharedWork) -> sa.ColumnElement[bool]:
        """Of the shared table: open records of this catalog whose coordinator has ended."""
        its_own = (self._over.c.catalog == self._place.catalog) & self._is_open(self._over)
        return its_own & (self._over.c.owner != shared.owner) & shared.has_ended(self._over.c.owner)

    def take_over(self, connection: sa.Connection, shared: SharedWork) -> int:
        """Make those this coordinator's; how many."""
        taken = sa.update(self._over).where(self.unowned(shared)).values(owner=shared.owner, taken=True)
        return connection.execute(taken).rowcount

    def move_from_file(self, shared: SharedWork) -> None:
        """Give the shared database what the coordinator's own file had before there was one; nobody owns it yet."""
        if not self._place.file.exists():
            return
        wanted = sa.select(self._local).where(self._local.c.catalog == self._place.catalog, self._is_open(self._local))
        with self._place.file_engine(self._local).begin() as here:
            rows = here.execute(wanted).mappings().all()
            with shared.engine.begin() as there:
                for row in rows:
                    there.execute(insert(self._over).values(**row, owner="", taken=True).on_conflict_do_nothing())
            for row in rows:
                keys = [column == row[column.name] for column in self._local.primary_key]
                here.execute(sa.delete(self._local).where(*keys))

    def _of(self, key: Key) -> list[sa.ColumnElement[bool]]:
        table, shared = self._table, self._place.shared
        mine = [] if shared is None else [table.c.owner == shared.owner]
        return [*(table.c[name] == value for name, value in key.items()), *mine]


def _check_lives(connection: sa.Connection, shared: SharedWork | None) -> None:
    """Whoever is taken for gone loses what it begins, or has begun, without being asked."""
    if shared is None or connection.execute(sa.select(shared.lives())).scalar():
        return
    message = "The other coordinators take this one for gone, so that nothing is committed until it is heard of again"
    raise NotCommittedError(ErrorCode.ICEBERG_COMMIT_ERROR, message, retriable=True)


def _taken_over(key: Key) -> TakenOverError:
    named = ", ".join(key.values())
    message = (
        "Other coordinators took this one for gone, and one of them has undone or finished its work "
        f"({named}): nothing more of it is committed"
    )
    return TakenOverError(ErrorCode.ICEBERG_COMMIT_ERROR, message, retriable=True)

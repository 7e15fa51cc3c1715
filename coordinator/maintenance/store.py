"""What maintenance remembers beyond a restart, in a database file of its own. Thread-safe; methods block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from coordinator.maintenance.decisions import ASSUMED_RATE, Past
from coordinator.maintenance.rates import MOST_JOBS, REWRITE, measured_rate
from coordinator.maintenance.records import Decision, Look, MaintenanceJob, Pause, Spent, TableKey
from coordinator.values.migrations import migrate

R = TypeVar("R", Look, Decision, MaintenanceJob, Pause)
_KEY = ("catalog", "schema", "table")
_LOCK = 0x6D61696E
_SUFFIX = 5


def _key_columns(*, primary: bool) -> list[Column[object]]:
    return [Column(name, String, primary_key=primary, nullable=False) for name in _KEY]


@dataclass(frozen=True, slots=True)
class _Tables:
    metadata: MetaData
    looks: Table
    decisions: Table
    jobs: Table
    pauses: Table
    scans: Table


def _tables(prefix: str) -> _Tables:
    """``prefix`` where other rooms have tables beside them."""
    metadata = MetaData()
    looks = Table(
        f"{prefix}looks",
        metadata,
        *_key_columns(primary=True),
        *(Column(name, String, nullable=False) for name in ("uuid", "marker", "worst_partition", "policy", "state")),
        *(
            Column(name, BigInteger, nullable=False)
            for name in (
                "health", "worst", "files", "files_needed", "small_files", "delete_files", "size", "snapshots",
                "manifests", "appended", "rewritten",
            )
        ),
        Column("deleted_ratio", Float, nullable=False),
        Column("overlap_depth", BigInteger, nullable=False, server_default="0"),
        Column("reason", String, nullable=False),
        Column("looked", String, nullable=False),
        Column("next_look", String, nullable=False),
        Column("waiting_since", String),
    )  # fmt: skip
    decisions = Table(
        f"{prefix}decisions",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("moment", String, nullable=False, index=True),
        *_key_columns(primary=False),
        *(Column(name, String, nullable=False) for name in ("step", "verdict", "reason")),
        Column("priority", Float, nullable=False),
        Column("size", BigInteger, nullable=False),
        Column("seconds", Float, nullable=False),
    )
    pauses = Table(
        f"{prefix}pauses",
        metadata,
        Column("scope", String, primary_key=True),
        *(Column(name, String, nullable=False) for name in ("by", "since", "reason")),
    )
    scans = Table(
        f"{prefix}scans",
        metadata,
        Column("day", String, primary_key=True),
        *_key_columns(primary=True),
        Column("scans", BigInteger, nullable=False),
    )
    return _Tables(metadata, looks, decisions, _jobs(prefix, metadata), pauses, scans)


def _jobs(prefix: str, metadata: MetaData) -> Table:
    return Table(
        f"{prefix}jobs",
        metadata,
        Column("job_id", String, primary_key=True),
        *_key_columns(primary=False),
        *(Column(name, String, nullable=False) for name in ("procedure", "trigger", "state")),
        Column("started", String, nullable=False, index=True),
        Column("ended", String),
        Column("estimated_size", BigInteger, nullable=False),
        Column("estimated_seconds", Float, nullable=False),
        Column("files_before", BigInteger),
        Column("files_after", BigInteger),
        Column("size_before", BigInteger),
        Column("size_after", BigInteger),
        Column("error", String),
        Index(f"{prefix}jobs_of_table", *_KEY, "started"),
    )


class SharedDatabase(Protocol):
    """That of several coordinators (``SharedWork``)."""

    @property
    def engine(self) -> Engine: ...

    def has_ended(self, owner: ColumnElement[str]) -> ColumnElement[bool]:
        """Whether the coordinator whose query ids end so is gone."""
        ...


_MOMENTS = frozenset({"looked", "next_look", "waiting_since", "moment", "started", "ended", "since"})


class MaintenanceStore:
    """One coordinator's, in a file that is made on first use, or that of several. Raises SQLAlchemyError."""

    def __init__(self, home: Path | SharedDatabase) -> None:
        self._home = home
        self._made = False
        self._lock = threading.Lock()
        self._upsert: Callable[[Table], sqlite.Insert | postgresql.Insert]
        if isinstance(home, Path):
            self._tables, self._upsert = _tables(""), sqlite.insert
            self._engine = create_engine(f"sqlite:///{home}")
            event.listen(self._engine, "connect", _durable)
        else:
            self._tables, self._upsert, self._engine = _tables("maintenance_"), postgresql.insert, home.engine

    @property
    def shared(self) -> bool:
        """Whether other coordinators remember here too."""
        return not isinstance(self._home, Path)

    def close(self) -> None:
        if isinstance(self._home, Path):
            self._engine.dispose()

    def look(self, key: TableKey) -> Look | None:
        """The last look at a table."""
        return next(iter(self.looks(key)), None)

    def looks(self, key: TableKey | None = None) -> list[Look]:
        """The last look at every table, or at one."""
        query = (
            select(self._tables.looks)
            if key is None
            else select(self._tables.looks).where(_is(self._tables.looks, key))
        )
        return [_record(Look, row) for row in self._read(query)]

    def save_look(self, look: Look, decisions: Sequence[Decision]) -> None:
        """A look and what was decided by it, or nothing."""
        values = _values(look)
        statement = (
            self._upsert(self._tables.looks)
            .values(values)
            .on_conflict_do_update(index_elements=list(_KEY), set_=values)
        )
        with self._writing() as connection:
            connection.execute(statement)
            if decisions:
                connection.execute(insert(self._tables.decisions), [_values(decision) for decision in decisions])

    def save_decision(self, decision: Decision) -> None:
        with self._writing() as connection:
            connection.execute(insert(self._tables.decisions), [_values(decision)])

    def forget_table(self, key: TableKey) -> None:
        """The table is gone; what was decided and done stays as history."""
        with self._writing() as connection:
            connection.execute(delete(self._tables.looks).where(_is(self._tables.looks, key)))

    def decisions(self, limit: int) -> list[Decision]:
        """The newest first."""
        query = select(self._tables.decisions).order_by(self._tables.decisions.c.id.desc()).limit(limit)
        return [_record(Decision, row) for row in self._read(query)]

    def save_job(self, job: MaintenanceJob) -> None:
        values = _values(job)
        statement = (
            self._upsert(self._tables.jobs).values(values).on_conflict_do_update(index_elements=["job_id"], set_=values)
        )
        with self._writing() as connection:
            connection.execute(statement)

    def jobs(self, limit: int, key: TableKey | None = None) -> list[MaintenanceJob]:
        """The newest first."""
        query = select(self._tables.jobs).order_by(self._tables.jobs.c.started.desc()).limit(limit)
        if key is not None:
            query = query.where(_is(self._tables.jobs, key))
        return [_record(MaintenanceJob, row) for row in self._read(query)]

    def lose_running(self, now: datetime) -> int:
        """Jobs that a coordinator left when it died; how many they were."""
        jobs = self._tables.jobs
        statement = update(jobs).where(jobs.c.state == "RUNNING")
        if not isinstance(self._home, Path):
            # Those of the others run on: the end of a query's id says whose it is.
            statement = statement.where(self._home.has_ended(func.right(jobs.c.job_id, _SUFFIX)))
        with self._writing() as connection:
            return connection.execute(statement.values(state="LOST", ended=now.isoformat())).rowcount

    def past(self, key: TableKey, now: datetime) -> Past:
        """What is remembered of a table, for its next decision."""
        jobs = self.jobs(50, key)
        good = [job for job in jobs if job.state == "FINISHED"]
        last = {name: next((job.started for job in good if job.procedure == name), None) for name in _REMEMBERED}
        setbacks = [job for job in _until_success(jobs) if job.state in ("FAILED", "LOST")]
        rate = measured_rate(self._rewrites(key.catalog))
        return Past(
            self._scans_per_day(key, now),
            last["rewrite_data_files"],
            last["remove_orphan_files"],
            last["expire_partitions"],
            setbacks[0].started if setbacks else None,
            len(setbacks),
            ASSUMED_RATE if rate is None else rate,
            rate is not None,
        )

    def _rewrites(self, catalog: str) -> list[MaintenanceJob]:
        """The newest that ended well."""
        jobs = self._tables.jobs
        of_catalog = (jobs.c.catalog == catalog) & (jobs.c.procedure == REWRITE) & (jobs.c.state == "FINISHED")
        query = select(jobs).where(of_catalog).order_by(jobs.c.started.desc()).limit(MOST_JOBS)
        return [_record(MaintenanceJob, row) for row in self._read(query)]

    def spent(self, since: datetime, key: TableKey | None = None) -> Spent:
        """What jobs that began since then took, running ones by their estimate."""
        query = select(self._tables.jobs).where(self._tables.jobs.c.started >= since.isoformat())
        if key is not None:
            query = query.where(_is(self._tables.jobs, key))
        jobs = [_record(MaintenanceJob, row) for row in self._read(query)]
        seconds = sum(job.estimated_seconds if job.seconds is None else job.seconds for job in jobs)
        return Spent(sum(job.estimated_size for job in jobs), seconds, len(jobs))

    def pauses(self) -> list[Pause]:
        return [
            _record(Pause, row) for row in self._read(select(self._tables.pauses).order_by(self._tables.pauses.c.scope))
        ]

    def pause(self, pause: Pause) -> None:
        values = _values(pause)
        statement = (
            self._upsert(self._tables.pauses)
            .values(values)
            .on_conflict_do_update(index_elements=["scope"], set_=values)
        )
        with self._writing() as connection:
            connection.execute(statement)

    def resume(self, scope: str) -> bool:
        """False when the scope was not paused."""
        with self._writing() as connection:
            return (
                connection.execute(delete(self._tables.pauses).where(self._tables.pauses.c.scope == scope)).rowcount > 0
            )

    def count_scans(self, day: date, scans: Sequence[tuple[TableKey, int]]) -> None:
        """Add scans of tables by statements; always in one order, so that no two coordinators wait for each other."""
        with self._writing() as connection:
            for key, number in sorted(scans, key=lambda each: astuple(each[0])):
                values = {"day": day.isoformat(), **asdict(key), "scans": number}
                added = {"scans": self._tables.scans.c.scans + number}
                connection.execute(
                    self._upsert(self._tables.scans)
                    .values(values)
                    .on_conflict_do_update(index_elements=["day", *_KEY], set_=added)
                )

    def clear(self, before: datetime) -> None:
        """Forget what is older."""
        text = before.isoformat()
        with self._writing() as connection:
            connection.execute(delete(self._tables.decisions).where(self._tables.decisions.c.moment < text))
            connection.execute(
                delete(self._tables.jobs).where(
                    self._tables.jobs.c.started < text, self._tables.jobs.c.state != "RUNNING"
                )
            )
            connection.execute(delete(self._tables.scans).where(self._tables.scans.c.day < before.date().isoformat()))

    def _scans_per_day(self, key: TableKey, now: datetime) -> float | None:
        since = (now - timedelta(days=7)).date().isoformat()
        query = select(func.sum(self._tables.scans.c.scans), func.min(self._tables.scans.c.day)).where(
            _is(self._tables.scans, key), self._tables.scans.c.day >= since
        )
        total, first = self._read(query)[0]
        if total is None:
            return None
        return float(total) / max(1, (now.date() - date.fromisoformat(first)).days + 1)

    def _read(self, query: Any) -> Sequence[Any]:
        self._make()
        with self._engine.connect() as connection:
            return connection.execute(query).all()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        self._make()
        with self._lock, self._engine.begin() as connection:
            yield connection

    def _make(self) -> None:
        if self._made:
            return
        with self._lock:
            if isinstance(self._home, Path):
                self._home.parent.mkdir(parents=True, exist_ok=True)
                self._tables.metadata.create_all(self._engine)
                with self._engine.begin() as connection:
                    _add_missing(connection)
            else:
                steps = (self._tables.metadata.create_all, _add_sizes)
                migrate(self._engine, "maintenance_migrations", steps, _LOCK)
            self._made = True


_REMEMBERED = ("rewrite_data_files", "remove_orphan_files", "expire_partitions")


def _add_missing(connection: Connection) -> None:
    """A file of an earlier release lacks what was added since."""
    known = {row.name for row in connection.execute(text("PRAGMA table_info(looks)"))}
    if "overlap_depth" not in known:
        connection.execute(text("ALTER TABLE looks ADD COLUMN overlap_depth INTEGER NOT NULL DEFAULT 0"))
    known = {row.name for row in connection.execute(text("PRAGMA table_info(jobs)"))}
    for name in ("size_before", "size_after"):
        if name not in known:
            connection.execute(text(f"ALTER TABLE jobs ADD COLUMN {name} BIGINT"))


def _add_sizes(connection: Connection) -> None:
    for name in ("size_before", "size_after"):
        connection.execute(text(f"ALTER TABLE maintenance_jobs ADD COLUMN IF NOT EXISTS {name} BIGINT"))


def _until_success(jobs: Sequence[MaintenanceJob]) -> Iterator[MaintenanceJob]:
    for job in jobs:
        if job.state == "FINISHED":
            return
        yield job


def _is(table: Table, key: TableKey) -> Any:
    return (table.c.catalog == key.catalog) & (table.c.schema == key.schema) & (table.c.table == key.table)


def _values(record: Look | Decision | MaintenanceJob | Pause) -> dict[str, object]:
    values = asdict(record)
    values.update(values.pop("key", {}))
    return {name: v.isoformat() if isinstance(v, datetime) else v for name, v in values.items()}


def _record(type_: type[R], row: Any) -> R:
    values = dict(row._mapping)
    for name in _MOMENTS & values.keys():
        if values[name] is not None:
            values[name] = datetime.fromisoformat(values[name]).astimezone(UTC)
    if "catalog" in values:
        values["key"] = TableKey(*(values.pop(name) for name in _KEY))
    names = {field.name for field in fields(type_)}
    return type_(**{name: value for name, value in values.items() if name in names})


def _durable(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()

"""What maintenance remembers beyond a restart, in a database file of its own. Thread-safe; methods block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Engine,
    Float,
    Table,
    cast,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from coordinator.maintenance.questions import ASSUMED_RATE, Past
from coordinator.maintenance.rates import MOST_JOBS, REWRITE, measured_rate
from coordinator.maintenance.records import Decision, Look, MaintenanceJob, Mark, Pause, Spent, TableKey
from coordinator.maintenance.store_tables import KEY, add_missing, add_sizes, store_tables
from coordinator.values.migrations import migrate

R = TypeVar("R", Look, Decision, MaintenanceJob, Pause)
MOST_DECISIONS = 200_000
"""Some 60 MB, however often thousands of tables change their minds."""
_DAY_SECONDS = 86400.0
_LOCK = 0x6D61696E
_SUFFIX = 5


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
            self._tables, self._upsert = store_tables(""), sqlite.insert
            self._engine = create_engine(f"sqlite:///{home}")
            event.listen(self._engine, "connect", _durable)
        else:
            self._tables, self._upsert, self._engine = store_tables("maintenance_"), postgresql.insert, home.engine

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

    def marks(self) -> dict[TableKey, Mark]:
        """How the last look found every table."""
        looks = self._tables.looks.c
        query = select(looks.catalog, looks.schema, looks.table, looks.marker, looks.state, looks.next_look)
        return {
            TableKey(*row[:3]): Mark(row[3], row[4], datetime.fromisoformat(row[5]).astimezone(UTC))
            for row in self._read(query)
        }

    def save_look(self, look: Look, decisions: Sequence[Decision]) -> None:
        """A look and what was decided by it, or nothing."""
        values = _values(look)
        statement = (
            self._upsert(self._tables.looks).values(values).on_conflict_do_update(index_elements=list(KEY), set_=values)
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
            self.scans_per_day(now, key).get(key),
            last["rewrite_data_files"],
            last["remove_orphan_files"],
            last["expire_partitions"],
            last["convert_equality_deletes"],
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
        jobs = self._tables.jobs
        query = select(func.sum(jobs.c.estimated_size), func.sum(self._seconds()), func.count()).where(
            jobs.c.started >= since.isoformat()
        )
        if key is not None:
            query = query.where(_is(jobs, key))
        size, seconds, count = self._read(query)[0]
        return Spent(int(size or 0), round(float(seconds or 0.0), 3), count)

    def seconds_by_table(self, since: datetime) -> dict[TableKey, float]:
        """What the jobs of each table took that began since then, running ones by their estimate."""
        jobs = self._tables.jobs
        names = [jobs.c[name] for name in KEY]
        query = select(*names, func.sum(self._seconds())).where(jobs.c.started >= since.isoformat()).group_by(*names)
        return {TableKey(*row[:3]): round(float(row[3]), 3) for row in self._read(query)}

    def _seconds(self) -> ColumnElement[float]:
        """Of a job; moments are texts with their zone."""
        jobs = self._tables.jobs.c
        taken: ColumnElement[float]
        if isinstance(self._home, Path):
            taken = (func.julianday(jobs.ended) - func.julianday(jobs.started)) * _DAY_SECONDS
        else:
            ended, started = (cast(text, DateTime(timezone=True)) for text in (jobs.ended, jobs.started))
            taken = cast(func.extract("epoch", ended - started), Float)
        return func.coalesce(taken, jobs.estimated_seconds)

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
                    .on_conflict_do_update(index_elements=["day", *KEY], set_=added)
                )

    def clear(self, before: datetime) -> None:
        """Forget what is older, and decisions beyond the newest ``MOST_DECISIONS``."""
        text = before.isoformat()
        with self._writing() as connection:
            decisions = self._tables.decisions
            newest = connection.execute(select(func.max(decisions.c.id))).scalar()
            old = decisions.c.id <= (newest or 0) - MOST_DECISIONS
            connection.execute(delete(decisions).where((decisions.c.moment < text) | old))
            connection.execute(
                delete(self._tables.jobs).where(
                    self._tables.jobs.c.started < text, self._tables.jobs.c.state != "RUNNING"
                )
            )
            connection.execute(delete(self._tables.scans).where(self._tables.scans.c.day < before.date().isoformat()))

    def scans_per_day(self, now: datetime, key: TableKey | None = None) -> dict[TableKey, float]:
        """Of the last seven days, of the tables that were scanned, or of one."""
        scans, since = self._tables.scans, (now - timedelta(days=7)).date().isoformat()
        names = [scans.c[name] for name in KEY]
        query = select(*names, func.sum(scans.c.scans), func.min(scans.c.day)).where(scans.c.day >= since)
        if key is not None:
            query = query.where(_is(scans, key))
        return {
            TableKey(*row[:3]): float(row[3]) / max(1, (now.date() - date.fromisoformat(row[4])).days + 1)
            for row in self._read(query.group_by(*names))
        }

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
                    add_missing(connection)
            else:
                steps = (self._tables.metadata.create_all, add_sizes)
                migrate(self._engine, "maintenance_migrations", steps, _LOCK)
            self._made = True


_REMEMBERED = ("rewrite_data_files", "remove_orphan_files", "expire_partitions", "convert_equality_deletes")


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
        values["key"] = TableKey(*(values.pop(name) for name in KEY))
    names = {field.name for field in fields(type_)}
    return type_(**{name: value for name, value in values.items() if name in names})


def _durable(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()

"""What maintenance remembers beyond a restart, in a database file of its own. Thread-safe; methods block."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
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
from sqlalchemy.dialects.sqlite import insert as upsert

from coordinator.maintenance.decisions import Past
from coordinator.maintenance.records import Decision, Look, MaintenanceJob, Pause, Spent, TableKey

R = TypeVar("R", Look, Decision, MaintenanceJob, Pause)
_METADATA = MetaData()
_KEY = ("catalog", "schema", "table")


def _key_columns(*, primary: bool) -> list[Column[object]]:
    return [Column(name, String, primary_key=primary, nullable=False) for name in _KEY]


_LOOKS = Table(
    "looks",
    _METADATA,
    *_key_columns(primary=True),
    *(Column(name, String, nullable=False) for name in ("uuid", "marker", "worst_partition", "policy", "state")),
    *(
        Column(name, Integer, nullable=False)
        for name in (
            "health", "worst", "files", "files_needed", "small_files", "delete_files", "size", "snapshots",
            "manifests", "appended", "rewritten",
        )
    ),
    Column("deleted_ratio", Float, nullable=False),
    Column("overlap_depth", Integer, nullable=False, server_default="0"),
    Column("reason", String, nullable=False),
    Column("looked", String, nullable=False),
    Column("next_look", String, nullable=False),
    Column("waiting_since", String),
)  # fmt: skip
_DECISIONS = Table(
    "decisions",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("moment", String, nullable=False, index=True),
    *_key_columns(primary=False),
    *(Column(name, String, nullable=False) for name in ("step", "verdict", "reason")),
    Column("priority", Float, nullable=False),
    Column("size", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
)
_JOBS = Table(
    "jobs",
    _METADATA,
    Column("job_id", String, primary_key=True),
    *_key_columns(primary=False),
    *(Column(name, String, nullable=False) for name in ("procedure", "trigger", "state")),
    Column("started", String, nullable=False, index=True),
    Column("ended", String),
    Column("estimated_size", Integer, nullable=False),
    Column("estimated_seconds", Float, nullable=False),
    Column("files_before", Integer),
    Column("files_after", Integer),
    Column("error", String),
    Index("jobs_of_table", *_KEY, "started"),
)
_PAUSES = Table(
    "pauses",
    _METADATA,
    Column("scope", String, primary_key=True),
    *(Column(name, String, nullable=False) for name in ("by", "since", "reason")),
)
_SCANS = Table(
    "scans",
    _METADATA,
    Column("day", String, primary_key=True),
    *_key_columns(primary=True),
    Column("scans", Integer, nullable=False),
)
_MOMENTS = frozenset({"looked", "next_look", "waiting_since", "moment", "started", "ended", "since"})


class MaintenanceStore:
    """One coordinator's; the file is made on first use. Raises SQLAlchemyError."""

    def __init__(self, file: Path) -> None:
        self._engine = create_engine(f"sqlite:///{file}")
        self._file = file
        self._made = False
        self._lock = threading.Lock()
        event.listen(self._engine, "connect", _durable)

    def close(self) -> None:
        self._engine.dispose()

    def look(self, key: TableKey) -> Look | None:
        """The last look at a table."""
        return next(iter(self.looks(key)), None)

    def looks(self, key: TableKey | None = None) -> list[Look]:
        """The last look at every table, or at one."""
        query = select(_LOOKS) if key is None else select(_LOOKS).where(_is(_LOOKS, key))
        return [_record(Look, row) for row in self._read(query)]

    def save_look(self, look: Look, decisions: Sequence[Decision]) -> None:
        """A look and what was decided by it, or nothing."""
        values = _values(look)
        statement = upsert(_LOOKS).values(values).on_conflict_do_update(index_elements=list(_KEY), set_=values)
        with self._writing() as connection:
            connection.execute(statement)
            if decisions:
                connection.execute(insert(_DECISIONS), [_values(decision) for decision in decisions])

    def save_decision(self, decision: Decision) -> None:
        with self._writing() as connection:
            connection.execute(insert(_DECISIONS), [_values(decision)])

    def forget_table(self, key: TableKey) -> None:
        """The table is gone; what was decided and done stays as history."""
        with self._writing() as connection:
            connection.execute(delete(_LOOKS).where(_is(_LOOKS, key)))

    def decisions(self, limit: int) -> list[Decision]:
        """The newest first."""
        query = select(_DECISIONS).order_by(_DECISIONS.c.id.desc()).limit(limit)
        return [_record(Decision, row) for row in self._read(query)]

    def save_job(self, job: MaintenanceJob) -> None:
        values = _values(job)
        statement = upsert(_JOBS).values(values).on_conflict_do_update(index_elements=["job_id"], set_=values)
        with self._writing() as connection:
            connection.execute(statement)

    def jobs(self, limit: int, key: TableKey | None = None) -> list[MaintenanceJob]:
        """The newest first."""
        query = select(_JOBS).order_by(_JOBS.c.started.desc()).limit(limit)
        if key is not None:
            query = query.where(_is(_JOBS, key))
        return [_record(MaintenanceJob, row) for row in self._read(query)]

    def lose_running(self, now: datetime) -> int:
        """Jobs that a coordinator left when it died; how many they were."""
        statement = update(_JOBS).where(_JOBS.c.state == "RUNNING")
        with self._writing() as connection:
            return connection.execute(statement.values(state="LOST", ended=now.isoformat())).rowcount

    def past(self, key: TableKey, now: datetime) -> Past:
        """What is remembered of a table, for its next decision."""
        jobs = self.jobs(50, key)
        good = [job for job in jobs if job.state == "FINISHED"]
        last = {name: next((job.started for job in good if job.procedure == name), None) for name in _REMEMBERED}
        setbacks = [job for job in _until_success(jobs) if job.state in ("FAILED", "LOST")]
        return Past(
            self._scans_per_day(key, now),
            last["rewrite_data_files"],
            last["remove_orphan_files"],
            last["expire_partitions"],
            setbacks[0].started if setbacks else None,
            len(setbacks),
        )

    def spent(self, since: datetime, key: TableKey | None = None) -> Spent:
        """What jobs that began since then took, running ones by their estimate."""
        query = select(_JOBS).where(_JOBS.c.started >= since.isoformat())
        if key is not None:
            query = query.where(_is(_JOBS, key))
        jobs = [_record(MaintenanceJob, row) for row in self._read(query)]
        seconds = sum(job.estimated_seconds if job.seconds is None else job.seconds for job in jobs)
        return Spent(sum(job.estimated_size for job in jobs), seconds, len(jobs))

    def pauses(self) -> list[Pause]:
        return [_record(Pause, row) for row in self._read(select(_PAUSES).order_by(_PAUSES.c.scope))]

    def pause(self, pause: Pause) -> None:
        values = _values(pause)
        statement = upsert(_PAUSES).values(values).on_conflict_do_update(index_elements=["scope"], set_=values)
        with self._writing() as connection:
            connection.execute(statement)

    def resume(self, scope: str) -> bool:
        """False when the scope was not paused."""
        with self._writing() as connection:
            return connection.execute(delete(_PAUSES).where(_PAUSES.c.scope == scope)).rowcount > 0

    def count_scans(self, day: date, scans: Sequence[tuple[TableKey, int]]) -> None:
        """Add scans of tables by statements."""
        with self._writing() as connection:
            for key, number in scans:
                values = {"day": day.isoformat(), **asdict(key), "scans": number}
                added = {"scans": _SCANS.c.scans + number}
                connection.execute(
                    upsert(_SCANS).values(values).on_conflict_do_update(index_elements=["day", *_KEY], set_=added)
                )

    def clear(self, before: datetime) -> None:
        """Forget what is older."""
        text = before.isoformat()
        with self._writing() as connection:
            connection.execute(delete(_DECISIONS).where(_DECISIONS.c.moment < text))
            connection.execute(delete(_JOBS).where(_JOBS.c.started < text, _JOBS.c.state != "RUNNING"))
            connection.execute(delete(_SCANS).where(_SCANS.c.day < before.date().isoformat()))

    def _scans_per_day(self, key: TableKey, now: datetime) -> float | None:
        since = (now - timedelta(days=7)).date().isoformat()
        query = select(func.sum(_SCANS.c.scans), func.min(_SCANS.c.day)).where(_is(_SCANS, key), _SCANS.c.day >= since)
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
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            _METADATA.create_all(self._engine)
            with self._engine.begin() as connection:
                _add_missing(connection)
            self._made = True


_REMEMBERED = ("rewrite_data_files", "remove_orphan_files", "expire_partitions")


def _add_missing(connection: Connection) -> None:
    """A file of an earlier release lacks what was added since."""
    known = {row.name for row in connection.execute(text("PRAGMA table_info(looks)"))}
    if "overlap_depth" not in known:
        connection.execute(text("ALTER TABLE looks ADD COLUMN overlap_depth INTEGER NOT NULL DEFAULT 0"))


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

"""The maintenance service as statements see it: tables of ``system.maintenance``, and its procedures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.maintenance import Scope
from coordinator.maintenance.explained import explained
from coordinator.maintenance.inspection import Inspector
from coordinator.maintenance.lake import Lake
from coordinator.maintenance.policies import DEFAULT, TYPES, Policy
from coordinator.maintenance.records import Decision, Pause, TableKey
from coordinator.maintenance.service import MaintenanceService
from coordinator.maintenance.settings import MaintenanceSettings
from coordinator.maintenance.store import MaintenanceStore
from coordinator.maintenance.windows import open_until
from coordinator.security.access_control.visible import visible_tables
from coordinator.security.current_session import current_session
from shared.errors import ProcessionError
from shared.spi.access_control import Identity, SystemAccessControl, identity_of_session
from shared.spi.accesses import SelectFromColumns, TableName
from shared.spi.session import Session

T = TypeVar("T")
_MOST_ROWS = 10_000


class ServiceView:
    """Implements ``MaintenanceView``. Thread-safe."""

    def __init__(
        self,
        settings: MaintenanceSettings,
        policies: Callable[[], tuple[Policy, ...]],
        catalogs: Catalogs,
        lake: Lake,
        inspector: Inspector,
        store: MaintenanceStore,
        service: MaintenanceService,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._policies = policies
        self._catalogs = catalogs
        self._lake = lake
        self._inspector = inspector
        self._store = store
        self._service = service
        self._now = now

    def own(self, session: Session) -> bool:
        """Whether a statement is the service's."""
        return self._settings.own(session)

    def tables(self) -> Iterable[Sequence[object]]:
        """The worst first."""
        now = self._now()
        scanned = self._store.scans_per_day(now)
        looks = sorted(self._store.looks(), key=lambda look: (look.health, look.worst, look.key))
        for look in self._seen(looks, lambda look: look.key):
            lag = None if look.waiting_since is None else (now - look.waiting_since).total_seconds()
            working = look.key in self._service.working
            yield (
                *_name(look.key), look.uuid, look.health, look.worst, look.worst_partition, look.files,
                look.files_needed, look.small_files, look.delete_files, look.deleted_ratio, look.overlap_depth,
                look.size, look.snapshots, look.manifests, scanned.get(look.key), look.appended, look.rewritten,
                look.policy, "RUNNING" if working else look.state, look.reason, look.looked, look.next_look, lag,
            )  # fmt: skip

    def jobs(self) -> Iterable[Sequence[object]]:
        """The newest first."""
        for job in self._seen(self._store.jobs(_MOST_ROWS), lambda job: job.key):
            yield (
                job.job_id, *_name(job.key), job.procedure, job.trigger, job.state, job.started, job.ended, job.seconds,
                job.estimated_size, job.estimated_seconds, job.files_before, job.files_after, job.size_before,
                job.size_after, job.error,
            )  # fmt: skip

    def decisions(self) -> Iterable[Sequence[object]]:
        """The newest first."""
        return map(_row, self._seen(self._store.decisions(_MOST_ROWS), lambda decision: decision.key))

    def policies(self) -> Iterable[Sequence[object]]:
        """In the order of the file, those of catalogs' servers behind them, the defaults last."""
        for policy in filter(self._is_shown, self._policies()):
            for name in TYPES:
                content = getattr(policy, name)
                if content is not None:
                    yield policy.name, policy.tables, name, content.enable, content.model_dump_json(by_alias=True)
        for key, policy in self._seen(self._inspector.attached(), lambda each: each[0]):
            for name in TYPES:
                content = getattr(policy, name)
                if content is not None:
                    yield policy.name, str(key), name, content.enable, content.model_dump_json(by_alias=True)
        for name in TYPES:
            content = getattr(DEFAULT, name)
            if content is not None:
                yield "default", "*", name, content.enable, content.model_dump_json(by_alias=True)

    def budget(self) -> Iterable[Sequence[object]]:
        """What the last 24 hours took of what they may."""
        now, settings = self._now(), self._settings
        spent = self._store.spent(now - timedelta(days=1))
        until = open_until(settings.window, now)
        shown = None if until is None or until.year == datetime.max.year else until
        opened = until is not None, shown
        yield "bytes_per_day", float(spent.size), settings.bytes_per_day, *opened
        yield "seconds_per_day", spent.seconds, settings.seconds_per_day, *opened
        yield "jobs_of_a_day", float(spent.jobs), None, *opened

    def examine(self, scope: Scope, checkpoint: Callable[[], None]) -> Iterator[Sequence[object]]:
        for key in self._in_scope(scope):
            checkpoint()
            looked = self._inspector.examine(key, self._now(), self._store.look(key))
            yield from () if looked is None else map(_row, looked.decisions)

    def request(self, session: Session, scope: Scope) -> None:
        self._check(session)
        self._service.request(self._in_scope(scope), session.user)

    def explain(self, scope: Scope) -> Iterable[Sequence[object]]:
        for key in self._in_scope(scope):
            yield from explained(key, self._inspector, self._lake, self._store, self._now())

    def pause(self, session: Session, scope: Scope, reason: str) -> None:
        self._check(session)
        self._store.pause(Pause(str(scope), session.user, self._now(), reason[:1000]))

    def resume(self, session: Session, scope: Scope) -> bool:
        self._check(session)
        return self._store.resume(str(scope))

    def _is_shown(self, policy: Policy) -> bool:
        """What it says of tables is for who sees one of them, or may tell the service what to do."""
        session = current_session() if self._catalogs.access.hides_objects else None
        if session is None:
            return True
        with suppress(ProcessionError):
            self._check(session)
            return True
        meant = [look.key for look in self._store.looks() if policy.matches(*_name(look.key))]
        return next(self._seen(meant, lambda key: key), None) is not None

    def _check(self, session: Session) -> None:
        """Who may end the service's statements may also tell it what to do."""
        control = self._catalogs.access.control
        control.check_can_kill_query_owned_by(identity_of_session(session), Identity(self._settings.user))

    def _in_scope(self, scope: Scope) -> list[TableKey]:
        keys, _ = self._lake.tables()
        wanted = [
            key
            for key in keys
            if scope.catalog in (None, key.catalog)
            and scope.schema in (None, key.schema.lower())
            and scope.table in (None, key.table.lower())
        ]
        return list(self._seen(wanted, lambda key: key))

    def _seen(self, records: Sequence[T], key_of: Callable[[T], TableKey]) -> Iterator[T]:
        """Those about tables that the statement at work may read whole: reasons name values of partitions."""
        session = current_session() if self._catalogs.access.hides_objects else None
        if session is None:
            yield from records
            return
        control, identity = self._catalogs.access.control, identity_of_session(session)
        known: dict[TableKey, bool] = {}
        for record in records:
            key = key_of(record)
            if key not in known:
                known[key] = self._may_see(control, identity, key)
            if known[key]:
                yield record

    def _may_see(self, control: SystemAccessControl, identity: Identity, key: TableKey) -> bool:
        if not visible_tables(control, identity, key.catalog, key.schema, (key.table,)):
            return False
        name = TableName(key.catalog, key.schema.lower(), key.table.lower())
        try:
            found = self._catalogs.connector(key.catalog).table(key.schema, key.table)
            columns = {} if found is None else {column.name: column.type for column in found.columns}
            control.check_access(identity, SelectFromColumns(name, tuple(columns)))
        except ProcessionError:
            return False
        return not control.row_filters(identity, name) and not control.column_masks(identity, name, columns)


def _name(key: TableKey) -> tuple[str, str, str]:
    return key.catalog, key.schema, key.table


def _row(decision: Decision) -> Sequence[object]:
    head = (decision.moment, *_name(decision.key), decision.step, decision.verdict, decision.reason)
    return (*head, decision.priority, decision.size, decision.seconds)

"""``system.maintenance``: what the maintenance service knows of tables, what it decided and did, and by which policies.

Without the service (``etc/maintenance.properties``) the tables are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from coordinator.connectors.system.virtual_table import VirtualTable, typed
from coordinator.connectors.system.wanted import Wanted
from shared.spi.session import Session

SCHEMA = "maintenance"
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """A table, all tables of a schema, or of a catalog, or everything."""

    catalog: str | None = None
    schema: str | None = None
    table: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.table) if part is not None) or "*"


class MaintenanceView(Protocol):
    """The service as users see it, each of them the tables that they may see; in any thread.

    Rows have the columns of the tables below. Methods that change something raise PERMISSION_DENIED for users who may
    not end the statements of the service's user.
    """

    def tables(self) -> Iterable[Row]: ...

    def jobs(self) -> Iterable[Row]: ...

    def decisions(self) -> Iterable[Row]: ...

    def policies(self) -> Iterable[Row]: ...

    def budget(self) -> Iterable[Row]: ...

    def examine(self, scope: Scope, checkpoint: Callable[[], None]) -> Iterator[Row]:
        """What would be done now, a row a step as in ``decisions``; ``checkpoint`` is called between tables."""
        ...

    def request(self, session: Session, scope: Scope) -> None:
        """Look at the tables at once, and do what is decided."""
        ...

    def explain(self, scope: Scope) -> Iterable[Row]:
        """Topic, name and value of all that a decision about a table rests on."""
        ...

    def pause(self, session: Session, scope: Scope, reason: str) -> None: ...

    def resume(self, session: Session, scope: Scope) -> bool:
        """False when the scope was not paused."""
        ...


Maintenance = Callable[[], MaintenanceView | None]
"""The service; None where it is off, and in processes that run no queries."""

_NAME = "catalog_name, schema_name, table_name"
_MOMENT = "timestamp with time zone"
_TABLES = typed(
    f"{_NAME}, table_uuid, health integer, worst_partition_health integer, worst_partition, files bigint, "
    "needed_files bigint, small_files bigint, delete_files bigint, deleted_ratio double, "
    "overlap_depth integer, total_bytes bigint, "
    "snapshots bigint, manifests bigint, scans_per_day double, appended_7d bigint, rewritten_7d bigint, policy, state, "
    f"state_reason, looked {_MOMENT}, next_look {_MOMENT}, lag_seconds double"
)
_JOBS = typed(
    f"job_id, {_NAME}, procedure, trigger, state, started {_MOMENT}, ended {_MOMENT}, seconds double, "
    "estimated_bytes bigint, estimated_seconds double, files_before bigint, files_after bigint, "
    "bytes_before bigint, bytes_after bigint, error"
)
_DECISIONS = typed(
    f"decided {_MOMENT}, {_NAME}, step, verdict, reason, priority double, estimated_bytes bigint, "
    "estimated_seconds double"
)
_POLICIES = typed("policy, tables, type, enabled boolean, content")
_BUDGET = typed("name, used double, most double, window_open boolean, open_until timestamp with time zone")


def maintenance_tables(maintenance: Maintenance) -> tuple[VirtualTable, ...]:
    """The tables of ``system.maintenance``."""
    made = {"tables": _TABLES, "jobs": _JOBS, "decisions": _DECISIONS, "policies": _POLICIES, "budget": _BUDGET}
    return tuple(VirtualTable(SCHEMA, name, columns, _rows(maintenance, name)) for name, columns in made.items())


def _rows(maintenance: Maintenance, name: str) -> Callable[[Wanted], Iterable[Row]]:
    def rows(_wanted: Wanted) -> Iterable[Row]:
        view = maintenance()
        made: Iterable[Row] = () if view is None else getattr(view, name)()
        return made

    return rows

"""``system.runtime``: the node, its queries, their tasks and transactions, as they are when the query reads them.

Source of names and types: Presto 0.296 (``connector.system``). Spark's own tasks are not told apart: a query has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from coordinator.connectors.system.virtual_table import VirtualTable, typed
from coordinator.connectors.system.wanted import Wanted
from shared.spi.session import Session

SCHEMA = "runtime"


@dataclass(frozen=True, slots=True)
class NodeState:
    node_id: str
    http_uri: str
    version: str
    state: str


@dataclass(frozen=True, slots=True)
class QueryState:
    """A query now; times are UTC, ``text`` as shown to people."""

    query_id: str
    node_id: str
    state: str
    user: str
    source: str | None
    text: str
    resource_group: tuple[str, ...]
    queued_seconds: float
    analysis_seconds: float
    created: datetime
    started: datetime | None
    last_access: datetime
    ended: datetime | None
    transaction_id: str | None
    splits: tuple[int, int, int, int]
    """All, queued, running, completed."""
    output_rows: int
    output_bytes: int
    processed_rows: int


class RuntimeState(Protocol):
    """The coordinator as its runtime tables see it; may be called in any thread."""

    def node(self) -> NodeState: ...

    def nodes(self) -> Sequence[NodeState]:
        """All coordinators, this one first."""
        ...

    def queries(self) -> Sequence[QueryState]: ...

    def kill(self, session: Session, query_id: str, message: str) -> bool | None:
        """Stop a query for a session: False when it has ended, None when the session sees none of the id.

        Raises ProcessionError PERMISSION_DENIED.
        """
        ...


Runtime = Callable[[], RuntimeState | None]
"""The state; None in a process that runs no queries, whose runtime tables are empty."""

_NODES = typed("node_id, http_uri, node_version, coordinator boolean, state")
_QUERIES = typed(
    "query_id, state, user, source, query, resource_group_id array(varchar), queued_time_ms bigint, "
    "analysis_time_ms bigint, created timestamp, started timestamp, last_heartbeat timestamp, end timestamp"
)
_TASKS = typed(
    "node_id, task_id, stage_execution_id, stage_id, query_id, state, splits bigint, queued_splits bigint, "
    "running_splits bigint, completed_splits bigint, split_scheduled_time_ms bigint, split_cpu_time_ms bigint, "
    "split_blocked_time_ms bigint, raw_input_bytes bigint, raw_input_rows bigint, processed_input_bytes bigint, "
    "processed_input_rows bigint, output_bytes bigint, output_rows bigint, physical_written_bytes bigint, "
    "created timestamp, start timestamp, last_heartbeat timestamp, end timestamp"
)
_TRANSACTIONS = typed(
    "transaction_id, isolation_level, read_only boolean, auto_commit_context boolean, create_time timestamp, "
    "idle_time_secs bigint, written_catalog, catalogs array(varchar)"
)


def runtime_tables(runtime: Runtime) -> tuple[VirtualTable, ...]:
    """The tables of ``system.runtime``."""
    made = (("nodes", _NODES, _nodes), ("queries", _QUERIES, _queries), ("tasks", _TASKS, _tasks))
    rows = {name: _from(runtime, make) for name, _, make in (*made, ("transactions", _TRANSACTIONS, _transactions))}
    columns = {name: types for name, types, _ in made} | {"transactions": _TRANSACTIONS}
    return tuple(VirtualTable(SCHEMA, name, columns[name], rows[name]) for name in columns)


def _from(
    runtime: Runtime, make: Callable[[RuntimeState], Iterator[Sequence[object]]]
) -> Callable[[Wanted], Iterator[Sequence[object]]]:
    def rows(_wanted: Wanted) -> Iterator[Sequence[object]]:
        state = runtime()
        if state is not None:
            yield from make(state)

    return rows


def _nodes(state: RuntimeState) -> Iterator[Sequence[object]]:
    for node in state.nodes():
        yield node.node_id, node.http_uri, node.version, True, node.state


def _queries(state: RuntimeState) -> Iterator[Sequence[object]]:
    for query in state.queries():
        yield (
            query.query_id,
            query.state,
            query.user,
            query.source,
            query.text,
            list(query.resource_group) or None,
            int(query.queued_seconds * 1000),
            int(query.analysis_seconds * 1000),
            *(_naive(instant) for instant in (query.created, query.started, query.last_access, query.ended)),
        )


def _tasks(state: RuntimeState) -> Iterator[Sequence[object]]:
    for query in state.queries():
        if query.started is None:
            continue
        stage = f"{query.query_id}.0"
        states = {"FINISHED": "FINISHED", "FAILED": "FAILED"}
        yield (
            query.node_id,
            f"{stage}.0.0",
            f"{stage}.0",
            stage,
            query.query_id,
            states.get(query.state, "RUNNING"),
            *query.splits,
            *(None,) * 5,
            None,
            query.processed_rows,
            query.output_bytes,
            query.output_rows,
            None,
            *(_naive(instant) for instant in (query.created, query.started, query.last_access, query.ended)),
        )


def _transactions(state: RuntimeState) -> Iterator[Sequence[object]]:
    """Those of running queries: between statements a transaction holds nothing here."""
    for query in state.queries():
        if query.transaction_id is not None and query.ended is None:
            yield query.transaction_id, "READ UNCOMMITTED", False, False, _naive(query.created), 0, None, []


def _naive(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant.replace(tzinfo=None)

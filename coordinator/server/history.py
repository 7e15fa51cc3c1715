"""``/v1/history``: statements of the past, filtered and page by page, under the rules of ``/v1/query``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from coordinator.dispatch.info import instant
from coordinator.history.reader import HistoryFilter, HistoryReader, Record, WrongPageError
from coordinator.history.rows import from_micros
from coordinator.server.authentication import identity_of
from coordinator.server.node import json_response
from coordinator.server.problems import NOT_FOUND, ProblemError, bad_request
from coordinator.server.query_access import QueryAccess
from shared.errors import ProcessionError
from shared.spi.access_control import Identity

_MOST = 1000
Limit = Annotated[int, Query(ge=1, le=_MOST)]
Text = Annotated[str | None, Query(max_length=10_000)]
Before = Annotated[str | None, Query(alias="to")]
From = Annotated[str | None, Query(alias="from")]


@dataclass(frozen=True, slots=True)
class HistoryRoutes:
    """Reads on threads: the database may be slow."""

    history: HistoryReader
    access: QueryAccess

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1/history", default_response_class=Response)
        router.add_api_route("", self.list, methods=["GET"])
        router.add_api_route("/{query_id}", self.one, methods=["GET"])
        return router

    async def list(
        self,
        request: Request,
        state: Text = None,
        user: Text = None,
        source: Text = None,
        group: Text = None,
        engine: Text = None,
        type: Text = None,
        error: Text = None,
        table: Text = None,
        text: Text = None,
        trace: Text = None,
        since: From = None,
        before: Before = None,
        limit: Limit = 100,
        page: Text = None,
    ) -> Response:
        """The newest first; ``nextPage`` is the ``page`` of what follows."""
        wanted = HistoryFilter(
            state=state,
            user=user,
            source=source,
            group=group,
            engine=engine,
            query_type=type,
            error=error,
            table=table,
            text=text,
            trace_id=trace,
            created_from=_timestamp("from", since),
            created_before=_timestamp("to", before),
        )
        try:
            found = await asyncio.to_thread(self.history.page, wanted, self._visible(request), limit, page)
        except WrongPageError as wrong:
            raise bad_request(f"Invalid page {page}") from wrong
        content: dict[str, Any] = {"queries": [shown(record) for record in found.records]}
        if found.next is not None:
            content["nextPage"] = found.next
        return json_response(content)

    async def one(self, request: Request, query_id: str) -> Response:
        """Everything, with tables and plan; 404 also for a statement that the user may not see."""
        record = await asyncio.to_thread(self.history.one, query_id, self._visible(request))
        if record is None:
            raise ProblemError(404, NOT_FOUND)
        return json_response(shown(record) | _details(record))

    def _visible(self, request: Request) -> Callable[[Identity], bool]:
        identity, control = identity_of(request), self.access.control

        def visible(owner: Identity) -> bool:
            try:
                control.check_can_view_query_owned_by(identity, owner)
            except ProcessionError:
                return False
            return True

        return visible


_NAMES = {
    "query_id": "queryId",
    "node_id": "nodeId",
    "state": "state",
    "user_name": "user",
    "principal": "principal",
    "source": "source",
    "client_info": "clientInfo",
    "remote_address": "remoteAddress",
    "catalog": "catalog",
    "schema_name": "schema",
    "query_type": "queryType",
    "update_type": "updateType",
    "query": "query",
    "query_truncated": "queryTruncated",
    "prepared_query": "preparedQuery",
    "trace_token": "traceToken",
    "trace_id": "traceId",
    "elapsed_ms": "elapsedTimeMillis",
    "queued_ms": "queuedTimeMillis",
    "cpu_ms": "cpuTimeMillis",
    "engine": "engine",
    "engine_reason": "engineReason",
    "attempt": "attempt",
    "runs_again": "runsAgain",
    "error_message": "errorMessage",
    "error_line": "errorLine",
    "error_column": "errorColumn",
    "input_rows": "inputRows",
    "input_bytes": "inputBytes",
    "output_rows": "outputRows",
    "output_bytes": "outputBytes",
    "written_rows": "writtenRows",
    "peak_memory_bytes": "peakMemoryBytes",
    "splits": "splits",
}
_OF_JSON = {
    "groups": "groups",
    "client_tags": "clientTags",
    "session_properties": "sessionProperties",
    "verbs": "timeline",
    "verdicts": "verdicts",
    "warnings": "warnings",
    "spark_operations": "sparkOperations",
    "spark_jobs": "sparkJobs",
}


def shown(record: Record) -> dict[str, Any]:
    """A statement as an object; what is not known is absent."""
    content = {wire: record[name] for name, wire in _NAMES.items()}
    content |= {wire: json.loads(record[name]) for name, wire in _OF_JSON.items() if record[name] is not None}
    times = {"created": "createTime", "started": "executionStartTime", "ended": "endTime"}
    content |= {wire: instant(from_micros(record[name])) for name, wire in times.items()}
    if record["resource_group"] is not None:
        content["resourceGroupId"] = record["resource_group"].split(".")
    if record["error_name"] is not None:
        code = {"code": record["error_code"], "name": record["error_name"], "type": record["error_type"]}
        content["errorCode"] = code
    return {name: value for name, value in content.items() if value is not None}


def _details(record: Record) -> dict[str, Any]:
    tables = [
        {
            "access": table["access"],
            "operation": table["operation"],
            "catalog": table["catalog"],
            "schema": table["schema_name"],
            "table": table["table_name"],
            "columns": json.loads(table["columns"]) if table["columns"] is not None else [],
            # As text: JavaScript's numbers are too short for snapshots.
            "snapshotId": _as_text(table["snapshot_id"]),
            "committedSnapshotId": _as_text(table["committed_snapshot_id"]),
        }
        for table in record["tables"]
    ]
    plan = None if record["json_plan"] is None else json.loads(record["json_plan"])
    return {"tables": tables, "plan": record["plan"], "jsonPlan": plan}


def _as_text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _timestamp(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise bad_request(f"Invalid {name}: {text[:100]} (expected ISO 8601, as 2026-11-23T06:00:00Z)") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

"""Queries as JSON objects for ``/v1/query`` and ``/v1/queryState``: Presto's BasicQueryInfo and QueryInfo shapes.

Members that this engine has no notion of (drivers, memory pools, blocked reasons) are zero or absent. ``timeline`` is
ours: seconds of each of the ten verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from coordinator.dispatch.failures import wire_failure
from coordinator.dispatch.query import Query
from coordinator.dispatch.stats import (
    elapsed_seconds,
    execution_seconds,
    progress_percentage,
    queued_seconds,
    statement_stats,
    waiting_seconds,
)
from coordinator.security.redaction import HIDDEN, is_secret_name, redacted
from shared.protocol.session_functions import encode_function
from shared.protocol.statement import Stats
from shared.spi.session import Session
from shared.spi.session_function import SessionFunction
from shared.units import format_data_size, format_duration

STATE_TEXT_LENGTH = 300


def instant(at: datetime | None) -> str | None:
    """``2026-11-21T03:58:14.227Z``."""
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _present(members: dict[str, Any]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def session_info(session: Session, redact: Callable[[str], str] = redacted) -> dict[str, object]:
    """Presto's SessionRepresentation; credentials stay out."""
    by_catalog = {c: _shown(p, redact) for c, p in session.catalog_properties.items()}
    return _present(
        {
            "queryId": session.query_id,
            "transactionId": session.transaction_id,
            "clientTransactionSupport": session.client_transaction_support,
            "user": session.user,
            "principal": session.principal,
            "source": session.source,
            "catalog": session.catalog,
            "schema": session.schema,
            "traceToken": session.trace_token,
            "timeZone": session.time_zone,
            "locale": session.language,
            "remoteUserAddress": session.remote_address,
            "userAgent": session.user_agent,
            "clientInfo": session.client_info,
            "clientTags": list(session.client_tags),
            "resourceEstimates": dict(session.resource_estimates),
            "startTime": int(session.start.timestamp() * 1000),
            "systemProperties": _shown(session.properties, redact),
            "catalogProperties": by_catalog,
            "roles": dict(session.roles),
            "preparedStatements": {name: redact(sql) for name, sql in session.prepared_statements.items()},
            "sessionFunctions": {f.id: _definition(f, redact) for f in session.functions} or None,
        }
    )


def _definition(function: SessionFunction, redact: Callable[[str], str]) -> object:
    """As clients keep it."""
    return msgspec.json.decode(encode_function(replace(function, body=redact(function.body))))


def _shown(properties: Mapping[str, str], redact: Callable[[str], str]) -> dict[str, str]:
    return {name: HIDDEN if is_secret_name(name) else redact(value) for name, value in properties.items()}


def _query_stats(query: Query) -> dict[str, object]:
    stats = statement_stats(query)
    memory = format_data_size(stats.peakMemoryBytes)
    return _present(
        _times(query)
        | _counts(query, stats)
        | {
            "cumulativeUserMemory": 0.0,
            "cumulativeTotalMemory": 0.0,
            "userMemoryReservation": "0B",
            "totalMemoryReservation": "0B",
            "peakUserMemoryReservation": memory,
            "peakTotalMemoryReservation": memory,
            "totalCpuTime": format_duration(query.cpu_seconds),
            "totalScheduledTime": format_duration(query.cpu_seconds),
            "fullyBlocked": False,
            "blockedReasons": [],
            "totalAllocation": "0B",
            "scheduled": stats.scheduled,
            "progressPercentage": progress_percentage(query),
        }
    )


def _times(query: Query) -> dict[str, object]:
    timeline = query.timeline.seconds()
    analysis = sum(timeline.get(verb, 0.0) for verb in ("parse", "analyze"))
    planning = analysis + sum(timeline.get(verb, 0.0) for verb in ("plan", "optimize", "fragment", "check"))
    return {
        "createTime": instant(query.created),
        "endTime": instant(query.ended),
        "lastHeartbeat": instant(query.last_access_time),
        "elapsedTime": format_duration(elapsed_seconds(query)),
        "waitingForPrerequisitesTime": format_duration(waiting_seconds(query)),
        "queuedTime": format_duration(queued_seconds(query)),
        "executionTime": format_duration(execution_seconds(query)),
        "analysisTime": format_duration(analysis),
        "totalPlanningTime": format_duration(planning),
    }


def _counts(query: Query, stats: Stats) -> dict[str, object]:
    return {
        "runningTasks": stats.runningSplits,
        "totalTasks": stats.totalSplits,
        "completedTasks": stats.completedSplits,
        "totalDrivers": stats.totalSplits,
        "queuedDrivers": stats.queuedSplits,
        "runningDrivers": stats.runningSplits,
        "completedDrivers": stats.completedSplits,
        "totalSplits": stats.totalSplits,
        "queuedSplits": stats.queuedSplits,
        "runningSplits": stats.runningSplits,
        "completedSplits": stats.completedSplits,
        "rawInputDataSize": format_data_size(stats.processedBytes),
        "rawInputPositions": stats.processedRows,
        "processedInputDataSize": format_data_size(stats.processedBytes),
        "processedInputPositions": stats.processedRows,
        "outputDataSize": format_data_size(query.output_bytes),
        "outputPositions": query.output_rows,
    }


def basic_query_info(query: Query, base_uri: str) -> dict[str, object]:
    """One entry of ``GET /v1/query``."""
    failure = wire_failure(query.error) if query.error is not None else None
    return _present(
        {
            "queryId": query.id,
            "session": session_info(query.session, query.redact),
            "resourceGroupId": list(query.resource_group) or None,
            "state": query.state.value,
            "memoryPool": "general",
            "scheduled": statement_stats(query).scheduled,
            "self": f"{base_uri}/v1/query/{query.id}",
            "query": query.shown_text,
            "queryStats": _query_stats(query),
            "errorType": failure.errorType if failure else None,
            "errorCode": error_code(query),
            "queryType": query.planned.query_type if query.planned is not None else None,
            "warnings": wire_warnings(query),
            "preparedQuery": _prepared(query),
        }
    )


def _prepared(query: Query) -> str | None:
    sql = None if query.planned is None else query.planned.prepared_sql
    return None if sql is None else query.redact(sql)


def error_code(query: Query) -> dict[str, object] | None:
    """Presto's ErrorCode object of a failed query."""
    if query.error is None:
        return None
    error = query.error
    return {"code": error.code.code, "name": error.code.name, "type": error.code.type, "retriable": error.retriable}


def wire_warnings(query: Query) -> list[dict[str, object]]:
    return [
        {"warningCode": {"code": w.code, "name": w.name}, "message": query.redact(w.message)} for w in query.warnings
    ]


def query_info(query: Query, base_uri: str) -> dict[str, object]:
    """``GET /v1/query/{id}``."""
    planned, info = query.planned, basic_query_info(query, base_uri)
    info["timeline"] = {verb: round(seconds, 6) for verb, seconds in query.timeline.seconds().items()}
    info["finalQueryInfo"] = query.state.done
    info["progress"] = msgspec.to_builtins(query.progress)
    if query.spark_operations:
        info |= {"sparkOperations": list(query.spark_operations), "sparkJobs": list(query.spark_jobs)}
    info["fieldNames"] = [column.name for column in planned.columns] if planned is not None else []
    if planned is not None:
        change = planned.session_change
        info |= _present(
            {
                "updateType": planned.update_type,
                "updateCount": query.update_count,
                "inputs": list(planned.inputs),
                "setCatalog": change.set_catalog,
                "setSchema": change.set_schema,
                "setSessionProperties": _shown(change.set_session, query.redact),
                "resetSessionProperties": list(change.clear_session),
                "addedPreparedStatements": {name: query.redact(sql) for name, sql in change.added_prepare.items()},
                "deallocatedPreparedStatements": list(change.deallocated_prepare),
                "addedSessionFunctions": {each.id: query.redact(each.body) for each in change.added_functions},
                "removedSessionFunctions": list(change.removed_functions),
                "startedTransactionId": change.started_transaction_id,
                "clearTransactionId": change.clear_transaction_id,
            }
        )
    if query.error is not None:
        info["failureInfo"] = msgspec.to_builtins(wire_failure(query.error).failureInfo)
    return info


def query_state_info(query: Query) -> dict[str, object]:
    """One entry of ``GET /v1/queryState`` and of a resource group's ``runningQueries``."""
    stats, session = statement_stats(query), query.session
    text = query.shown_text[:STATE_TEXT_LENGTH]
    progress = {
        "elapsedTimeMillis": stats.elapsedTimeMillis,
        "queuedTimeMillis": stats.queuedTimeMillis,
        "executionTimeMillis": stats.wallTimeMillis,
        "cpuTimeMillis": stats.cpuTimeMillis,
        "currentMemoryBytes": 0,
        "peakMemoryBytes": stats.peakMemoryBytes,
        "inputRows": stats.processedRows,
        "inputBytes": stats.processedBytes,
        "blocked": False,
        "progressPercentage": progress_percentage(query),
        "queuedSplits": stats.queuedSplits,
        "runningSplits": stats.runningSplits,
        "completedSplits": stats.completedSplits,
    }
    return _present(
        {
            "queryId": query.id,
            "queryState": query.state.value,
            "resourceGroupId": list(query.resource_group) or None,
            "query": text,
            "queryTruncated": len(text) < len(query.shown_text),
            "createTime": instant(query.created),
            "user": session.user,
            "authenticated": session.principal is not None,
            "source": session.source,
            "catalog": session.catalog,
            "schema": session.schema,
            "progress": _present(progress),
            "warningCodes": [warning.name for warning in query.warnings],
        }
    )

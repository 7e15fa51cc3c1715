"""The JSON of ``/v1/statement``: QueryResults and its parts, in Presto's key order, absent fields omitted.

Omission is load-bearing: Python clients test ``"error" in response`` and ``"nextUri" not in response``.
Source: Presto's ``QueryResults``, ``StatementStats``, ``QueryError`` and recorded conversations with Presto 0.296.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class StageStats(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of a statement and those that feed it; counts as in Stats."""

    stageId: str
    state: str = ""
    done: bool = False
    nodes: int = 0
    totalSplits: int = 0
    queuedSplits: int = 0
    runningSplits: int = 0
    completedSplits: int = 0
    cpuTimeMillis: int = 0
    wallTimeMillis: int = 0
    processedRows: int = 0
    processedBytes: int = 0
    subStages: tuple[StageStats, ...] = ()


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts are of splits, times in milliseconds, memory in bytes."""

    state: str
    waitingForPrerequisites: bool = False
    queued: bool = False
    scheduled: bool = False
    nodes: int = 0
    totalSplits: int = 0
    queuedSplits: int = 0
    runningSplits: int = 0
    completedSplits: int = 0
    cpuTimeMillis: int = 0
    wallTimeMillis: int = 0
    waitingForPrerequisitesTimeMillis: int = 0
    queuedTimeMillis: int = 0
    elapsedTimeMillis: int = 0
    processedRows: int = 0
    processedBytes: int = 0
    peakMemoryBytes: int = 0
    peakTotalMemoryBytes: int = 0
    peakTaskTotalMemoryBytes: int = 0
    spilledBytes: int = 0
    rootStage: StageStats | msgspec.UnsetType | None = msgspec.UNSET
    runtimeStats: Mapping[str, RuntimeMetric] | msgspec.UnsetType | None = msgspec.UNSET
    progressPercentage: float | msgspec.UnsetType = msgspec.UNSET


class RuntimeMetric(msgspec.Struct, frozen=True, kw_only=True):
    """One of ``runtimeStats``: what several measurements of a name, in a unit, came to."""

    name: str
    unit: Literal["NANO", "BYTE", "NONE"]
    sum: int
    count: int = 1
    max: int
    min: int


class Location(msgspec.Struct, frozen=True):
    """1-based position in the statement text."""

    lineNumber: int
    columnNumber: int


class FailureInfo(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``type`` is a Java class name, which JDBC shows; ``stack`` is always empty: our frames help no client."""

    type: str
    message: str
    suppressed: tuple[str, ...]
    stack: tuple[str, ...]
    errorLocation: Location | None = None


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """``error`` of QueryResults (Presto's QueryError)."""

    message: str
    errorCode: int
    errorName: str
    errorType: str
    retriable: bool
    errorLocation: Location | None = None
    failureInfo: FailureInfo | None = None


class WarningCode(msgspec.Struct, frozen=True):
    code: int
    name: str


class WireWarning(msgspec.Struct, frozen=True):
    """``{"warningCode": {"code", "name"}, "message"}``."""

    warningCode: WarningCode
    message: str


class QueryResults(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One page. ``columns`` and ``data`` are JSON already; ``data`` is absent, never empty, without rows."""

    id: str
    infoUri: str
    partialCancelUri: str | None = None
    nextUri: str | None = None
    columns: msgspec.Raw | None = None
    data: msgspec.Raw | None = None
    binaryData: msgspec.Raw | None = None
    stats: Stats
    error: Failure | None = None
    warnings: tuple[WireWarning, ...]
    updateType: str | None = None
    updateCount: int | None = None


_ENCODER = msgspec.json.Encoder()


def encode_results(results: QueryResults) -> bytes:
    """The response body."""
    return _ENCODER.encode(results)

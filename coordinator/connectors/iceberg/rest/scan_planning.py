"""Scans that the catalog's server plans, where a table or the catalog asks for it (``scan-planning-mode=server``).

Source: Iceberg's REST specification (``planTableScan``, ``fetchPlanningResult``, ``fetchScanTasks``).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from pyiceberg.exceptions import RESTError
from requests import RequestException

from coordinator.connectors.iceberg.rest.plan_messages import (
    PLANNING_RESULT,
    Cancelled,
    Completed,
    Failed,
    PlanningResult,
    ScanTasks,
    StorageCredential,
    Submitted,
)

MODE = "scan-planning-mode"
_MOST_SECONDS = 15.0
"""Until a server has planned a scan: less than a statement has for planning, whose process is ended then."""
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_MOST_BYTES = 64 << 20
"""Of one answer."""
_MOST_REQUESTS = 1000
"""For parts of one plan."""

Ask = Callable[[str, str, Mapping[str, object] | None], str]
"""The text that the server answers to a method, a path below the table's and a body; raises as its client does."""


class NotPlannedError(Exception):
    """A plan that is too large for this process, or takes too long: another engine may do it."""


@dataclass(frozen=True, slots=True)
class PlannedScan:
    """The parts of a plan, each with delete files of its own, and the keys that were lent for their files."""

    parts: tuple[ScanTasks, ...]
    plan_id: str | None
    credentials: tuple[StorageCredential, ...]


def asks_for_server(properties: Mapping[str, str], config: Mapping[str, str]) -> bool:
    """Whether a table's answer, or else the catalog, wants its scans planned by the server."""
    return {**properties, **config}.get(MODE, "client").lower() == "server"


def bounded_text(parts: Iterable[bytes]) -> str:
    """An answer's text. Raises NotPlannedError for one that is too long."""
    found, size = [], 0
    for part in parts:
        size += len(part)
        if size > _MOST_BYTES:
            raise NotPlannedError("the server's plan is large")
        found.append(part)
    return b"".join(found).decode(errors="replace")


def planned_scan(ask: Ask, asked: Mapping[str, object], most: int) -> PlannedScan:
    """The plan of a scan, ``asked`` for by the protocol's ``PlanTableScanRequest``.

    A plan that is given up is cancelled. Raises NotPlannedError for more than ``most`` files, RESTError where the
    server fails to plan, and what ``ask`` raises.
    """
    answer = PLANNING_RESULT.validate_json(ask("POST", "plan", asked))
    plan_id = answer.plan_id if isinstance(answer, Completed | Submitted) else None
    try:
        done = _completed(ask, answer, plan_id)
        found = tuple(_parts(ask, done, most))
    except BaseException:
        if plan_id is not None:
            with suppress(RESTError, RequestException):
                ask("DELETE", _path(plan_id), None)
        raise
    return PlannedScan(found, done.plan_id or plan_id, tuple(done.storage_credentials or ()))


def _completed(ask: Ask, answer: PlanningResult, plan_id: str | None) -> Completed:
    """The plan, asked for until it is there."""
    end, tries = time.monotonic() + _MOST_SECONDS, 0
    while isinstance(answer, Submitted) and plan_id is not None:
        if time.monotonic() > end:
            raise NotPlannedError(f"the catalog's server did not plan the scan within {_MOST_SECONDS:.0f} s")
        time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
        tries += 1
        answer = PLANNING_RESULT.validate_json(ask("GET", _path(plan_id), None))
    match answer:
        case Completed():
            return answer
        case Failed(error=error):
            raise RESTError(f"the server cannot plan the scan: {error.message}")
        case Cancelled() | Submitted():
            raise RESTError("the server has cancelled the planning of the scan")


def _path(plan_id: str) -> str:
    return f"plan/{quote(plan_id, safe='')}"


def _parts(ask: Ask, plan: Completed, most: int) -> Iterator[ScanTasks]:
    files, asked = 0, 0
    waiting: deque[str] = deque()
    part: ScanTasks = plan
    while True:
        waiting.extend(part.plan_tasks or ())
        files += len(part.file_scan_tasks or ())
        if files > most:
            raise NotPlannedError("it has many files")
        yield part
        if not waiting:
            return
        asked += 1
        if asked > _MOST_REQUESTS:
            raise NotPlannedError("the server's plan has many parts")
        part = ScanTasks.model_validate_json(ask("POST", "tasks", {"plan-task": waiting.popleft()}))

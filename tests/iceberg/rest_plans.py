"""A server's planning of scans, as Iceberg's REST specification has it, over the tables of another catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.catalog.rest.scan_planning import PlanTableScanRequest
from pyiceberg.conversions import to_json
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.table import Table
from pyiceberg.types import DateType, TimestampType
from pyiceberg.utils.datetime import days_to_date, micros_to_timestamp

from coordinator.connectors.iceberg.manifests.delete_index import DeleteIndex
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, read_live
from tests.iceberg.rest_catalog import RefusedError


@dataclass
class Planner:
    """``late``: how often a plan is asked for before it is there. ``paged``: files a message. ``ends``: as what.

    Files are chosen by PyIceberg, from the request's filter; ``requests`` are kept.
    """

    late: int = 0
    paged: int | None = None
    ends: str = "completed"
    credentials: list[dict[str, Any]] = field(default_factory=list)
    chooses: bool = True
    requests: list[dict[str, Any]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    _waiting: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    _pages: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __call__(self, table: Table, method: str, path: str, body: dict[str, Any]) -> Any:
        match method, path.split("/"):
            case "POST", ["plan"]:
                return self._plan(table, body)
            case "GET", ["plan", plan_id]:
                left, answer = self._waiting[plan_id]
                self._waiting[plan_id] = (left - 1, answer)
                return answer if left <= 1 else {"status": "submitted", "plan-id": plan_id}
            case "DELETE", ["plan", plan_id]:
                self.cancelled.append(plan_id)
                return None
            case "POST", ["tasks"]:
                return self._pages[body["plan-task"]]
        raise RefusedError(404)

    def _plan(self, table: Table, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        plan_id = f"plan {len(self.requests)}"
        if self.ends == "failed":
            return {"status": "failed", "error": {"message": "no luck", "type": "PlanException", "code": 500}}
        pages = self._written(table, body)
        names = [f"{plan_id}:{number}" for number in range(1, len(pages))]
        self._pages |= dict(zip(names, pages[1:], strict=True))
        answer = {"status": "completed", "plan-id": plan_id, **pages[0]} | ({"plan-tasks": names} if names else {})
        if self.credentials:
            answer["storage-credentials"] = self.credentials
        if self.ends == "cancelled":
            answer = {"status": "cancelled"}
        if not self.late:
            return answer
        self._waiting[plan_id] = (self.late, answer)
        return {"status": "submitted", "plan-id": plan_id}

    def _written(self, table: Table, body: dict[str, Any]) -> list[dict[str, Any]]:
        snapshot = table.snapshot_by_id(body["snapshot-id"])
        live = read_live(table, snapshot)
        rows: BooleanExpression = AlwaysTrue()
        if body.get("filter") not in (None, True):
            rows = PlanTableScanRequest.model_validate({"filter": body["filter"]}).filter or rows
        chosen = {file.path for file in live.data}
        if self.chooses and all(each.is_position_delete for each in live.deletes):
            tasks = table.scan(snapshot_id=body["snapshot-id"], row_filter=rows).plan_files()
            chosen = {task.file.file_path for task in tasks}
        index = DeleteIndex(live.deletes, table.specs())
        data = [file for file in live.data if file.path in chosen]
        size = self.paged or max(len(data), 1)
        return [_message(table, data[i : i + size], index) for i in range(0, max(len(data), 1), size)]


def _message(table: Table, data: Sequence[LiveFile], index: DeleteIndex) -> dict[str, Any]:
    deletes = {each.key: each for file in data for each in index.of(file)}
    places = {key: number for number, key in enumerate(deletes)}
    tasks = [
        {"data-file": _file(table, file), "residual-filter": True}
        | ({"delete-file-references": [places[d.key] for d in found]} if (found := index.of(file)) else {})
        for file in data
    ]
    answer = {"file-scan-tasks": tasks} if tasks else {}
    return answer | ({"delete-files": [_file(table, each) for each in deletes.values()]} if deletes else {})


def _file(table: Table, live: LiveFile) -> dict[str, Any]:
    file, spec = live.file, table.specs()[live.file.spec_id]
    types = [each.field_type for each in spec.partition_type(table.schema()).fields]
    told: dict[str, Any] = {
        "content": ("data", "position-deletes", "equality-deletes")[file.content.value],
        "file-path": file.file_path,
        "file-format": file.file_format.value.lower(),
        "spec-id": file.spec_id,
        "partition": [_single(kind, file.partition[i]) for i, kind in enumerate(types)],
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
        "a-word-of-a-later-version": {"x": 1},
    }
    if file.equality_ids:
        told["equality-ids"] = list(file.equality_ids)
    if live.is_data:
        told["first-row-id"] = live.first_row_id
    extras = getattr(file, "extras", {})
    names = ("referenced_data_file", "content_offset", "content_size_in_bytes")
    told |= {name.replace("_", "-"): extras[name] for name in names if name in extras}
    return told


def _single(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, DateType) and isinstance(value, int):
        value = days_to_date(value)
    if isinstance(kind, TimestampType) and isinstance(value, int):
        value = micros_to_timestamp(value)
    return to_json(kind, value)

"""``/v1/resourceGroupState``: how full the groups are. Source: Presto's ResourceGroupStateInfoResource."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import inf
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.info import query_state_info
from coordinator.dispatch.query import Query as StatementQuery
from coordinator.resource_groups.group import ResourceGroup
from coordinator.server.node import json_response
from coordinator.server.problems import ProblemError
from coordinator.server.query_access import QueryAccess
from shared.units import format_data_size

_PREFIX = "/v1/resourceGroupState/"
Flag = Annotated[bool, Query()]


@dataclass(frozen=True, slots=True)
class _Shown:
    queries: bool
    summaries: bool
    static_only: bool


@dataclass(frozen=True, slots=True)
class ResourceGroupRoutes:
    """Views on the groups of one dispatcher, with the queries that the user may see."""

    dispatcher: Dispatcher
    access: QueryAccess

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1/resourceGroupState", default_response_class=Response)
        router.add_api_route("", self.roots, methods=["GET"])
        router.add_api_route("/{group_id:path}", self.group, methods=["GET"])
        return router

    async def roots(self) -> Response:
        """All root groups, in short; Presto has no such list."""
        return json_response([_summary(group) for group in self.dispatcher.groups.roots])

    async def group(
        self,
        request: Request,
        includeQueryInfo: Flag = True,  # noqa: N803 - Presto's names
        summarizeSubgroups: Flag = True,  # noqa: N803
        includeStaticSubgroupsOnly: Flag = False,  # noqa: N803
    ) -> Response:
        """One group by its names, each URL-encoded, joined by ``/`` as in Presto; or by dots. 404 when unknown."""
        text = str(request.scope.get("raw_path", b"").decode("ascii", "replace")).removeprefix(_PREFIX)
        groups = self.dispatcher.groups
        path = tuple(unquote(name) for name in text.split("/"))
        group = groups.find(path) or groups.find(tuple(unquote(text).split(".")))
        if group is None:
            raise ProblemError(404, f"Resource group not found: {'.'.join(path)}")
        visible = await self.access.visible(request, self._running(group)) if includeQueryInfo else ()
        shown = _Shown(includeQueryInfo, summarizeSubgroups, includeStaticSubgroupsOnly)
        return json_response(self._info({query.id for query in visible}, group, shown))

    def _info(self, visible: Set[str], group: ResourceGroup, shown: _Shown) -> dict[str, object]:
        subgroups = [
            _summary(child) if shown.summaries else self._info(visible, child, shown)
            for child in group.children.values()
            if child.running_total + child.queued_total and (child.static or not shown.static_only)
        ]
        running = [query_state_info(query) for query in self._running(group) if query.id in visible]
        return _summary(group, subgroups, running if shown.queries else None)

    def _running(self, group: ResourceGroup) -> list[StatementQuery]:
        registry = self.dispatcher.registry
        ids = (query_id for each in group.walk() for query_id in each.running)
        return [query for query_id in ids if (query := registry.get(query_id)) is not None]


def _summary(
    group: ResourceGroup,
    subgroups: list[dict[str, object]] | None = None,
    running: list[dict[str, object]] | None = None,
) -> dict[str, object]:
    """Presto's ResourceGroupInfo; a summary has neither sub-groups nor queries."""
    spec = group.spec
    info = {
        "id": list(group.id),
        "state": group.state,
        "schedulingPolicy": spec.scheduling_policy.upper(),
        "schedulingWeight": spec.scheduling_weight,
        "softMemoryLimit": _size(spec.soft_memory_limit),
        "softConcurrencyLimit": spec.soft_concurrency_limit,
        "hardConcurrencyLimit": spec.hard_concurrency_limit,
        "maxQueuedQueries": spec.max_queued,
        "memoryUsage": _size(group.memory_usage),
        "numQueuedQueries": group.queued_total,
        "numRunningQueries": group.running_total,
        "numEligibleSubGroups": group.eligible_children(),
        "subGroups": subgroups,
        "runningQueries": running,
        "workersPerQueryLimit": spec.workers_per_query_limit,
        "numAggregatedQueuedQueries": group.queued_total,
        "numAggregatedRunningQueries": group.running_total,
    }
    return {name: value for name, value in info.items() if value is not None}


def _size(size: float) -> str:
    return "8192PB" if size == inf else format_data_size(int(size))

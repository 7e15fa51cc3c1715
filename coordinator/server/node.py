"""``/v1/info``, ``/v1/status``, ``/v1/cluster``: health checks of clients, gateways and load balancers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.server.cluster_stats import ClusterStats, cluster_stats, together
from coordinator.server.lifecycle import NodeLifecycle, NodeState
from coordinator.server.peer_queries import SILENT_HEADER, gathered
from coordinator.server.problems import bad_request
from coordinator.server.query_access import QueryAccess
from coordinator.server.settings import Cluster, NodeInfo
from shared.units import format_duration

_CLUSTER = "/v1/cluster"


def json_response(content: object, status: int = 200) -> Response:
    """``content`` as JSON, without the charset that Presto does not send either."""
    headers = {"X-Content-Type-Options": "nosniff"}
    return Response(msgspec.json.encode(content), status, media_type="application/json", headers=headers)


@dataclass(frozen=True, slots=True)
class NodeRoutes:
    """Who and how the node is."""

    dispatcher: Dispatcher
    node: NodeInfo
    lifecycle: NodeLifecycle
    access: QueryAccess
    engines: Callable[[], Mapping[str, object]] = dict
    cluster: Cluster | None = None
    """The other coordinators, whose queries are counted too."""

    def router(self) -> APIRouter:
        router = APIRouter(prefix="/v1", default_response_class=Response)
        router.add_api_route("/info", self.info, methods=["GET"])
        router.add_api_route("/info/state", self.state, methods=["GET"])
        router.add_api_route("/info/state", self.change_state, methods=["PUT"])
        router.add_api_route("/info/coordinator", self.coordinator, methods=["GET"])
        router.add_api_route("/info/stats", self.stats, methods=["GET"])
        router.add_api_route("/status", self.status, methods=["GET", "HEAD"])
        router.add_api_route("/cluster", self.cluster_stats, methods=["GET"])
        return router

    def _identity(self) -> dict[str, object]:
        return {
            "nodeVersion": {"version": self.node.version},
            "environment": self.node.environment,
            "coordinator": True,
        }

    async def info(self) -> Response:
        """Version and uptime; ``starting`` until the server is up."""
        uptime = format_duration(self.lifecycle.uptime)
        return json_response({**self._identity(), "starting": self.lifecycle.starting, "uptime": uptime})

    async def state(self) -> Response:
        return json_response(self.lifecycle.state.value)

    async def change_state(self, request: Request) -> Response:
        """Drain (INACTIVE), undo it (ACTIVE), or leave for good (SHUTTING_DOWN); the body is a JSON string."""
        await self.access.check_write_information(request)
        try:
            new = NodeState(msgspec.json.decode(await request.body(), type=str))
        except (msgspec.DecodeError, ValueError) as error:
            raise bad_request('Invalid state: expected "ACTIVE", "INACTIVE" or "SHUTTING_DOWN"') from error
        if not self.lifecycle.change(new):
            raise bad_request("Cluster is shutting down")
        return Response(status_code=200)

    async def coordinator(self) -> Response:
        """200 while this node takes statements, 404 otherwise: load balancers look here."""
        return Response(status_code=200 if self.lifecycle.state is NodeState.ACTIVE else 404)

    async def stats(self) -> Response:
        load = {"cpuOverload": False, "memoryOverload": False}
        return json_response({"nodeState": self.lifecycle.state.value, "loadMetrics": load})

    async def status(self) -> Response:
        """Load of the process and the machine; sizes in bytes."""
        processors = os.cpu_count() or 1
        used, available = _memory()
        content = {
            "nodeId": self.node.node_id,
            **self._identity(),
            "uptime": format_duration(self.lifecycle.uptime),
            "externalAddress": self.node.external_address,
            "internalAddress": self.node.internal_address,
            "memoryInfo": {"totalNodeMemory": f"{available}B", "pools": {}},
            "processors": processors,
            "processCpuLoad": min(1.0, time.process_time() / max(self.lifecycle.uptime, 1e-3) / processors),
            "systemCpuLoad": min(1.0, os.getloadavg()[0] / processors),
            "heapUsed": used,
            "heapAvailable": available,
            "nonHeapUsed": 0,
            **self.engines(),
        }
        return json_response(content)

    async def cluster_stats(
        self, request: Request, local_only: Annotated[bool, Query(alias="includeLocalInfoOnly")] = False
    ) -> Response:
        """Counts of queries, and what they have read so far, on all coordinators."""
        own = cluster_stats(self.dispatcher)
        if local_only or self.cluster is None:
            return json_response(own)
        others = await gathered(self.cluster, request, _CLUSTER, ClusterStats)
        answer = json_response(together([own, *others.answers.values()]))
        if others.silent:
            answer.headers[SILENT_HEADER] = ",".join(others.silent)
        return answer


def _memory() -> tuple[int, int]:
    """Bytes resident in this process, and bytes of the machine."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = page * os.sysconf("SC_PHYS_PAGES")
    statm = Path("/proc/self/statm")
    resident = int(statm.read_text().split()[1]) * page if statm.exists() else 0
    return resident, total

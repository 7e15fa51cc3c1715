"""``/metrics`` for Prometheus, from a registry of this server's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, get_args

from fastapi import APIRouter, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.result_space import Place
from coordinator.dispatch.states import QueryState
from coordinator.server.query_access import QueryAccess
from coordinator.server.query_manager import QueryManagerCollector


class QueryCollector(Collector):
    """Reads the dispatcher when scraped, so that serving statements pays nothing."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def collect(self) -> Iterator[Metric]:
        queries = list(self._dispatcher.registry)
        states = Counter(query.state for query in queries)
        by_state = GaugeMetricFamily("procession_queries", "Remembered queries by state", labels=["state"])
        for state in QueryState:
            by_state.add_metric([state.value], states[state])
        yield by_state
        waiting = GaugeMetricFamily("procession_result_buffer_bytes", "Rows that wait for clients", labels=["place"])
        for place in get_args(Place):
            waiting.add_metric([place], self._dispatcher.results.used(place))
        yield waiting
        slots = GaugeMetricFamily("procession_resource_group_queries", "Queries admitted", labels=["group", "kind"])
        for group in self._dispatcher.groups.walk():
            if group.parent is None or group.spec.jmx_export:
                slots.add_metric([".".join(group.id), "running"], group.running_total)
                slots.add_metric([".".join(group.id), "queued"], group.queued_total)
        yield slots
        ended = CounterMetricFamily("procession_queries_ended", "Queries by how they ended", labels=["error"])
        for name, count in self._dispatcher.totals.ended.items():
            ended.add_metric([name], count)
        yield ended
        verbs = CounterMetricFamily("procession_verb_seconds", "Seconds of ended queries by verb", labels=["verb"])
        for verb, seconds in self._dispatcher.totals.verb_seconds.items():
            verbs.add_metric([verb], seconds)
        yield verbs


class _Asked(Collector):
    """The samples of some names; a registry finds only those of collectors that say their names beforehand."""

    def __init__(self, registry: CollectorRegistry, names: frozenset[str]) -> None:
        self._registry, self._names = registry, names

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            samples = [sample for sample in metric.samples if sample.name in self._names]
            if samples:
                metric.samples = samples
                yield metric


def metrics_router(dispatcher: Dispatcher, registry: CollectorRegistry, access: QueryAccess) -> APIRouter:
    """``GET /metrics``; other rooms may register more in ``registry``. ``name[]`` asks for some, as gateways do."""
    registry.register(QueryCollector(dispatcher))
    registry.register(QueryManagerCollector(dispatcher))
    ProcessCollector(registry=registry)
    router = APIRouter(default_response_class=Response)

    async def metrics(
        request: Request, names: Annotated[list[str] | None, Query(alias="name[]", max_length=100)] = None
    ) -> Response:
        await access.check_read_information(request)
        found = generate_latest(_Asked(registry, frozenset(names)) if names else registry)
        return Response(found, headers={"Content-Type": CONTENT_TYPE_LATEST})

    router.add_api_route("/metrics", metrics, methods=["GET"])
    return router

"""What Spark measured of each of its operators, which Connect sends after the rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.connect.client.core import SparkConnectClient
from pyspark.sql.connect.shell.progress import Progress
from pyspark.sql.metrics import PlanMetrics

from coordinator.engine.measured import Operator


def measured_batches(client: SparkConnectClient, plan: object, operators: list[Operator]) -> Iterator[pa.RecordBatch]:
    """The batches of ``plan``; ``operators`` is filled at the end, a node before those that feed it."""
    request = client._execute_plan_request_with_metadata()
    request.plan.CopyFrom(plan)
    found: list[PlanMetrics] = []
    with Progress(handlers=client._progress_handlers, operation_id=request.operation_id) as progress:
        for response in client._execute_and_fetch_as_iterator(request, {}, progress):
            if isinstance(response, pa.RecordBatch):
                yield response
            elif isinstance(response, PlanMetrics):
                found.append(response)
    operators.extend(_in_order(found))


def _in_order(found: list[PlanMetrics]) -> Iterator[Operator]:
    known = {metrics.plan_id: metrics for metrics in found}
    roots = [
        metrics for metrics in found if metrics.parent_plan_id not in known or metrics.parent_plan_id == metrics.plan_id
    ]
    seen: set[int] = set()

    def walk(metrics: PlanMetrics, depth: int) -> Iterator[Operator]:
        if metrics.plan_id in seen:
            return
        seen.add(metrics.plan_id)
        values = {str(value.name): int(value.value) for value in metrics.metrics}
        yield Operator(str(metrics.name), depth, values)
        for below in found:
            if below.parent_plan_id == metrics.plan_id:
                yield from walk(below, depth + 1)

    for root in roots:
        yield from walk(root, 0)

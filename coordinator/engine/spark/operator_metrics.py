"""What Spark measured of each of its operators, which Connect sends after the rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.connect.client.core import SparkConnectClient
from pyspark.sql.connect.shell.progress import Progress
from pyspark.sql.metrics import PlanMetrics

from coordinator.explain.operators import Does, Operator, Tree, trees

_LOG = logging.getLogger(__name__)
_DOES: Mapping[str, Does] = {
    "AdaptiveSparkPlan": "pass", "ResultQueryStage": "pass", "ShuffleQueryStage": "pass",
    "BroadcastQueryStage": "pass", "Exchange": "pass", "BroadcastExchange": "pass", "AQEShuffleRead": "pass",
    "InputAdapter": "pass", "ColumnarToRow": "pass", "Project": "pass", "Coalesce": "pass", "Sort": "sort",
    "Window": "window", "Filter": "filter", "HashAggregate": "aggregate", "ObjectHashAggregate": "aggregate",
    "SortAggregate": "aggregate", "BroadcastHashJoin": "join", "SortMergeJoin": "join", "ShuffledHashJoin": "join",
    "BroadcastNestedLoopJoin": "join", "CartesianProduct": "join", "TakeOrderedAndProject": "top_n",
    "CollectLimit": "limit", "GlobalLimit": "limit", "LocalLimit": "limit", "Union": "union", "Generate": "unnest",
    "LocalTableScan": "values", "BatchEvalPython": "pass", "ArrowEvalPython": "pass",
}  # fmt: skip
_SCANS = ("BatchScan", "Scan", "FileScan")
_MILLISECONDS = "pipelineTime"


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
    operators.extend(operators_of(found))


def operators_of(found: Sequence[PlanMetrics]) -> list[Operator]:
    """What Spark sent, in order; none where it cannot be understood: the rows have come, and no query fails for it."""
    try:
        return counted_once(list(_in_order(found)))
    except Exception:
        _LOG.warning("what Spark measured of its operators cannot be understood", exc_info=True)
        return []


def _in_order(found: Sequence[PlanMetrics]) -> Iterator[Operator]:
    """A stack of our own: plans may be deeper than Python's."""
    known = {metrics.plan_id for metrics in found}
    roots: list[PlanMetrics] = []
    below: dict[int, list[PlanMetrics]] = {}
    for metrics in found:
        if metrics.parent_plan_id not in known or metrics.parent_plan_id == metrics.plan_id:
            roots.append(metrics)
        else:
            below.setdefault(metrics.parent_plan_id, []).append(metrics)
    seen: set[int] = set()
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        metrics, depth = waiting.pop()
        if metrics.plan_id in seen:
            continue
        seen.add(metrics.plan_id)
        values = {str(value.name): int(value.value) for value in metrics.metrics}
        yield operator_of(str(metrics.name), depth, values)
        waiting += [(child, depth + 1) for child in reversed(below.get(metrics.plan_id, []))]


def operator_of(name: str, depth: int, metrics: Mapping[str, int]) -> Operator:
    """One operator by the name and the metrics that Spark gives it."""
    word, _, rest = name.partition(" ")
    does: Does = "scan" if word in _SCANS else "pass" if word == "WholeStageCodegen" else _DOES.get(word, "other")
    rows = metrics.get("numOutputRows")
    if word == "Exchange":
        rows = metrics.get("shuffleRecordsWritten")
    if word == "BroadcastExchange" or (word == "ColumnarToRow" and not rows):
        rows = None  # of a broadcast what the hashed relation keeps: keys that are NULL or repeated may be missing
    return Operator(
        name,
        depth,
        metrics,
        does,
        rows=rows,
        size=metrics.get("dataSize") if word == "Exchange" else None,
        pipeline=metrics[_MILLISECONDS] / 1000 if _MILLISECONDS in metrics else None,
        memory=metrics.get("peakMemory") or None,
        table=rest.strip() or None if does == "scan" else None,
        exchange=word in ("Exchange", "BroadcastExchange"),
    )


def counted_once(operators: list[Operator]) -> list[Operator]:
    """Counters of a stage that Spark ran several times, as for the samples of a sort by ranges, are sums over its runs.

    What it wrote to the exchange above it, it wrote once. Where its rows are a multiple of that, all of its counters
    are; where they are neither, rows are not told.
    """
    times: dict[int, int | None] = {}
    for root in trees(operators):
        for tree in root.walk():
            if tree.operator.exchange and tree.operator.rows is not None and len(tree.children) == 1:
                _compare(tree, times)
    return [_once(operator, times.get(id(operator), 1)) for operator in operators]


def _compare(exchange: Tree, times: dict[int, int | None]) -> None:
    (below,) = exchange.children
    seen, written = below.rows, exchange.operator.rows
    if seen is None or not written or seen == written:
        return
    ratio = seen // written if seen % written == 0 else None
    waiting = [below]
    while waiting:
        tree = waiting.pop()
        if not tree.operator.exchange:
            times[id(tree.operator)] = ratio
            waiting += tree.children


def _once(operator: Operator, times: int | None) -> Operator:
    if times == 1 or operator.rows is None:
        return operator
    if times is None or operator.rows % times:
        return replace(operator, rows=None)
    return replace(operator, rows=operator.rows // times, notes=(f"ran {times} times",))

"""How the rows of a plan node are spread over tasks, and the exchanges that spread them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from coordinator.fragmenter import partitioning
from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan.expressions import Variable
from shared.plan.nodes import ExchangeNode, JoinNode, OrderingScheme, PartitioningHandle, PlanNode
from shared.plan.traversal import output_variables


class Spread(Enum):
    """SINGLE: one task has all rows. SOURCE: where the splits are. HASH: by key. ALL_WORKERS: a task on each."""

    SINGLE = auto()
    SOURCE = auto()
    HASH = auto()
    ALL_WORKERS = auto()


class Distributed(Struct, frozen=True):
    """A plan and the spread of its rows; ``keys`` are those of HASH, as far as they are still in the output."""

    node: PlanNode
    spread: Spread
    keys: tuple[Variable, ...] = ()


def gather(ids: PlanNodeIds, source: Distributed, ordering: OrderingScheme | None = None) -> PlanNode:
    """All rows in one task, merged in order when the sources are sorted."""
    if source.spread is Spread.SINGLE:
        return source.node
    return remote_exchange(ids, "GATHER", partitioning.SINGLE, source.node, ordering=ordering)


def repartition(ids: PlanNodeIds, source: Distributed, keys: Sequence[Variable]) -> Distributed:
    """Rows with equal keys in the same task; no exchange when they are already, or when one task has everything."""
    names = tuple(key.name for key in keys)
    if source.spread is Spread.HASH and names == tuple(key.name for key in source.keys):
        return source
    exchange = remote_exchange(ids, "REPARTITION", partitioning.FIXED_HASH, source.node, arguments=keys)
    return Distributed(exchange, Spread.HASH, tuple(keys))


def broadcast(ids: PlanNodeIds, source: Distributed) -> PlanNode:
    """All rows in every task of the fragment above."""
    return remote_exchange(ids, "REPLICATE", partitioning.FIXED_BROADCAST, source.node)


def remote_exchange(
    ids: PlanNodeIds,
    kind: str,
    handle: PartitioningHandle,
    source: PlanNode,
    *,
    arguments: Sequence[Variable] = (),
    ordering: OrderingScheme | None = None,
) -> ExchangeNode:
    """A REMOTE_STREAMING exchange over one source that passes all its columns."""
    layout = output_variables(source)
    return ExchangeNode(
        id=ids.next(),
        sourceLocation=source.sourceLocation,
        type=kind,  # type: ignore[arg-type]
        scope="REMOTE_STREAMING",
        partitioningScheme=partitioning.scheme(handle, layout, arguments),
        sources=(source,),
        inputs=(layout,),
        ensureSourceOrdering=ordering is not None,
        orderingScheme=ordering,
    )


def build_side(ids: PlanNodeIds, source: PlanNode, keys: Sequence[Variable]) -> PlanNode:
    """The build side of a join, spread over the threads of its task by key, or gathered when there is none.

    As Presto's AddLocalExchanges does; a build side that another join or exchange makes is spread already.
    """
    if isinstance(source, JoinNode) or (isinstance(source, ExchangeNode) and source.scope == "LOCAL"):
        return source
    handle = partitioning.FIXED_HASH if keys else partitioning.SINGLE
    spread = remote_exchange(ids, "REPARTITION" if keys else "GATHER", handle, source, arguments=keys)
    return replace(spread, scope="LOCAL")

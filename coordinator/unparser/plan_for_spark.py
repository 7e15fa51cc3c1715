"""A query put by for Spark, which runs it where the embedded engine gives up.

Writing its SQL takes planning a hundred times as long as keeping the plan, and hardly any query ever needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from coordinator.unparser.approximations import approximate_functions, estimating_as
from coordinator.unparser.engine_choice import scans
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.session_zone import in_session_zone, session_zone
from coordinator.vocabulary.planned_statement import PlanForSpark
from shared.plan.nodes import OutputNode

_PLANS = msgspec.msgpack.Decoder(OutputNode)


def put_by(root: OutputNode, relation_of: RelationOf) -> PlanForSpark:
    """The query, with the snapshots that its scans are pinned to."""
    relations = tuple(relation_of(scan) for scan in scans(root))
    return PlanForSpark(msgspec.msgpack.encode(root), relations, session_zone(), approximate_functions())


@contextmanager
def taken_up(kept: PlanForSpark) -> Iterator[tuple[OutputNode, RelationOf]]:
    """The query again, and meanwhile what its session asks of SQL."""
    root = _PLANS.decode(kept.plan)
    relations = {id(scan): relation for scan, relation in zip(scans(root), kept.relations, strict=True)}
    with in_session_zone(kept.zone), estimating_as(kept.approximate_functions):
        yield root, lambda scan: relations[id(scan)]

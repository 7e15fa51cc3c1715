"""SimplePlanFragment, the unit that a coordinator sends to ``/v1/velox/plan``, and SubPlan, the tree of them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shared.plan.expressions import Variable
from shared.plan.nodes import PartitioningHandle, PartitioningScheme, PlanNode, Wire


class StageExecutionDescriptor(Wire, frozen=True, kw_only=True):
    stageExecutionStrategy: str
    groupedExecutionScanNodes: tuple[str, ...]
    totalLifespans: int
    groupedExecutionPartitionValues: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    partitionColumnMappings: dict[str, dict[str, str]] | msgspec.UnsetType = msgspec.UNSET


UNGROUPED_EXECUTION = StageExecutionDescriptor(
    stageExecutionStrategy="UNGROUPED_EXECUTION", groupedExecutionScanNodes=(), totalLifespans=1
)


class SimplePlanFragment(Wire, frozen=True, kw_only=True):
    """One stage of a plan with all eight keys that Presto always sends."""

    id: str
    root: PlanNode
    variables: tuple[Variable, ...]
    partitioning: PartitioningHandle
    tableScanSchedulingOrder: tuple[str, ...]
    partitioningScheme: PartitioningScheme
    stageExecutionDescriptor: StageExecutionDescriptor
    outputTableWriterFragment: bool


class SubPlan(msgspec.Struct, frozen=True):
    """A fragment and the sub-plans whose output its RemoteSource nodes read."""

    fragment: SimplePlanFragment
    children: tuple[SubPlan, ...] = ()

    def fragments(self) -> Iterator[SimplePlanFragment]:
        """This fragment, then those of the children, depth first."""
        yield self.fragment
        for child in self.children:
            yield from child.fragments()


def encode_fragment(fragment: SimplePlanFragment) -> bytes:
    """The JSON body that the plan checker posts."""
    return msgspec.json.encode(fragment)


def decode_fragment(body: bytes) -> SimplePlanFragment:
    """Inverse of encode_fragment; raises msgspec.DecodeError or its subclass ValidationError."""
    return msgspec.json.decode(body, type=SimplePlanFragment)

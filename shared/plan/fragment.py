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


class SubPlan:
    """A fragment and the sub-plans whose output its RemoteSource nodes read. Nothing of it changes.

    Where it was received as JSON, it is decoded when somebody looks at it: a verdict that is known takes no more.
    """

    __slots__ = ("_encoded", "_fragment", "children")

    def __init__(self, fragment: SimplePlanFragment, children: tuple[SubPlan, ...] = ()) -> None:
        self._fragment: SimplePlanFragment | None = fragment
        self._encoded = b""
        self.children = children

    @classmethod
    def received(cls, encoded: bytes, children: tuple[SubPlan, ...]) -> SubPlan:
        """Of ``encode_fragment``'s JSON."""
        made = cls.__new__(cls)
        made._fragment, made._encoded, made.children = None, encoded, children
        return made

    @property
    def fragment(self) -> SimplePlanFragment:
        if self._fragment is None:
            self._fragment = decode_fragment(self._encoded)
        return self._fragment

    @property
    def encoded(self) -> bytes:
        """The fragment's JSON."""
        return self._encoded or encode_fragment(self.fragment)

    def walk(self) -> Iterator[SubPlan]:
        """This one, then the children, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def fragments(self) -> Iterator[SimplePlanFragment]:
        """This fragment, then those of the children, depth first."""
        return (part.fragment for part in self.walk())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubPlan):
            return NotImplemented
        return (self.fragment, self.children) == (other.fragment, other.children)

    __hash__ = None  # type: ignore[assignment]  # fragments hold JSON objects, which have none

    def __repr__(self) -> str:
        return f"SubPlan({self.fragment!r}, {self.children!r})"


def encode_fragment(fragment: SimplePlanFragment) -> bytes:
    """The JSON body that the plan checker posts."""
    return msgspec.json.encode(fragment)


def decode_fragment(body: bytes) -> SimplePlanFragment:
    """Inverse of encode_fragment; raises msgspec.DecodeError or its subclass ValidationError."""
    return msgspec.json.decode(body, type=SimplePlanFragment)

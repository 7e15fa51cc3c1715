"""A connector that runs parts of a plan itself. Source: Presto RFC-0009 (join pushdown) and its connector optimizers.

The optimizer offers nodes that stand directly over scans of one catalog; what the connector takes over disappears from
the plan and reappears in the scan's handles. The connector alone knows what its source computes with Presto's meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shared.plan.expressions import RowExpression
from shared.plan.nodes import PlanNode, TableScanNode
from shared.spi.session import Session


@dataclass(frozen=True, slots=True)
class JoinedScan:
    """One scan in place of several, and the conjuncts that must still be applied above it."""

    scan: TableScanNode
    remaining: tuple[RowExpression, ...]


@runtime_checkable
class Pushdown(Protocol):
    """What a connector adds to take over work."""

    def push(self, node: PlanNode, session: Session) -> PlanNode | None:
        """A plan with the same output and more of the work in its scan; None when nothing can be taken over.

        ``node`` is a Filter, Project, Aggregation, TopN, Limit, SemiJoin or outer Join whose sources are all scans of
        this catalog.
        """
        ...

    def pushable(self, conjunct: RowExpression, scans: Sequence[TableScanNode], session: Session) -> bool:
        """Whether the source computes ``conjunct`` over these scans with Presto's meaning."""
        ...

    def join(
        self, scans: Sequence[TableScanNode], conjuncts: Sequence[RowExpression], session: Session
    ) -> JoinedScan | str:
        """One scan for the inner join of ``scans`` under ``conjuncts``, or the reason why it is not worth it."""
        ...

    def pays(self, scan: TableScanNode, parts: Sequence[TableScanNode], session: Session) -> str | None:
        """The reason why one scan of a query over a join is not worth it in place of the scans that it joins."""
        ...

    def explained(self, scan: TableScanNode, reason: str) -> TableScanNode:
        """``scan`` with the reason, for EXPLAIN, why a join over it was not taken over."""
        ...

    def finished(self, scan: TableScanNode) -> TableScanNode:
        """``scan`` once nothing more will be pushed, with the remote query as text (``remoteSql`` of its layout)."""
        ...


PushdownOf = Callable[[str], Pushdown | None]
"""The pushdown of the catalog of that connector id, None for those without."""

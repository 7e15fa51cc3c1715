"""Whether fetching columns later pays: by session properties, by what is deferred, by how many rows can be left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from coordinator.optimizer.rule import RuleContext
from coordinator.optimizer.rules.late_materialization.estimates import (
    limits_row_numbers,
    most_rows,
    selective,
    share_left,
)
from coordinator.optimizer.rules.late_materialization.intervals import Intervals, intervals
from coordinator.optimizer.rules.late_materialization.rewriter import Deferral
from coordinator.vocabulary.session_properties import session_flag, session_value
from shared.plan import nodes
from shared.plan.nodes import PlanNode
from shared.plan.traversal import sources, variable_of_key, walk
from shared.plan.types import parse_type
from shared.spi.handles import column_name
from shared.spi.session import Session
from shared.units import format_data_size, parse_data_size

_NARROW = frozenset(
    {"boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "date", "time", "timestamp", "decimal"}
)
SWITCH = "enable_global_late_materialization"
_MOST_SHARE = 0.5
"""Of the scanned rows, where no LIMIT says how many are left: the engine itself stops when it finds too many."""
_MOST_SHARE_OF_SMALL = 0.2
_USUAL_COMPRESSION = 4
"""Bytes of columns for each that is stored: sizes of tables are judged as they are stored."""
_LARGE = 8
"""Times the smallest table: a first pass in vain takes no noticeable part of reading a large table."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The session's; names without the prefix ``global_late_materialization_``."""

    enabled: bool
    cost_based: bool
    max_rows: int
    min_columns: int
    min_table_size: int
    """Bytes: smaller tables are read whole before a second pass would have started."""

    @classmethod
    def of(cls, session: Session) -> Settings:
        prefix = "global_late_materialization_"
        return cls(
            enabled=session_flag(session, SWITCH),
            cost_based=session_flag(session, prefix + "cost_based"),
            max_rows=int(session_value(session, prefix + "max_rows")),
            min_columns=int(session_value(session, prefix + "min_columns")),
            min_table_size=parse_data_size(session_value(session, prefix + "min_table_size")),
        )


def too_narrow(deferral: Deferral, settings: Settings) -> bool:
    """Whether the position of a row would cost as much as the columns that it replaces."""
    types = [parse_type(v.type).base for v in deferral.scan.outputVariables if v.name in deferral.names]
    return all(type_ in _NARROW for type_ in types) and len(types) < settings.min_columns


def reason_of_plan(root: nodes.OutputNode, settings: Settings) -> str | None:
    """Why nothing of a plan should be fetched later, whatever its tables are."""
    if not any(isinstance(node, _REDUCING) or limits_row_numbers(node) for node in walk(root)):
        return "every row of the table is in the result"
    most = most_rows(root)
    if most is not None and most > settings.max_rows:
        return f"up to {most} rows are in the result, more than global_late_materialization_max_rows"
    return None


def reason_against(
    root: nodes.OutputNode, deferrals: Sequence[Deferral], settings: Settings, context: RuleContext
) -> str | None:
    """Why columns should not be fetched later; None when they should."""
    if not settings.cost_based:
        return None
    least = settings.min_table_size
    if all(_to_read(d, least) < least for d in deferrals):
        return f"no table has {format_data_size(least)} to read"
    chains, most = [_chain(root, deferral.scan) for deferral in deferrals], most_rows(root)
    if most is not None and any(_limit_pays(chain) for chain in chains):
        return None
    known = intervals(root, context.column_bounds)
    if most is not None:
        if any(selective(node.predicate, known) for chain in chains for node in chain if _is_filter(node)):
            return None
        return "the scan stops at the LIMIT by itself"
    large = any(_to_read(d, _LARGE * least) >= _LARGE * least for d in deferrals)
    return _against_unlimited(chains, known, _MOST_SHARE if large else _MOST_SHARE_OF_SMALL)


def _to_read(deferral: Deferral, enough: int) -> int:
    """Bytes that reading at once would take, as if stored in the usual way; ``enough`` when nothing is known.

    What compresses far better than usual is judged by what it is once it is read.
    """
    stored, asked = deferral.descriptor.size_bytes or enough, deferral.descriptor.decoded_bytes
    if stored >= enough or asked is None:
        return stored
    columns = _columns(deferral.scan)
    decoded = asked({columns[name] for name in deferral.names}) or 0
    return max(stored, decoded // _USUAL_COMPRESSION)


def _columns(scan: nodes.TableScanNode) -> dict[str, str]:
    """Names of the table's columns by variable."""
    handles = {variable_of_key(key).name: handle for key, handle in scan.assignments.items()}
    return {name: column_name(handle) or name for name, handle in handles.items()}


_REDUCING = (nodes.TopNNode, nodes.LimitNode, nodes.FilterNode, nodes.JoinNode, nodes.SemiJoinNode, nodes.SampleNode)


def _chain(root: PlanNode, scan: nodes.TableScanNode) -> list[PlanNode]:
    """The nodes from the root down to ``scan``."""
    for source in sources(root):
        below = _chain(source, scan)
        if below:
            return [root, *below]
    return [root] if root is scan else []


def _limit_pays(chain: Iterable[PlanNode]) -> bool:
    """Whether more than the rows of the LIMIT is read whatever filters leave: for an order or a join."""
    return any(isinstance(node, _ALL_READ) for node in chain)


_ALL_READ = (
    nodes.TopNNode,
    nodes.SortNode,
    nodes.JoinNode,
    nodes.SemiJoinNode,
    nodes.WindowNode,
    nodes.RowNumberNode,
    nodes.TopNRowNumberNode,
)


def _is_filter(node: PlanNode) -> TypeGuard[nodes.FilterNode]:
    return isinstance(node, nodes.FilterNode)


def _against_unlimited(chains: Sequence[Sequence[PlanNode]], known: Intervals, most: float) -> str | None:
    least = min(share_left(chain, known) for chain in chains)
    if least >= most:
        return "without LIMIT, no filter or join is known to leave few rows"
    return None

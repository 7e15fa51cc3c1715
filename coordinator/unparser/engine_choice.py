"""Which engine answers a query: the embedded one when all that it reads is at hand and small, else Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, assert_never

from coordinator.unparser.scans import RelationOf
from shared.plan.nodes import (
    AggregationNode,
    EnforceSingleRowNode,
    FilterNode,
    GroupingSets,
    JoinNode,
    LimitNode,
    PlanNode,
    TableScanNode,
    TopNNode,
)
from shared.plan.traversal import sources
from shared.spi.relation import (
    AppendedRows,
    CatalogTable,
    JdbcRelation,
    ParquetRelation,
    ReadHere,
    Relation,
    RowsRelation,
    SentRelation,
)
from shared.units import format_data_size

LOCAL_BYTES = 64 << 20
"""What one query may read of databases and of tpch in the coordinator: a second of one core."""
_INDIRECT = 8
"""How many times as much it costs to read files through the kernels."""
_AGAIN = 4
"""How much less it costs to read the same of a table once more: it is computed once or comes from memory."""
_DECODED = 4
"""How much larger columns may be once decoded than ``scan_bytes``: what is sorted or joined has to be held."""
_MOST_GIVEN = 1 << 30
"""Bytes of a result that leaves nothing out: it goes to a file first, and Spark gives rows as it has them."""
_MOST_PAIRS = 50_000_000
"""Rows that a join without equalities may compare on one core."""
_ROWS_A_GROUP = 100
"""As which groups are judged that are joined without equalities: summaries, of which there are few."""
_LEAVING_OUT = (AggregationNode, EnforceSingleRowNode, FilterNode, LimitNode, TopNNode)
Engine = Literal["auto", "embedded", "spark"]


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What the embedded engine takes of tables of lakes; ``engine`` is what the session asks for.

    ``program_rows`` are the most rows for which it runs programs of the kernels, which take microseconds a row.
    """

    engine: Engine = "auto"
    scan_bytes: int = 4 << 30
    scan_rows: int = 500_000_000
    program_rows: int = 100_000
    spark_reader_bytes: int = 0
    """What a task of Spark's own reader may hold; 0 is no limit."""
    spark_page_bytes: int = 0
    """The largest Parquet page that Spark may be given; 0 is no limit."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """``why`` is for people; ``rows`` are those that the embedded engine would read of tables of lakes."""

    embedded: bool
    why: str
    rows: int = 0
    only: bool = False
    """Whether no other engine can run it."""
    most_sent_bytes: int | None = None
    """Where it is not known how much databases send: what the embedded engine takes of it."""


@dataclass(slots=True)
class _Read:
    """What a plan reads: of tables of lakes, and bytes of databases and of tpch."""

    lakes: bool = False
    size: int = 0
    rows: int = 0
    files: int = 0
    cost: int = 0
    cost_rows: int = 0
    decoded: int = 0
    others: int = 0
    unknown: bool = False
    only_here: bool = False
    seen: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, relation: Relation) -> str | None:
        """Why only Spark can read it."""
        match relation:
            case CatalogTable(here=ReadHere() as here):
                self.lakes = True
                share = self._share(relation, here)
                self.cost += int(share * here.size_bytes)
                self.cost_rows += int(share * here.rows)
                self.size += here.size_bytes
                self.rows += here.rows
                self.files += here.files
                self.only_here |= here.only
                self.decoded += here.decoded_bytes or 0
            case CatalogTable():
                return f"{'.'.join(relation.parts)} is read by Spark alone: {relation.here}"
            case ParquetRelation() | JdbcRelation():
                self.unknown |= relation.size_bytes is None
                self.others += relation.size_bytes or 0
            case RowsRelation():
                pass
            case AppendedRows():
                return f"the new rows of {'.'.join(relation.parts)} are read by Spark alone"
            case SentRelation():
                return "rows that come along with a statement are read by Spark alone"
            case _:
                assert_never(relation)
        return None

    def _share(self, relation: CatalogTable, here: ReadHere) -> float:
        """Of what reading it costs: the same of a table once more, as WITH queries have it, is at hand by then."""
        read = (relation.parts, relation.snapshot_id, here.size_bytes, here.rows, here.files)
        weight = 1.0 if here.direct else float(_INDIRECT)
        if read in self.seen:
            return weight / _AGAIN
        self.seen.add(read)
        return weight

    def __str__(self) -> str:
        sent = f" and {format_data_size(self.others)} of other catalogs" if self.others else ""
        unknown = f", and of databases at most {format_data_size(LOCAL_BYTES)}" if self.unknown else ""
        return f"{format_data_size(self.size)} in {self.rows} rows of {self.files} files{sent}{unknown}"


def choose_engine(root: PlanNode, relation_of: RelationOf, limits: EngineLimits) -> EngineChoice:
    """What should answer a plan; one without tables is the embedded engine's."""
    read = _Read()
    for scan in scans(root):
        if (only_spark := read.add(relation_of(scan))) is not None:
            return EngineChoice(False, only_spark)
    if read.unknown and not read.lakes:
        return EngineChoice(False, "the size of what a database sends is not known")
    if read.only_here:
        return EngineChoice(True, f"Spark cannot read columns of type time; it reads {read}", read.rows, only=True)
    if read.lakes and limits.engine == "spark":
        return EngineChoice(False, "the session asks for it")
    if read.lakes and limits.engine == "embedded":
        return EngineChoice(True, f"the session asks for it; it reads {read}", read.rows)
    if (too_much := _too_much(root, read, limits)) is not None:
        return EngineChoice(False, too_much)
    if read.lakes and (pairs := _pairs(root, relation_of)) > _MOST_PAIRS:
        return EngineChoice(False, f"it compares {pairs} pairs of rows")
    why = f"it reads {read}" if read.lakes else "it reads no table of a lake"
    return EngineChoice(True, why, read.rows, most_sent_bytes=LOCAL_BYTES if read.unknown else None)


def _too_much(root: PlanNode, read: _Read, limits: EngineLimits) -> str | None:
    if read.others > LOCAL_BYTES:
        return f"it reads {format_data_size(read.others)} of databases"
    if read.cost > limits.scan_bytes or read.cost_rows > limits.scan_rows:
        most = f"at most {format_data_size(limits.scan_bytes)} and {limits.scan_rows} rows"
        weighed = (
            ""
            if read.cost == read.size
            else f", which counts as {format_data_size(read.cost)} and {read.cost_rows} rows"
        )
        return f"it reads {read}{weighed}, of {most}"
    if read.decoded > _DECODED * limits.scan_bytes:
        return f"it reads {format_data_size(read.decoded)} once decoded"
    if read.decoded > _MOST_GIVEN and not any(isinstance(node, _LEAVING_OUT) for node in _nodes(root)):
        return f"its result has {format_data_size(read.decoded)}"
    return None


def _pairs(root: PlanNode, relation_of: RelationOf) -> int:
    """The most pairs of rows that a join without equalities compares, of the tables below it."""
    found = 0
    for node in _nodes(root):
        if isinstance(node, JoinNode) and not node.criteria:
            found = max(found, _most_rows(node.left, relation_of) * _most_rows(node.right, relation_of))
    return found


def _most_rows(root: PlanNode, relation_of: RelationOf) -> int:
    """Rows of the tables below a node, but of what gives one row or a few."""
    found, stack = 0, [root]
    while stack:
        match stack.pop():
            case EnforceSingleRowNode() | AggregationNode(groupingSets=GroupingSets(groupingKeys=())):
                found += 1
            case AggregationNode() as grouped:
                found += 1 + _most_rows(grouped.source, relation_of) // _ROWS_A_GROUP
            case LimitNode(count=count) | TopNNode(count=count) as node:
                found += min(count, _most_rows(node.source, relation_of))
            case TableScanNode() as scan:
                found += _rows(relation_of(scan))
            case JoinNode(criteria=()) as cross:
                found += _most_rows(cross.left, relation_of) * _most_rows(cross.right, relation_of)
            case node:
                stack.extend(sources(node))
    return found


def _rows(relation: Relation) -> int:
    match relation:
        case CatalogTable(here=ReadHere() as here):
            return here.rows
        case JdbcRelation():
            return relation.row_count or 1
        case _:
            return 1


def reads_lakes(root: PlanNode, relation_of: RelationOf) -> bool:
    """Whether a plan reads tables of lakes, of whose engine EXPLAIN tells."""
    return any(isinstance(relation_of(scan), CatalogTable) for scan in scans(root))


def engine_note(root: PlanNode, relation_of: RelationOf, limits: EngineLimits, *, fetches: bool) -> str | None:
    """What EXPLAIN says of the engine of a query over tables of lakes; ``fetches``: it has a plan in two passes."""
    if not reads_lakes(root, relation_of):
        return None
    choice = choose_engine(root, relation_of, limits)
    return embedded_note(choice.why, fetches=fetches) if choice.embedded else f"Spark runs it: {choice.why}"


def embedded_note(why: str, *, fetches: bool) -> str:
    """The same where the embedded engine is known to be chosen, and why."""
    return f"the embedded engine runs it{', in one pass' if fetches else ''}: {why}"


def scans(root: PlanNode) -> Iterator[TableScanNode]:
    """Every scan of a plan."""
    return (node for node in _nodes(root) if isinstance(node, TableScanNode))


def _nodes(root: PlanNode) -> Iterator[PlanNode]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(sources(node))

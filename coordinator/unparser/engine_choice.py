"""Which engine answers a query: the embedded one when all that it reads is at hand and small, else Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from coordinator.unparser.scans import RelationOf
from shared.plan.nodes import JoinNode, PlanNode, TableScanNode
from shared.plan.traversal import sources
from shared.spi.relation import CatalogTable, JdbcRelation, ParquetRelation, ReadHere, Relation, RowsRelation
from shared.units import format_data_size

LOCAL_BYTES = 64 << 20
"""What one query may read of databases and of tpch in the coordinator: a second of one core."""
_DECODED = 16
"""How much larger columns may be once decoded than ``scan_bytes``: what is sorted or joined has to be held."""
_MOST_PAIRS = 50_000_000
"""Rows that a join without equalities may compare on one core."""
Engine = Literal["auto", "embedded", "spark"]


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What the embedded engine takes of tables of lakes; ``engine`` is what the session asks for.

    ``program_rows`` are the most rows for which it runs programs of the kernels, which take microseconds a row.
    """

    engine: Engine = "auto"
    scan_bytes: int = 32 << 20
    scan_rows: int = 5_000_000
    program_rows: int = 100_000


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """``why`` is for people; ``rows`` are those that the embedded engine would read of tables of lakes."""

    embedded: bool
    why: str
    rows: int = 0


def choose_engine(root: PlanNode, relation_of: RelationOf, limits: EngineLimits) -> EngineChoice:
    """What should answer a plan; one without tables is the embedded engine's."""
    others = size = rows = files = decoded = 0
    lakes = False
    for scan in scans(root):
        relation = relation_of(scan)
        match relation:
            case CatalogTable(here=ReadHere() as here):
                lakes = True
                size, rows, files = size + here.size_bytes, rows + here.rows, files + here.files
                decoded += here.decoded_bytes or 0
            case CatalogTable():
                return EngineChoice(False, f"{'.'.join(relation.parts)} is read by Spark alone: {relation.here}")
            case ParquetRelation() | JdbcRelation():
                if relation.size_bytes is None:
                    return EngineChoice(False, "the size of what a database sends is not known")
                others += relation.size_bytes
            case RowsRelation():
                pass
            case _:
                assert_never(relation)
    if lakes and limits.engine == "spark":
        return EngineChoice(False, "the session asks for it")
    read = f"{format_data_size(size)} in {rows} rows of {files} files"
    if lakes and limits.engine == "embedded":
        return EngineChoice(True, f"the session asks for it; it reads {read}", rows)
    if others > LOCAL_BYTES:
        return EngineChoice(False, f"it reads {format_data_size(others)} of databases")
    if size > limits.scan_bytes or rows > limits.scan_rows:
        most = f"{format_data_size(limits.scan_bytes)} and {limits.scan_rows} rows"
        return EngineChoice(False, f"it reads {read}, of at most {most}")
    if lakes and decoded > _DECODED * limits.scan_bytes:
        return EngineChoice(False, f"it reads {format_data_size(decoded)} once decoded")
    if lakes and (pairs := _pairs(root, relation_of)) > _MOST_PAIRS:
        return EngineChoice(False, f"it compares {pairs} pairs of rows")
    return EngineChoice(True, f"it reads {read}" if lakes else "it reads no table of a lake", rows)


def _pairs(root: PlanNode, relation_of: RelationOf) -> int:
    """The most pairs of rows that a join without equalities compares, of the tables below it."""
    found = 0
    for node in _nodes(root):
        if isinstance(node, JoinNode) and not node.criteria:
            left, right = (sum(_rows(relation_of(s)) for s in scans(side)) for side in (node.left, node.right))
            found = max(found, left * right)
    return found


def _rows(relation: Relation) -> int:
    match relation:
        case CatalogTable(here=ReadHere() as here):
            return here.rows
        case JdbcRelation():
            return relation.row_count or 1
        case _:
            return 1


def engine_note(root: PlanNode, relation_of: RelationOf, limits: EngineLimits, *, fetches: bool) -> str | None:
    """What EXPLAIN says of the engine of a query over tables of lakes; ``fetches``: it has a plan in two passes."""
    if not any(isinstance(relation_of(scan), CatalogTable) for scan in scans(root)):
        return None
    choice = choose_engine(root, relation_of, limits)
    if not choice.embedded:
        return f"Spark runs it: {choice.why}"
    return f"the embedded engine runs it{', in one pass' if fetches else ''}: {choice.why}"


def scans(root: PlanNode) -> Iterator[TableScanNode]:
    """Every scan of a plan."""
    return (node for node in _nodes(root) if isinstance(node, TableScanNode))


def _nodes(root: PlanNode) -> Iterator[PlanNode]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(sources(node))

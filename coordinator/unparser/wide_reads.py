"""Scans of so many columns that a task of Spark's own reader would hold too much: the kernels read them for Spark.

Parquet's reader for Java has a whole row group of a file on the heap, with the dictionaries of all its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coordinator.unparser.engine_choice import scans
from coordinator.unparser.scans import RelationOf
from shared.plan.nodes import PlanNode, TableScanNode
from shared.spi.relation import CatalogTable, ReadHere, Relation
from shared.units import format_data_size


def with_limited_reader(relation_of: RelationOf, most_bytes: int) -> RelationOf:
    """``relation_of``, whose scans are for the kernels where a task of Spark's reader would hold more; 0: never."""

    def ask(node: TableScanNode) -> Relation:
        relation = relation_of(node)
        match relation:
            case CatalogTable(here=ReadHere(held_bytes=held) as here) if 0 < most_bytes < held:
                return replace(relation, here=replace(here, too_wide=True))
            case _:
                return relation

    return ask


def wide_reads_note(root: PlanNode, relation_of: RelationOf) -> str:
    """What EXPLAIN says of such scans of a plan that Spark runs; empty where there are none."""
    return "".join(_notes(root, relation_of))


def _notes(root: PlanNode, relation_of: RelationOf) -> Iterator[str]:
    for scan in scans(root):
        match relation_of(scan):
            case CatalogTable(parts, here=ReadHere(too_wide=True, held_bytes=held)):
                name, size = ".".join(parts), format_data_size(held)
                yield f"; the kernels read {name} for it, as a task of its own reader would hold {size}"
            case _:
                pass

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

_MOST_PAGE = 256 << 20
"""What the kernels decode at once for Spark, as for late materialization (``engine.wide_rows``)."""


def with_limited_reader(relation_of: RelationOf, most_bytes: int, largest_page: int = 0) -> RelationOf:
    """``relation_of``, whose scans are for the kernels where a task of Spark's reader would hold more; 0: never.

    So are those of pages beyond ``largest_page``, which no reader of Spark's can have in pieces. Pages that are too
    large for the kernels too are refused on Spark.
    """

    def ask(node: TableScanNode) -> Relation:
        relation = relation_of(node)
        match relation:
            case CatalogTable(parts, here=ReadHere(page_bytes=page) as here) if 0 < largest_page < page:
                why = _refusal(".".join(parts), page, largest_page) if page > _MOST_PAGE else ""
                return replace(relation, here=replace(here, too_wide=True, refused=why))
            case CatalogTable(here=ReadHere(held_bytes=held) as here) if 0 < most_bytes < held:
                return replace(relation, here=replace(here, too_wide=True))
            case _:
                return relation

    return ask


def _refusal(table: str, page: int, most: int) -> str:
    return (
        f"Table {table} has Parquet pages of some {format_data_size(page)}, more than Spark decodes at once "
        f"({format_data_size(most)}, spark.max-parquet-page-size): write its rows again with smaller pages, or "
        "give Spark more memory"
    )


def wide_reads_note(root: PlanNode, relation_of: RelationOf) -> str:
    """What EXPLAIN says of such scans of a plan that Spark runs; empty where there are none."""
    return "".join(_notes(root, relation_of))


def _notes(root: PlanNode, relation_of: RelationOf) -> Iterator[str]:
    for scan in scans(root):
        match relation_of(scan):
            case CatalogTable(parts, here=ReadHere(too_wide=True, held_bytes=held, page_bytes=page)):
                name, size = ".".join(parts), format_data_size(max(held, page))
                yield f"; the kernels read {name} for it, as a task of its own reader would hold {size}"
            case CatalogTable(parts, here=ReadHere(decoded_here=column)) if column:
                yield f"; the kernels read {'.'.join(parts)} for it, for column {column}"
            case _:
                pass

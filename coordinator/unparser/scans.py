"""Table scans as table references of an engine; what the engine does not know by name becomes an input."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.unparser.trees import name, number
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import (
    ExchangeNode,
    FilterNode,
    LimitNode,
    OffsetNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
)
from shared.plan.traversal import sources
from shared.plan.types import Type
from shared.spi.relation import (
    AppendedRows,
    CatalogTable,
    Input,
    JdbcRelation,
    ParquetRelation,
    ReadHere,
    Relation,
    RowsRelation,
    SentRelation,
)

RelationOf = Callable[[TableScanNode], Relation]
"""What a connector says of a scan; planning passes one that asks the catalogs."""


SEQUENCE_NUMBER = "$data_sequence_number"
"""Presto's hidden column of Iceberg tables."""
_FILE, _NUMBERS = "$numbered_file", "procession_numbers"


def scans_of_first_rows(root: PlanNode) -> frozenset[str]:
    """The ids of scans below a LIMIT with nothing between that needs all rows."""
    found, stack = set[str](), [(root, False)]
    while stack:
        node, limited = stack.pop()
        match node:
            case TableScanNode() if limited:
                found.add(node.id)
            case LimitNode():
                stack.append((node.source, True))
            case ExchangeNode() | FilterNode() | OffsetNode() | ProjectNode():
                stack.extend((source, limited) for source in sources(node))
            case _:
                stack.extend((source, False) for source in sources(node))
    return frozenset(found)


def _given_to_spark(node: TableScanNode, relation: CatalogTable, here: ReadHere) -> RowsRelation:
    """A table that Spark does not load, or better does not read. Raises NOT_SUPPORTED."""
    table = ".".join(relation.parts)
    times = [variable.name for variable in node.outputVariables if _holds_time(typed(variable))]
    if times:
        message = f"Spark cannot read columns of type time ({', '.join(times)}) of table {table}"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return here.relation


def _holds_time(type_: Type) -> bool:
    return type_.base == "time" or any(map(_holds_time, type_.arguments))


@dataclass(slots=True)
class Scans:
    """The inputs of one statement so far. Their names are its own: statements share an engine's session."""

    dialect: str
    relation_of: RelationOf
    first_rows: frozenset[str] = frozenset()
    """Scans, by their ids, of which a statement wants some rows only."""
    inputs: list[Input] = field(default_factory=list)
    prefix: str = field(default_factory=lambda: f"procession_{secrets.token_hex(6)}")

    def table(self, node: TableScanNode) -> exp.Expr:
        """The sqlglot table that reads ``node``."""
        relation = self.relation_of(node)
        match relation:
            case CatalogTable(here=ReadHere(relation=rows)) if self.dialect != "spark":
                return self._given(rows, first_rows=node.id in self.first_rows)
            case CatalogTable(here=ReadHere(refused=why)) if why:
                raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, why)
            case CatalogTable(here=ReadHere() as here) if here.by_kernels:
                return self._given(_given_to_spark(node, relation, here), by_kernels=True)
            case CatalogTable():
                return self._known(relation)
            case ParquetRelation() | RowsRelation() | JdbcRelation() | AppendedRows() | SentRelation():
                return self._given(relation)
            case _:
                assert_never(relation)

    def by_name(self, node: TableScanNode) -> bool:
        """Whether the engine reads the table itself."""
        relation = self.relation_of(node)
        here = relation.here if isinstance(relation, CatalogTable) else ""
        return self.dialect == "spark" and not (isinstance(here, ReadHere) and here.by_kernels)

    def stored(self, node: TableScanNode) -> bool:
        """Whether columns come as a table of Iceberg holds them."""
        return self.by_name(node) and isinstance(self.relation_of(node), CatalogTable | AppendedRows)

    def _given(
        self,
        relation: ParquetRelation | RowsRelation | JdbcRelation | AppendedRows | SentRelation,
        *,
        by_kernels: bool = False,
        first_rows: bool = False,
    ) -> exp.Expr:
        made = Input(f"{self.prefix}_{len(self.inputs)}", relation, by_kernels, first_rows)
        self.inputs.append(made)
        return exp.Table(this=name(made.name))

    def sequence_numbers(self, node: TableScanNode) -> exp.Expr:
        """The join that gives each row of an Iceberg table the data sequence number of its file.

        Spark has no such column; Iceberg's metadata table of the same snapshot has the numbers by file.
        """
        relation = self.relation_of(node)
        assert isinstance(relation, CatalogTable)
        entries = self._known(CatalogTable((*relation.parts, "entries"), relation.snapshot_id))
        file = exp.Dot(this=name("data_file"), expression=name("file_path"))
        numbers = exp.select(
            exp.alias_(file, _FILE, quoted=True), exp.alias_(name("sequence_number"), SEQUENCE_NUMBER, quoted=True)
        )
        numbers = numbers.from_(entries).where(exp.LT(this=exp.column("status"), expression=number(2)))
        made = exp.Subquery(this=numbers, alias=exp.TableAlias(this=name(_NUMBERS)))
        return exp.Join(
            this=made, side="LEFT", on=exp.EQ(this=exp.column("_file"), expression=exp.column(_FILE, quoted=True))
        )

    def _known(self, relation: CatalogTable) -> exp.Expr:
        catalog, *parts = relation.parts
        if self.dialect != "spark":
            schema, table = parts[:2]
            return exp.Table(this=name(table), db=name(schema))
        # A schema in a schema is several names for Spark, and a metadata table one more: catalog.a.b.table.snapshots.
        first, *rest = (*parts[0].split("."), *parts[1:])
        path: exp.Expr = name(rest[0])
        for part in rest[1:]:
            path = exp.Dot(this=path, expression=name(part))
        tree = exp.Table(this=path, db=name(first), catalog=name(catalog))
        if relation.snapshot_id is not None:
            tree.set("version", exp.Version(this="VERSION", kind="AS OF", expression=number(relation.snapshot_id)))
        if relation.options:  # sqlglot has no place for them in Spark's dialect
            options = ", ".join(f"'{option}' = '{value}'" for option, value in relation.options)
            return exp.Table(this=exp.Var(this=f"{tree.sql(dialect='spark')} WITH ({options})"))
        return tree

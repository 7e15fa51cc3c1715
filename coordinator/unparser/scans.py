"""Table scans as table references of an engine; what the engine does not know by name becomes an input."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, assert_never

from sqlglot import exp

from coordinator.unparser.trees import name, number
from shared.plan.nodes import TableScanNode
from shared.spi.relation import CatalogTable, Input, JdbcRelation, ParquetRelation, Relation, RowsRelation

RelationOf = Callable[[TableScanNode], Relation]
"""What a connector says of a scan; planning passes one that asks the catalogs."""


@dataclass(slots=True)
class Scans:
    """The inputs of one statement so far. Their names are its own: statements share an engine's session."""

    dialect: str
    relation_of: RelationOf
    inputs: list[Input] = field(default_factory=list)
    prefix: str = field(default_factory=lambda: f"procession_{secrets.token_hex(6)}")

    def table(self, node: TableScanNode) -> Any:
        """The sqlglot table that reads ``node``."""
        relation = self.relation_of(node)
        match relation:
            case CatalogTable():
                return self._known(relation)
            case ParquetRelation() | RowsRelation() | JdbcRelation():
                made = Input(f"{self.prefix}_{len(self.inputs)}", relation)
                self.inputs.append(made)
                return exp.Table(this=name(made.name))
            case _:
                assert_never(relation)

    def _known(self, relation: CatalogTable) -> Any:
        catalog, *parts = relation.parts
        if self.dialect != "spark":
            schema, table = parts[:2]
            return exp.Table(this=name(table), db=name(schema))
        tree = exp.Table(this=name(parts[1]), db=name(parts[0]), catalog=name(catalog))
        if len(parts) > 2:
            # A metadata table: catalog.schema.table.snapshots and so on.
            inner = exp.Dot(this=name(parts[1]), expression=name(parts[2]))
            tree = exp.Table(this=inner, db=name(parts[0]), catalog=name(catalog))
        if relation.snapshot_id is not None:
            tree.set("version", exp.Version(this="VERSION", kind="AS OF", expression=number(relation.snapshot_id)))
        return tree

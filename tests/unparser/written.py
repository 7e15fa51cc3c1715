"""Statements over fixed catalogs as SQL of both engines, with the rows that the embedded engine gives."""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.unparser import unparse
from shared.plan.nodes import OutputNode, TableScanNode
from shared.spi.relation import CatalogTable, Relation
from tests.optimizer.rule_cases import TIDY, RuleCases

FIRST = ("remove_trivial_filters", "evaluate_zero_limit", "simplify_empty_relations", *TIDY)


@dataclass(frozen=True)
class Written:
    """Plans, unparses and runs."""

    cases: RuleCases

    def check(self, sql: str, *, duckdb: str, spark: str) -> None:
        """The texts of both engines; the rows are those of DuckDB for the statement itself."""
        _, plan = self.cases.planned(TIDY[1], sql, first=FIRST)
        assert written(plan, "duckdb") == duckdb
        assert written(plan, "spark") == spark
        assert self.cases.rows(plan) == self.cases.answer(sql)

    def values(self, expression: str) -> tuple[list[str], str]:
        """What an expression gives for the nations 0 to 5, and its text for Spark."""
        rows, text = self.rows(f"SELECT n_nationkey, {expression} FROM nation WHERE n_nationkey < 6")
        _, _, after = text.partition("SELECT `n_nationkey`, ")
        return [row.partition("\t")[2] for row in rows], after.partition(" AS `expr` FROM")[0]

    def rows(self, sql: str) -> tuple[list[str], str]:
        """The rows of a statement, and its text for Spark."""
        _, plan = self.cases.planned(TIDY[1], sql, first=FIRST)
        rows = self.cases.rows(plan)
        assert rows is not None
        return rows, written(plan, "spark")


def written(plan: OutputNode, dialect: str) -> str:
    """The SQL of a plan whose tables all have their names."""
    return unparse(plan, dialect, _named)


def _named(scan: TableScanNode) -> Relation:
    return CatalogTable(("tpch", "tiny", str(scan.table.connectorHandle["tableName"])), None, "it is not read")

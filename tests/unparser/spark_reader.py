"""Spark's SQL as sqlglot reads it, run by DuckDB: the same rows without a Spark, for what both mean alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from tests.optimizer.rule_cases import RuleCases

_MACROS = (
    "CREATE MACRO raise_error(message) AS error(message)",
    "CREATE MACRO monotonically_increasing_id() AS (row_number() OVER ())",
)
_TABLES = ("nation", "region", "supplier", "customer")


class SparkReader:
    """TPC-H's small tables under the names that Spark knows them by."""

    def __init__(self, cases: RuleCases) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("ATTACH ':memory:' AS tpch; CREATE SCHEMA tpch.tiny")
        for table in _TABLES:
            rows = cases.oracle.sql(f"SELECT * FROM {table}").to_arrow_table()
            self.connection.register("loaded", rows)
            self.connection.execute(f"CREATE TABLE tpch.tiny.{table} AS SELECT * FROM loaded")
            self.connection.unregister("loaded")
        for macro in _MACROS:
            self.connection.execute(macro)

    def rows(self, sql: str) -> list[str]:
        """Sorted rows of a SELECT in Spark's words, as ``RuleCases`` shows them."""
        return self.shown(self.run(sql))

    def run(self, sql: str) -> list[Any]:
        """The rows of one statement in Spark's words."""
        return self.connection.execute(self.translated(sql)).fetchall()

    @staticmethod
    def translated(sql: str) -> str:
        tree = sqlglot.parse_one(sql, read="spark")
        for when in tree.find_all(exp.When):
            for pair in when.args["then"].expressions if isinstance(when.args["then"], exp.Update) else ():
                pair.this.set("table", None)  # DuckDB wants the target's columns by their names alone
        return str(tree.sql(dialect="duckdb"))

    @staticmethod
    def shown(rows: Sequence[Any]) -> list[str]:
        return sorted("\t".join(f"{v:.9g}" if isinstance(v, float) else str(v) for v in row) for row in rows)

"""What a rule does to a plan, drawn before and after, with the rows of both beside those of DuckDB."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot

from coordinator.connectors.tpch.tables import TABLES
from coordinator.engine.inputs import local_inputs
from coordinator.engine.local import LocalEngine
from coordinator.optimizer.optimize import RULES, optimize
from coordinator.planner.query import QueryPlan, plan_query
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.tree.queries import Query
from coordinator.unparser import work_of
from coordinator.vocabulary.planned_statement import RunLocally
from shared.plan.nodes import OutputNode, PlanNode, TableScanNode
from shared.plan.traversal import walk
from shared.spi.session import Session
from tests.drawing import drawn
from tests.execution import FakeExecution
from tests.fixed_catalogs import FixedCatalogs

TIDY = ("prune_unreferenced_outputs", "remove_redundant_projections")
"""Rules that run before the one in question unless a case says otherwise: plans without columns that nobody reads."""


@dataclass
class RuleCases:
    """Runs cases; one for all tests of a worker, since it holds an engine and TPC-H's tables."""

    catalogs: FixedCatalogs
    engine: LocalEngine
    oracle: duckdb.DuckDBPyConnection
    notes: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)

    @classmethod
    def over(cls, data_dir: Path) -> Iterator[RuleCases]:
        """Cases over tables that are kept in ``data_dir``."""
        with duckdb.connect() as oracle:
            cases = cls(FixedCatalogs(data_dir), LocalEngine(), oracle)
            for name in ("nation", "region", "supplier", "customer"):
                cases._load(name)
            yield cases
            cases.engine.close()

    def fires(self, rule: str, sql: str, before: str, after: str, **options: Any) -> None:
        """The rule alone makes ``after`` of ``before``, and the rows stay those of the statement."""
        found = self.planned(rule, sql, **options)
        assert (drawn(found[0]), drawn(found[1])) == (_text(before), _text(after))
        self.same_rows(sql, *found)

    def rests(self, rule: str, sql: str, plan: str, **options: Any) -> None:
        """The rule leaves ``plan`` as it is."""
        before, after = self.planned(rule, sql, **options)
        assert drawn(before) == _text(plan)
        assert drawn(after) == _text(plan)
        assert after is before
        self.same_rows(sql, before, after)

    def planned(
        self,
        rule: str,
        sql: str,
        *,
        first: tuple[str, ...] = TIDY,
        then: tuple[str, ...] = (),
        session: dict[str, str] | None = None,
    ) -> tuple[OutputNode, OutputNode]:
        """The plans before and after the rule; ``first`` are rules that have run already, ``then`` some that tell more.

        The notes are the rule's own.
        """
        asked = Session(user="test", catalog="tpch", schema="tiny", properties=session or {})
        tree = parse_statement(sql)
        assert isinstance(tree, Query)
        query = plan_query(tree, asked, self.catalogs)
        before = query.root
        for name in first:
            before = self.applied(name, before, query, asked)
        after = self.applied(rule, before, query, asked)
        notes = list(self.notes)
        for name in then:
            after = self.applied(name, after, query, asked)
        self.notes[:] = notes
        return before, after

    def applied(self, rule: str, plan: OutputNode, query: QueryPlan, session: Session) -> OutputNode:
        """The plan after one rule."""
        one = next(each for each in RULES if each.name == rule)
        self.notes.clear()
        done, _ = optimize(
            plan,
            session,
            (one,),
            self.catalogs.pushdown,
            query.table_rows,
            row_position=self.catalogs.row_position,
            column_bounds=self.catalogs.column_bounds,
            notes=self.notes,
            distinct_values=query.distinct_values,
        )
        assert isinstance(done, OutputNode)
        return done

    def same_rows(self, sql: str, before: OutputNode, after: OutputNode) -> None:
        """Both plans give DuckDB's rows, where the embedded engine can run them."""
        expected = None
        for plan in (before, after):
            rows = self.rows(plan)
            if rows is not None and expected is None:
                expected = self.answer(sql)
            assert rows is None or rows == expected, drawn(plan)

    def rows(self, plan: OutputNode) -> list[str] | None:
        """Sorted rows of a plan; None when it reads tables that nobody has."""
        if any(isinstance(node, TableScanNode) and node.table.connectorId in ("lake", "shop") for node in walk(plan)):
            return None
        work = work_of(plan, self.catalogs.relation)
        if not isinstance(work, RunLocally):
            return None
        run = FakeExecution()
        with local_inputs(work.inputs, self.catalogs, run) as inputs:
            batches = list(self.engine.run(work.sql, run, inputs))
        return _rows(row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))

    def answer(self, sql: str) -> list[str]:
        """DuckDB's rows of the statement."""
        for name in TABLES.keys() - self.loaded:
            if name in sql:
                self._load(name)
        return _rows(self.oracle.execute(sqlglot.transpile(sql, read="presto", write="duckdb")[0]).fetchall())

    def _load(self, name: str) -> None:
        self.loaded.add(name)
        _, plan = self.planned(TIDY[0], f"SELECT * FROM {name}")
        work = work_of(plan, self.catalogs.relation)
        assert isinstance(work, RunLocally)
        run = FakeExecution()
        with local_inputs(work.inputs, self.catalogs, run) as inputs:
            self.oracle.register("loaded", pa.Table.from_batches(list(self.engine.run(work.sql, run, inputs))))
        self.oracle.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")


def _rows(rows: Any) -> list[str]:
    return sorted("\t".join(f"{v:.9g}" if isinstance(v, float) else str(v) for v in row) for row in rows)


def _text(plan: str) -> str:
    return textwrap.dedent(plan).strip("\n")


def alone(rule: str, plan: PlanNode, **known: Any) -> PlanNode:
    """A plan made by hand after one rule."""
    one = next(each for each in RULES if each.name == rule)
    return optimize(plan, Session(user="test"), (one,), **known)[0]

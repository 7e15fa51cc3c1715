"""The steps that every plan takes, checked, optimized and fragmented, and what is noted of one statement on its way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol

from coordinator.analyzer.context import placed_in_text
from coordinator.connectors.registry import Catalogs
from coordinator.fragmenter.fragment import fragment
from coordinator.optimizer.cardinality import Estimate, cardinality, result_estimate
from coordinator.optimizer.optimize import FiredRule, optimize
from coordinator.planner.guard import guard_of
from coordinator.planning.statement_facts import Planned
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SubPlan
from shared.plan.nodes import OutputNode, PlanNode
from shared.spi.connector import TableMetadata
from shared.spi.plan_checker import PrestoWarning, WarningCollector
from shared.spi.session import Session

_NO_SOURCE = "Invalid node. Expression dependencies"
_SEMANTIC_WARNING = (4, "SEMANTIC_WARNING")
"""Presto's StandardWarningCode of that name."""


class PlanPhaseCheckers(Protocol):
    """What planning needs of ``coordinator.checks.PlanCheckers``."""

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...


class Steps:
    """One statement: the times of its verbs, its warnings, and what the optimizer did."""

    def __init__(self, session: Session, catalogs: Catalogs, checkers: PlanPhaseCheckers) -> None:
        self.session = session
        self.catalogs = catalogs
        self.guard = guard_of(session, catalogs)
        self._checkers = checkers
        self.seconds: dict[str, float] = {}
        self.warnings: list[PrestoWarning] = []
        self.fired: tuple[FiredRule, ...] = ()
        self.explaining = False
        """The statement is told of by EXPLAIN and not run."""
        self.notes: list[str] = []
        """Of late materialization, for EXPLAIN."""
        self.view_notes: list[str] = []
        """Of materialized views, for EXPLAIN."""
        self.engine_note: str | None = None
        self.programs_note: str | None = None
        self.planned: Planned | None = None
        """The plans, for what is told of the statement later."""
        self.row_counts: tuple[Mapping[str, int], Mapping[str, float]] = ({}, {})
        """Rows by the id of a scan, and distinct values by the name of a variable."""
        self._initial: PlanNode | None = None

    @contextmanager
    def verb(self, name: str) -> Iterator[None]:
        """Adds the time inside to that of a verb."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def warn_of(self, tables: Sequence[TableMetadata]) -> None:
        """Takes the warnings of tables over, each once."""
        texts = dict.fromkeys(text for table in tables for text in table.warnings)
        self.warnings += [PrestoWarning(*_SEMANTIC_WARNING, text) for text in texts]

    def warn(self, text: str) -> None:
        """Adds a warning."""
        self.warnings.append(PrestoWarning(*_SEMANTIC_WARNING, text))

    def finish(
        self,
        plan: PlanNode,
        table_rows: Mapping[str, int] | None = None,
        distinct_values: Mapping[str, float] | None = None,
    ) -> tuple[PlanNode, SubPlan]:
        """The optimized plan and its fragments; both states of the plan are checked."""
        self._check_intermediate(plan)
        self.row_counts = (table_rows or {}, distinct_values or {})
        with self.verb("optimize"):
            self._initial = plan
            logical, self.fired = optimize(
                plan,
                self.session,
                pushdown_of=self.catalogs.pushdown,
                table_rows=table_rows,
                distinct_values=distinct_values,
                row_position=self.catalogs.row_position,
                column_bounds=self.catalogs.column_bounds,
                notes=self.notes,
            )
        self._checkers.validate_final(logical, self.session, self.warnings.append)
        with self.verb("fragment"):
            return logical, fragment(logical, self.session)

    def _check_intermediate(self, plan: PlanNode) -> None:
        try:
            self._checkers.validate_intermediate(plan, self.session, self.warnings.append)
        except ProcessionError as error:
            if error.code is not ErrorCode.INVALID_PLAN_ERROR or not error.message.startswith(_NO_SOURCE):
                raise
            # A column of an outer query that decorrelation has left where it was.
            message = "Given correlated subquery is not supported"
            raise placed_in_text(ErrorCode.UNSUPPORTED_SUBQUERY, message, error.location) from error

    def explain_notes(self) -> list[str]:
        """What EXPLAIN says beside the plan."""
        engine = [] if self.engine_note is None else [f"Engine: {self.engine_note}"]
        programs = [] if self.programs_note is None else [f"Programs: {self.programs_note}"]
        views = [f"Materialized view {note}" for note in dict.fromkeys(self.view_notes)]
        return [*views, *(f"Late materialization: {note}" for note in self.notes), *engine, *programs]

    def estimate(self, plan: PlanNode | None) -> Estimate | None:
        """Rows and bytes that a query's result has, from what its tables are known to hold; None where that is not."""
        if not isinstance(plan, OutputNode):
            return None
        late = any(rule.name == "late_materialization" for rule in self.fired)
        return result_estimate(self.before_late_materialization() if late else plan, *self.row_counts)

    def rows_of(self, node: PlanNode) -> float | None:
        """About how many rows a part of the plan gives; None where that is not known."""
        found = cardinality(node, *self.row_counts)
        return None if found is None else found.rows

    def before_late_materialization(self) -> OutputNode:
        """The plan in one pass: that of the last rule before, late materialization being the last of all."""
        names = [rule.name for rule in self.fired]
        at = names.index("late_materialization")
        plan = self.fired[at - 1].plan if at else self._initial
        assert isinstance(plan, OutputNode)
        return plan

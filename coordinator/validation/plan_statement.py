"""The pure line: text, session and metadata to a planned statement, through parse, analyze, plan, optimize, fragment.

Runs in the planner processes; everything that goes in and comes out is picklable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Protocol, assert_never

from coordinator.analyzer.context import placed_in_text
from coordinator.analyzer.procedure_call import bind_call
from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.listing import INFORMATION_SCHEMA
from coordinator.connectors.system.registered import SYSTEM_CATALOG
from coordinator.explain.explain_statement import plan_explain, refuse_to_analyze
from coordinator.expressions.builders import constant
from coordinator.expressions.clock import clock_reads
from coordinator.expressions.types import UNKNOWN
from coordinator.fragmenter.fragment import fragment
from coordinator.optimizer.optimize import FiredRule, optimize
from coordinator.optimizer.rules.late_materialization.likely_rows import LikelyRows, likely_rows
from coordinator.planner import session_statements, show
from coordinator.planner.describe_prepared import aliased_columns, describe_input, describe_output, origins_of
from coordinator.planner.guard import guard_of, guarding
from coordinator.planner.procedure_accesses import permit_call
from coordinator.planner.procedure_call import plan_call
from coordinator.planner.query import plan_query
from coordinator.planner.refused import refusal
from coordinator.planner.statement_accesses import accesses_of
from coordinator.planner.table_execute import procedure_call
from coordinator.planner.writes import ROWS
from coordinator.sql import statements as sql
from coordinator.sql.ddl_statements import ExecuteTableProcedure
from coordinator.sql.lexer import too_large
from coordinator.sql.parameters import placeholders, substitute
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.tree.queries import Query
from coordinator.unparser import work_of
from coordinator.unparser.constant_query import constant_rows
from coordinator.unparser.engine_choice import engine_note
from coordinator.unparser.engine_limits import engine_limits
from coordinator.unparser.fetch import fetch_of, fetch_work
from coordinator.unparser.session_zone import in_session_zone
from coordinator.unparser.writes import write_work
from coordinator.validation.registered import (
    AlterStatement,
    SchemaStatement,
    TableStatement,
    WriteStatement,
    plan_of_alter,
    plan_of_schema,
    plan_of_table,
    plan_write,
)
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    ChangeCatalog,
    Column,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    SelectRows,
    Work,
    WriteRows,
)
from coordinator.vocabulary.session_properties import check_session, session_flag, session_value
from coordinator.vocabulary.table_versions import TableVersion, recording
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.fragment import SubPlan
from shared.plan.nodes import FetchNode, OutputNode, PlanNode
from shared.spi.connector import TableMetadata
from shared.spi.plan_checker import PrestoWarning, WarningCollector
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

_NO_SOURCE = "Invalid node. Expression dependencies"
_SEMANTIC_WARNING = (4, "SEMANTIC_WARNING")
"""Presto's StandardWarningCode of that name."""


class PlanPhaseCheckers(Protocol):
    """What the line needs of ``coordinator.checks.PlanCheckers``."""

    def validate_intermediate(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...

    def validate_final(self, plan: PlanNode, session: Session, warn: WarningCollector) -> None: ...


def plan_statement(text: str, session: Session, catalogs: Catalogs, checkers: PlanPhaseCheckers) -> PlannedStatement:
    """The planned statement, with the seconds of each verb; fragments are not yet checked.

    Raises ProcessionError, located in ``text`` where that is possible.
    """
    return _Line(session, catalogs, checkers).plan(text)


class _Line:
    """One statement on its way: the times of the verbs and the warnings so far."""

    def __init__(self, session: Session, catalogs: Catalogs, checkers: PlanPhaseCheckers) -> None:
        self._session = session
        self._catalogs = catalogs
        self._checkers = checkers
        self._seconds: dict[str, float] = {}
        self._guard = guard_of(session, catalogs)
        self._warnings: list[PrestoWarning] = []
        self._fired: tuple[FiredRule, ...] = ()
        self._explaining = False
        self._initial: PlanNode | None = None
        self._notes: list[str] = []
        self._engine_note: str | None = None

    def plan(self, text: str) -> PlannedStatement:
        try:
            check_session(self._session, self._catalogs.names())
            with self._verb("parse"):
                statement = parse_statement(text)
            with (
                recording() as seen,
                clock_reads() as clock,
                in_session_zone(self._session.time_zone),
                guarding(self._guard),
            ):
                planned = self._plan(statement, text)
        except RecursionError as error:
            raise too_large(ErrorLocation(1, 1)) from error
        return replace(
            planned,
            verb_seconds=dict(self._seconds),
            warnings=(*planned.warnings, *self._warnings),
            table_versions=tuple(dict.fromkeys(seen)),
            accesses=self._guard.asked,
            rules_version=self._guard.rules_version,
            repeatable=not clock and _reads_system_tables(planned.work, seen),
        )

    @contextmanager
    def _verb(self, name: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + perf_counter() - start

    def _plan(self, statement: sql.Statement, text: str) -> PlannedStatement:
        self._guard.ask(*accesses_of(statement, self._session))
        if isinstance(statement, TableStatement | AlterStatement | SchemaStatement):
            return self._definition(statement)
        if isinstance(statement, WriteStatement):
            return self._write(statement, text)
        match statement:
            case sql.Call():
                return self._call(statement, text)
            case Query():
                return self._query(statement, text)
            case sql.Explain():
                refuse_to_analyze(statement)
                self._explaining = not statement.analyze
                planned = self._plan(statement.statement, text)
                return plan_explain(statement, planned, self._fired, self._told())
            case sql.Execute():
                prepared = session_statements.prepared_text(statement.name, self._session)
                return self._execute(prepared, statement.parameters, statement.location)
            case sql.ExecuteImmediate():
                return self._execute(statement.text, statement.parameters, statement.location)
            case ExecuteTableProcedure():
                return self._call(procedure_call(statement, self._session), text)
            case sql.OtherStatement():
                raise refusal(statement)
            case _:
                return self._metadata(statement)

    def _definition(self, statement: TableStatement | AlterStatement | SchemaStatement) -> PlannedStatement:
        with self._verb("analyze"):
            if isinstance(statement, TableStatement):
                planned = plan_of_table(statement, self._session, self._catalogs)
            elif isinstance(statement, AlterStatement):
                planned = plan_of_alter(statement, self._session, self._catalogs)
            else:
                planned = plan_of_schema(statement, self._session, self._catalogs)
        self._refuse_in_transaction(planned)
        return planned

    def _metadata(self, statement: sql.SessionStatement | sql.ShowStatement) -> PlannedStatement:
        session, catalogs = self._session, self._catalogs
        with self._verb("analyze"):
            match statement:
                case sql.SetSession():
                    self._guard.ask_of_session_property(statement.name)
                    return session_statements.plan_set_session(statement, session, catalogs)
                case sql.ResetSession():
                    return session_statements.plan_reset_session(statement, catalogs)
                case sql.Use():
                    return session_statements.plan_use(statement, session, catalogs)
                case sql.Prepare():
                    return session_statements.plan_prepare(statement)
                case sql.Deallocate():
                    return session_statements.plan_deallocate(statement, session)
                case sql.StartTransaction() | sql.Commit() | sql.Rollback():
                    return session_statements.plan_transaction(statement, session)
                case _:
                    return self._show(statement)

    def _show(self, statement: sql.ShowStatement) -> PlannedStatement:
        session, catalogs = self._session, self._catalogs
        match statement:
            case sql.ShowCatalogs():
                return show.show_catalogs(statement, catalogs)
            case sql.ShowSchemas():
                return show.show_schemas(statement, session, catalogs)
            case sql.ShowTables():
                return show.show_tables(statement, session, catalogs)
            case sql.ShowColumns():
                return show.show_columns(statement, session, catalogs)
            case sql.ShowSession():
                return show.show_session(statement, session)
            case sql.ShowFunctions():
                return show.show_functions(statement)
            case sql.DescribeInput():
                prepared = session_statements.prepared_text(statement.name, session)
                return describe_input(parse_statement(prepared), prepared, session, catalogs)
            case sql.DescribeOutput():
                return self._describe_output(statement.name)
            case _:
                assert_never(statement)

    def _execute(self, prepared: str, parameters: tuple[str, ...], location: ErrorLocation) -> PlannedStatement:
        with self._verb("parse"):
            substituted = substitute(prepared, parameters, location)
        try:
            with self._verb("parse"):
                statement = parse_statement(substituted.text)
            planned = self._plan(statement, substituted.text)
        except ProcessionError as error:
            if error.location is None:
                raise
            place = substituted.original(error.location)
            raise ProcessionError(error.code, error.message, location=place) from error
        return replace(planned, prepared_sql=prepared)

    def _describe_output(self, name: str) -> PlannedStatement:
        prepared = session_statements.prepared_text(name, self._session)
        statement = parse_statement(prepared)
        if isinstance(statement, sql.Call):
            declaration = resolve_procedure(statement, self._session, self._catalogs).procedure.declaration
            return describe_output([Column(column.name, column.type) for column in declaration.output])
        marks = placeholders(prepared)
        if isinstance(statement, Query):
            unknown = (constant(None, UNKNOWN),) * len(marks)
            planned = plan_query(statement, self._session, self._catalogs, unknown)
            origins = origins_of(planned.root, planned.tables)
            return describe_output(planned.columns, origins, aliased_columns(statement))
        return describe_output(self._execute(prepared, ("NULL",) * len(marks), ErrorLocation(1, 1)).columns)

    def _query(self, query: Query, text: str) -> PlannedStatement:
        _refuse_parameters(text)
        with self._verb("plan"):
            planned = plan_query(query, self._session, self._catalogs)
        self._warn_of(planned.tables)
        logical, subplan = self._finish(planned.root, planned.table_rows, planned.distinct_values)
        assert isinstance(logical, OutputNode)
        return PlannedStatement(
            query_type="SELECT",
            columns=planned.columns,
            work=self._work(logical),
            initial_plan=planned.root,
            logical_plan=logical,
            subplan=subplan,
            inputs=tuple(f"{t.catalog}.{t.schema}.{t.name}" for t in planned.tables),
        )

    def _warn_of(self, tables: Sequence[TableMetadata]) -> None:
        told = dict.fromkeys(text for table in tables for text in table.warnings)
        self._warnings += [PrestoWarning(*_SEMANTIC_WARNING, text) for text in told]

    def _work(self, logical: OutputNode) -> Work:
        fetch = fetch_of(logical)
        likely = None if fetch is None else self._likely_rows(fetch)
        if self._explaining:
            if likely is not None:
                where = f"where {likely.told}, everywhere if too few are there"
                self._notes.append(f"the first rows are looked for {where}")
            whole = logical if fetch is None else self._before_late_materialization()
            note = engine_note(whole, self._catalogs.relation, engine_limits(self._session), fetches=fetch is not None)
            self._engine_note = note
            return ReturnRows(())
        if fetch is not None:
            before = self._before_late_materialization()
            max_rows = int(session_value(self._session, "global_late_materialization_max_rows"))
            found = None if likely is None else (likely.plan, likely.rows)
            of_plan = partial(work_of, relation_of=self._catalogs.relation, limits=engine_limits(self._session))
            return fetch_work(logical, before, of_plan, max_rows, found)
        return constant_rows(logical) or work_of(logical, self._catalogs.relation, engine_limits(self._session))

    def _told(self) -> list[str]:
        """What EXPLAIN says beside the plan."""
        engine = [] if self._engine_note is None else [f"Engine: {self._engine_note}"]
        return [*(f"Late materialization: {note}" for note in self._notes), *engine]

    def _likely_rows(self, fetch: FetchNode) -> LikelyRows | None:
        if not session_flag(self._session, "global_late_materialization_guess_first_rows"):
            return None
        return likely_rows(fetch.source, self._catalogs.column_bounds)

    def _write(self, statement: WriteStatement, text: str) -> PlannedStatement:
        _refuse_parameters(text)
        with self._verb("plan"):
            planned = plan_write(statement, self._session, self._catalogs)
        if isinstance(planned, PlannedStatement):
            return planned
        self._warn_of(planned.tables)
        logical, subplan = self._finish(planned.root)
        assert isinstance(logical, OutputNode)
        work = ReturnRows(()) if self._explaining else write_work(planned, logical, self._catalogs.relation)
        made = PlannedStatement(
            query_type=planned.write.kind,
            columns=ROWS,
            work=work,
            update_type=planned.update_type,
            initial_plan=planned.root,
            logical_plan=logical,
            subplan=subplan,
            inputs=tuple(f"{t.catalog}.{t.schema}.{t.name}" for t in planned.tables),
        )
        self._refuse_in_transaction(made)
        return made

    def _refuse_in_transaction(self, planned: PlannedStatement) -> None:
        """Nothing could be rolled back: what writes commits by itself, as with Presto's Iceberg connector."""
        match planned.work:
            case (
                ChangeCatalog(catalog=catalog)
                | AnalyzeTable(catalog=catalog)
                | WriteRows(write=TableWrite(catalog=catalog))
            ):
                if self._session.transaction_id is not None:
                    message = f"Catalog only supports writes using autocommit: {catalog}"
                    raise ProcessionError(ErrorCode.AUTOCOMMIT_WRITE_CONFLICT, message)
            case _:
                return

    def _before_late_materialization(self) -> OutputNode:
        """The plan in one pass: that of the last rule before, late materialization being the last of all."""
        names = [rule.name for rule in self._fired]
        at = names.index("late_materialization")
        plan = self._fired[at - 1].plan if at else self._initial
        assert isinstance(plan, OutputNode)
        return plan

    def _call(self, call: sql.Call, text: str) -> PlannedStatement:
        _refuse_parameters(text)
        with self._verb("analyze"):
            bound = bind_call(call, self._session, self._catalogs)
            permit_call(self._guard, bound, self._catalogs)
        with self._verb("plan"):
            planned = plan_call(bound, self._session, self._catalogs)
        logical, subplan = self._finish(planned.plan)
        return PlannedStatement(
            query_type="CALL_DISTRIBUTED_PROCEDURE" if bound.declaration.is_distributed else "DATA_DEFINITION",
            columns=planned.columns,
            work=planned.work,
            update_type="CALL",
            initial_plan=planned.plan,
            logical_plan=logical,
            subplan=subplan,
            inputs=planned.inputs,
        )

    def _finish(
        self,
        plan: PlanNode | None,
        table_rows: Mapping[str, int] | None = None,
        distinct_values: Mapping[str, float] | None = None,
    ) -> tuple[PlanNode | None, SubPlan | None]:
        """Checks, optimizes and fragments a plan."""
        if plan is None:
            return None, None
        try:
            self._checkers.validate_intermediate(plan, self._session, self._warnings.append)
        except ProcessionError as error:
            if error.code is not ErrorCode.INVALID_PLAN_ERROR or not error.message.startswith(_NO_SOURCE):
                raise
            # A column of an outer query that decorrelation has left where it was.
            message = "Given correlated subquery is not supported"
            raise placed_in_text(ErrorCode.UNSUPPORTED_SUBQUERY, message, error.location) from error
        with self._verb("optimize"):
            self._initial = plan
            logical, self._fired = optimize(
                plan,
                self._session,
                pushdown_of=self._catalogs.pushdown,
                table_rows=table_rows,
                distinct_values=distinct_values,
                row_position=self._catalogs.row_position,
                column_bounds=self._catalogs.column_bounds,
                notes=self._notes,
            )
        self._checkers.validate_final(logical, self._session, self._warnings.append)
        with self._verb("fragment"):
            return logical, fragment(logical, self._session)


def _reads_system_tables(work: Work, seen: Sequence[TableVersion]) -> bool:
    """Whether a statement reads rows of system tables, and nothing that may look otherwise when it is asked again."""
    if not isinstance(work, SelectRows | RunLocally):
        return False
    return all(each.catalog == SYSTEM_CATALOG or each.schema == INFORMATION_SCHEMA for each in seen)


def _refuse_parameters(text: str) -> None:
    marks = placeholders(text) if "?" in text else ()
    if marks:
        message = f"Incorrect number of parameters: expected {len(marks)} but found 0"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=ErrorLocation(1, 1))

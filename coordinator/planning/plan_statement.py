"""Text, session and metadata to a planned statement, through parse, analyze, plan, optimize and fragment.

Runs in the planner processes; everything that goes in and comes out is picklable.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from coordinator.analyzer.procedure_call import bind_call
from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.connectors.registry import Catalogs
from coordinator.connectors.system.listing import INFORMATION_SCHEMA
from coordinator.connectors.system.registered import SYSTEM_CATALOG
from coordinator.explain.explain_statement import plan_explain, refuse_to_analyze
from coordinator.expressions.builders import constant
from coordinator.expressions.clock import clock_reads
from coordinator.expressions.types import UNKNOWN
from coordinator.planner.describe_prepared import aliased_columns, describe_output, origins_of
from coordinator.planner.guard import guarding
from coordinator.planner.procedure_accesses import permit_call
from coordinator.planner.procedure_call import plan_call
from coordinator.planner.query import plan_query
from coordinator.planner.refused import refusal
from coordinator.planner.roles import plan_of_roles
from coordinator.planner.session_statements import prepared_text
from coordinator.planner.statement_accesses import accesses_of
from coordinator.planner.table_execute import procedure_call
from coordinator.planner.writes import ROWS
from coordinator.planning.catalog_statements import CatalogStatement, WriteStatement, plan_of_catalog, plan_of_write
from coordinator.planning.query_work import explain_work, query_work
from coordinator.planning.session_statements import PROPERTIES, plan_of_session, plan_of_show
from coordinator.planning.statement_facts import Planned, statement_facts
from coordinator.planning.steps import PlanPhaseCheckers, Steps
from coordinator.sql import statements as sql
from coordinator.sql.ddl_statements import ExecuteTableProcedure
from coordinator.sql.parameters import placeholders, substitute
from coordinator.sql.parse_statement import parse_statement
from coordinator.sql.role_statements import RoleStatement
from coordinator.sql.tree.queries import Query
from coordinator.unparser.approximations import estimating_for
from coordinator.unparser.engine_limits import engine_limits, limits_of_writes
from coordinator.unparser.session_zone import in_session_zone
from coordinator.unparser.wide_reads import with_limited_reader
from coordinator.unparser.writes import write_work
from coordinator.vocabulary.lookup_cache import cached_lookups
from coordinator.vocabulary.nesting import too_deep
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    ChangeCatalog,
    Column,
    ManageCatalog,
    PlannedStatement,
    ReturnRows,
    RunLocally,
    SelectRows,
    Work,
    WriteRows,
)
from coordinator.vocabulary.session_properties import check_session
from coordinator.vocabulary.statement_facts import StatementFacts
from coordinator.vocabulary.table_versions import TableVersion, recording
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.nodes import OutputNode
from shared.spi.connector import TableMetadata
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

_LOG = logging.getLogger(__name__)


def plan_statement(
    text: str, session: Session, catalogs: Catalogs, checkers: PlanPhaseCheckers, *, facts: bool = False
) -> PlannedStatement:
    """The planned statement, with the seconds of each verb; fragments are not yet checked.

    ``facts``: somebody is told of it later, so that it carries what is told.

    Raises ProcessionError, located in ``text`` where that is possible.
    """
    steps = Steps(session, catalogs, checkers)
    try:
        check_session(session, catalogs.names(), PROPERTIES)
        with steps.verb("parse"):
            statement = parse_statement(text)
        with (
            recording() as seen,
            cached_lookups(),
            clock_reads() as clock,
            in_session_zone(session.time_zone),
            estimating_for(session),
            guarding(steps.guard),
        ):
            planned = _plan(steps, statement, text)
    except RecursionError as error:
        raise too_deep() from error
    return replace(
        planned,
        verb_seconds=dict(steps.seconds),
        warnings=(*planned.warnings, *steps.warnings),
        table_versions=tuple(dict.fromkeys(seen)),
        accesses=steps.guard.asked,
        rules_version=steps.guard.rules_version,
        facts=_facts(steps, planned) if facts else None,
        defining=None,
        repeatable=not clock and _reads_system_tables(planned.work, seen),
    )


def _facts(steps: Steps, planned: PlannedStatement) -> StatementFacts | None:
    try:
        return statement_facts(planned.work, steps.planned, steps.guard.asked, planned.defining)
    except Exception:
        # A statement runs all the same if nothing can be told of it.
        _LOG.exception("nothing can be told of %s", steps.session.query_id)
        return None


def _plan(steps: Steps, statement: sql.Statement, text: str) -> PlannedStatement:
    steps.guard.ask(*accesses_of(statement, steps.session))
    if isinstance(statement, WriteStatement):
        return _write(steps, statement, text)
    if isinstance(statement, CatalogStatement):
        return _definition(steps, statement)
    if isinstance(statement, sql.SessionStatement | sql.ShowStatement | sql.DescribeOutput):
        with steps.verb("analyze"):
            return _metadata(steps, statement)
    if isinstance(statement, RoleStatement):
        return _roles(steps, statement)
    match statement:
        case Query():
            return _query(steps, statement, text)
        case sql.Call():
            return _call(steps, statement, text)
        case ExecuteTableProcedure():
            return _call(steps, procedure_call(statement, steps.session, steps.catalogs), text)
        case sql.Execute():
            prepared = prepared_text(statement.name, steps.session)
            return _execute(steps, prepared, statement.parameters, statement.location)
        case sql.ExecuteImmediate():
            return _execute(steps, statement.text, statement.parameters, statement.location)
        case sql.Explain():
            return _explain(steps, statement, text)
        case sql.OtherStatement():
            raise refusal(statement)
        case _:
            assert_never(statement)


def _query(steps: Steps, query: Query, text: str) -> PlannedStatement:
    _refuse_parameters(text)
    with steps.verb("plan"):
        planned = plan_query(query, steps.session, steps.catalogs)
    steps.warn_of(planned.tables)
    steps.view_notes += planned.notes
    logical, subplan = steps.finish(planned.root, planned.table_rows, planned.distinct_values)
    assert isinstance(logical, OutputNode)
    steps.planned = None if steps.explaining else Planned(planned.root, logical, planned.tables)
    return PlannedStatement(
        query_type="SELECT",
        columns=planned.columns,
        work=explain_work(steps, logical) if steps.explaining else query_work(steps, logical),
        initial_plan=planned.root,
        logical_plan=logical,
        subplan=subplan,
        inputs=_names(planned.tables),
    )


def _write(steps: Steps, statement: WriteStatement, text: str) -> PlannedStatement:
    _refuse_parameters(text)
    with steps.verb("plan"):
        planned = plan_of_write(statement, steps.session, steps.catalogs)
    if isinstance(planned, PlannedStatement):
        return planned
    steps.warn_of(planned.tables)
    steps.view_notes += planned.notes
    if planned.warning is not None:
        steps.warn(planned.warning)
    logical, subplan = steps.finish(planned.root, planned.table_rows, planned.distinct_values)
    assert isinstance(logical, OutputNode)
    steps.planned = None if steps.explaining else Planned(planned.root, logical, planned.tables, planned.change)
    limits = limits_of_writes(engine_limits(steps.session))
    relation_of = with_limited_reader(steps.catalogs.relation, limits.spark_reader_bytes, limits.spark_page_bytes)
    made = PlannedStatement(
        query_type=planned.write.kind,
        columns=ROWS,
        work=ReturnRows(()) if steps.explaining else write_work(planned, logical, relation_of, limits),
        update_type=planned.update_type,
        initial_plan=planned.root,
        logical_plan=logical,
        subplan=subplan,
        inputs=_names(planned.tables),
    )
    _refuse_in_transaction(made, steps.session)
    return made


def _call(steps: Steps, call: sql.Call, text: str) -> PlannedStatement:
    _refuse_parameters(text)
    with steps.verb("analyze"):
        bound = bind_call(call, steps.session, steps.catalogs)
        permit_call(steps.guard, bound, steps.catalogs)
    with steps.verb("plan"):
        planned = plan_call(bound, steps.session, steps.catalogs)
    logical, subplan = (None, None) if planned.plan is None else steps.finish(planned.plan)
    if planned.plan is not None and logical is not None and not steps.explaining:
        steps.planned = Planned(planned.plan, logical)
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


def _definition(steps: Steps, statement: CatalogStatement) -> PlannedStatement:
    with steps.verb("analyze"):
        planned = plan_of_catalog(statement, steps.session, steps.catalogs)
    _refuse_in_transaction(planned, steps.session)
    return planned


def _roles(steps: Steps, statement: RoleStatement) -> PlannedStatement:
    with steps.verb("analyze"):
        planned = plan_of_roles(statement, steps.session, steps.catalogs)
    _refuse_in_transaction(planned, steps.session)
    return planned


def _metadata(
    steps: Steps, statement: sql.SessionStatement | sql.ShowStatement | sql.DescribeOutput
) -> PlannedStatement:
    if isinstance(statement, sql.DescribeOutput):
        return _describe_output(steps, statement.name)
    if isinstance(statement, sql.SetSession):
        steps.guard.ask_of_session_property(statement.name)
    if isinstance(statement, sql.SessionStatement):
        return plan_of_session(statement, steps.session, steps.catalogs)
    return plan_of_show(statement, steps.session, steps.catalogs)


def _explain(steps: Steps, statement: sql.Explain, text: str) -> PlannedStatement:
    refuse_to_analyze(statement)
    steps.explaining = not statement.analyze
    planned = _plan(steps, statement.statement, text)
    return plan_explain(statement, planned, steps.fired, steps.explain_notes(), steps.estimate(planned.logical_plan))


def _execute(steps: Steps, prepared: str, parameters: tuple[str, ...], location: ErrorLocation) -> PlannedStatement:
    with steps.verb("parse"):
        substituted = substitute(prepared, parameters, location)
    try:
        with steps.verb("parse"):
            statement = parse_statement(substituted.text)
        planned = _plan(steps, statement, substituted.text)
    except ProcessionError as error:
        if error.location is None:
            raise
        place = substituted.original(error.location)
        raise ProcessionError(error.code, error.message, location=place) from error
    return replace(planned, prepared_sql=prepared)


def _describe_output(steps: Steps, name: str) -> PlannedStatement:
    prepared = prepared_text(name, steps.session)
    statement = parse_statement(prepared)
    if isinstance(statement, sql.Call):
        declaration = resolve_procedure(statement, steps.session, steps.catalogs).procedure.declaration
        return describe_output([Column(column.name, column.type) for column in declaration.output])
    marks = placeholders(prepared)
    if isinstance(statement, Query):
        unknown = (constant(None, UNKNOWN),) * len(marks)
        planned = plan_query(statement, steps.session, steps.catalogs, unknown)
        origins = origins_of(planned.root, planned.tables)
        return describe_output(planned.columns, origins, aliased_columns(statement))
    return describe_output(_execute(steps, prepared, ("NULL",) * len(marks), ErrorLocation(1, 1)).columns)


def _refuse_in_transaction(planned: PlannedStatement, session: Session) -> None:
    """Nothing could be rolled back: what writes commits by itself, as with Presto's Iceberg connector."""
    match planned.work:
        case (
            ChangeCatalog(catalog=catalog)
            | ManageCatalog(catalog=catalog)
            | AnalyzeTable(catalog=catalog)
            | WriteRows(write=TableWrite(catalog=catalog))
        ):
            if session.transaction_id is not None:
                message = f"Catalog only supports writes using autocommit: {catalog}"
                raise ProcessionError(ErrorCode.AUTOCOMMIT_WRITE_CONFLICT, message)
        case _:
            return


def _reads_system_tables(work: Work, seen: Sequence[TableVersion]) -> bool:
    """Whether a statement reads rows of system tables, and nothing that may look otherwise when it is asked again."""
    if not isinstance(work, SelectRows | RunLocally):
        return False
    return all(each.catalog == SYSTEM_CATALOG or each.schema == INFORMATION_SCHEMA for each in seen)


def _names(tables: Sequence[TableMetadata]) -> tuple[str, ...]:
    return tuple(f"{table.catalog}.{table.schema}.{table.name}" for table in tables)


def _refuse_parameters(text: str) -> None:
    marks = placeholders(text) if "?" in text else ()
    if marks:
        message = f"Incorrect number of parameters: expected {len(marks)} but found 0"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=ErrorLocation(1, 1))

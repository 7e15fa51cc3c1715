"""EXPLAIN: the explained statement's plan in the asked type and format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from coordinator.connectors.system.procedures.help import default_text
from coordinator.explain.graphviz import distributed_graphviz, logical_graphviz
from coordinator.explain.io_format import io_json
from coordinator.explain.json_format import distributed_json, logical_json
from coordinator.explain.text import distributed_text, logical_text
from coordinator.optimizer.cardinality import Estimate
from coordinator.optimizer.optimize import FiredRule
from coordinator.sql import ddl_statements as ddl
from coordinator.sql import statements as sql
from coordinator.sql.function_statements import CreateTemporaryFunction, DropTemporaryFunction
from coordinator.sql.statements import Explain, ExplainFormat, ExplainType
from coordinator.vocabulary.planned_statement import (
    CallProcedure,
    Column,
    ExplainAnalyze,
    ExplainNative,
    PlannedStatement,
    ReturnRows,
)
from shared.errors import ErrorCode, ProcessionError
from shared.plan.fragment import SubPlan
from shared.plan.nodes import PlanNode
from shared.spi.plan_converter import PlanFormat


def plan_explain(
    statement: Explain,
    planned: PlannedStatement,
    fired: tuple[FiredRule, ...],
    notes: Sequence[str] = (),
    estimate: Estimate | None = None,
) -> PlannedStatement:
    """EXPLAIN of an already planned statement; ``fired`` are the optimizer's rules for VERBOSE, ``notes`` its notes,
    ``estimate`` what TYPE IO says of the result.

    Plans of TYPE DISTRIBUTED keep their fragments, so that the fragment checkers look at them as at a real query's.
    """
    if statement.analyze:
        return _analyze(statement, planned)
    bare = PlannedStatement("EXPLAIN", (), ReturnRows(()), verb_seconds=planned.verb_seconds)
    match statement.type:
        case ExplainType.VALIDATE:
            return replace(bare, columns=(Column("result", "boolean"),), work=ReturnRows(((True,),)))
        case ExplainType.IO:
            return _with_text(bare, io_json(planned.logical_plan, estimate))
        case ExplainType.NATIVE:
            return _native(bare, statement, planned)
        case ExplainType.LOGICAL:
            return _with_text(bare, _logical(statement, planned, fired) + _notes(statement, notes))
        case ExplainType.DISTRIBUTED:
            text = _summary(statement, planned)
            if planned.subplan is not None:
                text = _distributed(planned.subplan, statement.format) + _notes(statement, notes)
            checked = replace(bare, logical_plan=planned.logical_plan, subplan=planned.subplan)
            return _with_text(checked, text)
        case _:
            assert_never(statement.type)


_NOT_RUN = (
    CreateTemporaryFunction, DropTemporaryFunction,
    ddl.AddColumn, ddl.AlterColumn, ddl.CommentOn, ddl.CreateSchema, ddl.CreateTable, ddl.CreateView, ddl.DropColumn,
    ddl.DropSchema, ddl.DropTable, ddl.DropView, ddl.ExecuteTableProcedure, ddl.RenameColumn, ddl.RenameSchema,
    ddl.RenameTable, ddl.RenameView, ddl.SetTableProperties, ddl.TruncateTable, sql.Call, sql.Commit, sql.Deallocate,
    sql.Execute, sql.ExecuteImmediate, sql.Prepare, sql.ResetSession, sql.Rollback, sql.SetSession,
    ddl.SetAuthorization, sql.StartTransaction, sql.Use,
)  # fmt: skip


def refuse_to_analyze(statement: Explain) -> None:
    """Raises NOT_SUPPORTED, before anything is looked up, for EXPLAIN ANALYZE of what has no plan to measure."""
    if statement.analyze and isinstance(statement.statement, _NOT_RUN):
        raise _not_analyzed(statement)


def _not_analyzed(statement: Explain) -> ProcessionError:
    kind = type(statement.statement).__name__
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"EXPLAIN ANALYZE doesn't support statement type: {kind}")


def _analyze(statement: Explain, planned: PlannedStatement) -> PlannedStatement:
    """The statement runs, is checked and queued as it is; its plan becomes the result."""
    # Presto's texts and code: it checks these after the statement has been accepted.
    if statement.type is not ExplainType.DISTRIBUTED:
        message = "only DISTRIBUTED type is supported in EXPLAIN ANALYZE"
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message)
    if statement.format is ExplainFormat.GRAPHVIZ:
        message = "only TEXT and JSON formats are supported in EXPLAIN ANALYZE"
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message)
    if planned.subplan is None or isinstance(planned.work, CallProcedure):
        raise _not_analyzed(statement)
    as_json = statement.format is ExplainFormat.JSON
    seconds = planned.verb_seconds
    work = ExplainAnalyze(planned.work, planned.columns, planned.subplan, seconds, as_json, statement.verbose)
    columns = (Column("Query Plan", "varchar"),)
    return replace(planned, columns=columns, work=work, query_type="EXPLAIN", update_type=None)


def _with_text(planned: PlannedStatement, text: str) -> PlannedStatement:
    column = Column("Query Plan", f"varchar({len(text)})")
    return replace(planned, columns=(column,), work=ReturnRows(((text,),)))


def _notes(statement: Explain, notes: Sequence[str]) -> str:
    """What is told beside the plan; other formats than text have no place for it."""
    if statement.format is not ExplainFormat.TEXT:
        return ""
    return "".join(f"{note}\n" for note in notes)


def _native(bare: PlannedStatement, statement: Explain, planned: PlannedStatement) -> PlannedStatement:
    if planned.subplan is None:
        return _with_text(bare, _summary(statement, planned))
    work = ExplainNative(planned.subplan, PlanFormat[statement.format.name])
    return replace(bare, columns=(Column("Query Plan", "varchar"),), work=work)


def _logical(statement: Explain, planned: PlannedStatement, fired: tuple[FiredRule, ...]) -> str:
    plan = planned.logical_plan
    if plan is None:
        return _summary(statement, planned)
    if not statement.verbose or statement.format is not ExplainFormat.TEXT:
        return _formatted(plan, statement.format)
    parts = [] if planned.initial_plan is None else [f"Initial plan\n{logical_text(planned.initial_plan)}\n"]
    parts.extend(f"After {rule.name}\n{logical_text(rule.plan)}\n" for rule in fired)
    return "".join(parts) or logical_text(plan)


def _formatted(plan: PlanNode, wanted: ExplainFormat) -> str:
    match wanted:
        case ExplainFormat.TEXT:
            return logical_text(plan)
        case ExplainFormat.JSON:
            return logical_json(plan)
        case ExplainFormat.GRAPHVIZ:
            return logical_graphviz(plan)
        case _:
            assert_never(wanted)


def _distributed(subplan: SubPlan, wanted: ExplainFormat) -> str:
    match wanted:
        case ExplainFormat.TEXT:
            return distributed_text(subplan)
        case ExplainFormat.JSON:
            return distributed_json(subplan)
        case ExplainFormat.GRAPHVIZ:
            return distributed_graphviz(subplan)
        case _:
            assert_never(wanted)


def _summary(statement: Explain, planned: PlannedStatement) -> str:
    """A statement without a plan in one line; a CALL with what was bound, defaults included, as Presto does others."""
    match statement.statement:
        case ddl.CreateTable(name=name):
            return f"CREATE TABLE {'.'.join(name)}"
        case ddl.CreateSchema(name=name):
            return f"CREATE SCHEMA {'.'.join(name)}"
        case _:
            pass
    match planned.work:
        case CallProcedure(catalog=catalog, procedure=procedure, arguments=arguments):
            bound = ", ".join(f"{name} => {default_text(value)}" for name, value in arguments.items())
            return f"CALL {catalog}.system.{procedure}({bound})"
        case _:
            return statement.text

"""``CALL catalog.system.auto_maintain(schema, table_name, budget_seconds, budget_bytes, dry_run, branch)``"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from pyiceberg.table.refs import MAIN_BRANCH

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.maintenance.maintenance_plan import (
    Budget,
    Need,
    Step,
    dangling_step,
    expire_step,
    manifests_step,
    rewrite_step,
    statistics_steps,
)
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.rewrite.asked.branches import at_branch
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    Arguments,
    CoordinatorProcedure,
    OutputColumn,
    Procedure,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureProgress,
    ProcedureResult,
    TableDataRewriteProcedure,
    TableTarget,
)
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoMaintainArguments(TableArguments):
    """What the call says."""

    budget_seconds: Annotated[
        int | None, Declared("bigint", "How long it may take, as estimated; default: no limit.")
    ] = None
    budget_bytes: Annotated[int | None, Declared("bigint", "How many bytes may be rewritten; default: no limit.")] = (
        None
    )
    dry_run: Annotated[bool, Declared("boolean", "Only say what would be done.")] = False
    branch: Annotated[str | None, Declared("varchar", "The branch whose files are merged; default: main.")] = None


DECLARATION = ProcedureDeclaration(
    name="auto_maintain",
    kind=ProcedureKind.COORDINATOR,
    distributed=True,
    summary="Look at a table, decide what maintenance pays within a budget, say why, and do it.",
    arguments=declared_arguments(AutoMaintainArguments),
    output=(
        OutputColumn("step", "integer", "Number of the step, in the order of the work."),
        OutputColumn("procedure", "varchar", "The procedure that does it."),
        OutputColumn("action", "varchar", "DONE, FAILED, PLANNED (dry run) or SKIPPED."),
        OutputColumn("reason", "varchar", "Why, or why not."),
        OutputColumn("estimated_bytes", "bigint", "Bytes that it reads and writes."),
        OutputColumn("estimated_seconds", "double", "How long it should take."),
        OutputColumn("seconds", "double", "How long it took; NULL when it was not done."),
        OutputColumn("result", "varchar", "The procedure's own first row as JSON, or its error."),
    ),
    example="CALL iceberg.system.auto_maintain(table => 'sales.orders', budget_seconds => 300)",
    notes="In this order: merging data files, dangling deletes, manifests, old snapshots (by the table's "
    "history.expire properties), statistics where the table has some. Orphan files are never touched. A second call "
    "finds nothing to do. Of a branch all is done but statistics, which are main's. "
    "A step that fails does not keep the others from being done.",
)


class AutoMaintain:
    """Plans each step on the table as the steps before left it, and calls the other procedures."""

    declaration = DECLARATION

    def __init__(self, catalog: TableCatalog, procedures: Callable[[], Sequence[Procedure]]) -> None:
        self._catalog = catalog
        self._procedures = procedures

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError for a negative budget, an unknown table, and when the call is cancelled."""
        asked = record_of(AutoMaintainArguments, arguments)
        for name, budget in (("budget_seconds", asked.budget_seconds), ("budget_bytes", asked.budget_bytes)):
            if budget is not None and budget <= 0:
                raise ArgumentError(name, f"{name} must be greater than 0, got: {budget}")
        with mapped(f"{asked.schema}.{asked.table_name}"):
            return ProcedureResult(rows=list(self._rows(context, asked)))

    def _rows(self, context: ProcedureContext, asked: AutoMaintainArguments) -> Iterator[tuple[object, ...]]:
        schema, name = asked.schema, asked.table_name
        known = {p.declaration.name: p for p in self._procedures()}
        began, spent = time.monotonic(), 0
        number = 0
        for plan in (rewrite_step, dangling_step, manifests_step, expire_step, statistics_steps):
            context.check_cancelled()
            budget = _left(asked, context.workers.parallelism, time.monotonic() - began, spent)
            need = _need(self._catalog, asked, context, budget)
            planned = cast(Callable[[Need], "Step | Sequence[Step]"], plan)(need)
            for step in [planned] if isinstance(planned, Step) else planned:
                number += 1
                context.report(ProcedureProgress(number - 1, 6, step.procedure))
                head, row = (number, step.procedure), (step.reason, step.size, step.seconds)
                if step.arguments is None or step.procedure not in known:
                    reason = step.reason if step.arguments is None else f"{step.reason}; not available here"
                    yield (*head, "SKIPPED", reason, step.size, step.seconds, None, None)
                elif budget.seconds is not None and step.seconds > budget.seconds:
                    yield (*head, "SKIPPED", f"{step.reason}; no time is left", *row[1:], None, None)
                elif asked.dry_run:
                    yield (*head, "PLANNED", *row, None, None)
                else:
                    given = {"schema": schema, "table_name": name, **step.arguments}
                    action, seconds, result = _run(known[step.procedure], context, given, need.target)
                    spent += step.size
                    yield (*head, action, *row, seconds, result)


def _left(asked: AutoMaintainArguments, cores: int, seconds: float, spent: int) -> Budget:
    time_given, size_given = asked.budget_seconds, asked.budget_bytes
    return Budget(
        None if time_given is None else max(0.0, time_given - seconds),
        None if size_given is None else max(0, size_given - spent),
        max(1, cores),
    )


def _need(catalog: TableCatalog, asked: AutoMaintainArguments, context: ProcedureContext, budget: Budget) -> Need:
    table = catalog.open(asked.schema, asked.table_name)
    current = table.current_snapshot()
    target = TableTarget(asked.schema, asked.table_name, None if current is None else current.snapshot_id)
    branch = None if asked.branch == MAIN_BRANCH else asked.branch
    return Need(table, at_branch(table, target, branch), context.now, budget, branch=branch)


def _run(
    procedure: Procedure, context: ProcedureContext, given: Mapping[str, object], target: TableTarget
) -> tuple[str, float, str | None]:
    """What became of a step, its seconds, and its first row or error."""
    declaration = procedure.declaration
    arguments = {argument.name: given.get(argument.name, argument.default) for argument in declaration.arguments}
    began = time.monotonic()
    try:
        result = _called(procedure, context, arguments, target)
    except ProcessionError as error:
        if error.code is ErrorCode.USER_CANCELED:
            raise
        return "FAILED", round(time.monotonic() - began, 3), error.message
    names = [column.name for column in declaration.output]
    first = dict(zip(names, result.rows[0], strict=True)) if result.rows else None
    return "DONE", round(time.monotonic() - began, 3), json.dumps(first, default=str)


def _called(
    procedure: Procedure, context: ProcedureContext, arguments: Arguments, target: TableTarget
) -> ProcedureResult:
    if procedure.declaration.kind is not ProcedureKind.TABLE_DATA_REWRITE:
        return cast(CoordinatorProcedure, procedure).call(context, arguments)
    rewrite = cast(TableDataRewriteProcedure, procedure)
    handle = rewrite.begin(context, target, arguments)
    try:
        return rewrite.finish(context, handle, rewrite.write(context, handle))
    except BaseException:
        rewrite.abort(context, handle)
        raise

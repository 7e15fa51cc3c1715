"""Table procedures called with ``CALL catalog.system.name(…)``: declarations and the three kinds.

A declaration is data; CALL binding, ``help``, docs/procedures.md, ``system.jdbc.procedures`` and error texts all
derive from it. Sources: Presto RFC-0021 (distributed procedures), Iceberg's Spark procedures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import RowExpression
from shared.spi.jobs import Jobs
from shared.spi.session import Session
from shared.spi.workers import WorkerRuntime


class ProcedureKind(Enum):
    """How a procedure runs: in the coordinator, as a distributed rewrite of a table, or once on every worker."""

    COORDINATOR = "COORDINATOR"
    TABLE_DATA_REWRITE = "TABLE_DATA_REWRITE"
    MAINTENANCE = "MAINTENANCE"


@dataclass(frozen=True, slots=True)
class Argument:
    """One declared argument; ``type`` is Presto type text, ``default`` the bound Python value when it is left out.

    ``choices``: the texts that it may be, in small letters, where positions depend on that.
    """

    name: str
    type: str
    doc: str
    required: bool = False
    default: object = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of the result rows; ``type`` is Presto type text."""

    name: str
    type: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProcedureDeclaration:
    """Everything that is said about a procedure, once.

    When the first two arguments are ``schema`` and ``table_name``, callers may give Iceberg's single
    ``table => 'schema.table'`` instead; the binder splits it.
    """

    name: str
    kind: ProcedureKind
    summary: str
    arguments: tuple[Argument, ...]
    output: tuple[OutputColumn, ...]
    example: str = ""
    notes: str = ""
    dry_run_output: tuple[OutputColumn, ...] = ()
    """Columns of a call whose argument ``dry_run`` is true, when they are others."""
    iceberg_order: tuple[str, ...] = ()
    """The first arguments behind Iceberg's one dotted table name, where its procedure has another order; ``table`` is
    among them where that name does not come first."""

    presto_order: tuple[str, ...] = ()
    """The arguments behind schema and table_name in Presto's order, which counts where the third is a text that is
    none of the choices of the argument declared there."""

    def output_of(self, arguments: Mapping[str, object]) -> tuple[OutputColumn, ...]:
        """The result columns of a call with these bound arguments."""
        return self.dry_run_output if self.dry_run_output and arguments.get("dry_run") is True else self.output

    distributed: bool = False
    """Whether a procedure of kind COORDINATOR has the executors rewrite or read a table's rows: it is planned as a
    rewrite of the whole table, checked, and queued as CALL_DISTRIBUTED_PROCEDURE."""

    @property
    def is_distributed(self) -> bool:
        """Whether its calls are of the query type CALL_DISTRIBUTED_PROCEDURE."""
        return self.distributed or self.kind is not ProcedureKind.COORDINATOR

    @property
    def takes_table(self) -> bool:
        return tuple(a.name for a in self.arguments[:2]) == ("schema", "table_name")


Arguments = Mapping[str, object]
"""Bound values by argument name, every declared name present. Python values: bigint and integer int, double float,
decimal Decimal, varchar str, boolean bool, date date, timestamp naive datetime in the session zone (or
aware in UTC where the call gave a zone), timestamp with time zone aware datetime, array tuple, map dict, row tuple,
null None. Procedures read them as records (``shared.spi.procedure_arguments``)."""


class ArgumentError(ProcessionError):
    """A value of an argument cannot be used; told at the place of that argument in the statement."""

    def __init__(self, argument: str, message: str, code: ErrorCode = ErrorCode.INVALID_PROCEDURE_ARGUMENT) -> None:
        super().__init__(code, message)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class ProcedureResult:
    """Rows in the order of the declared output columns; ``update_count`` feeds the protocol's updateCount."""

    rows: Sequence[Sequence[object]]
    update_count: int | None = None


@dataclass(frozen=True, slots=True)
class ProcedureProgress:
    """How far a long procedure is: counts for the client's progress bar and a phrase for the query page."""

    completed: int
    total: int
    phase: str = ""


@dataclass(frozen=True, slots=True)
class ProcedureContext:
    """What a procedure may use while it runs; ``check_cancelled`` raises USER_CANCELED once the query was cancelled.

    ``filter`` is the argument of that name as an expression over the table's columns, for procedures of kind
    COORDINATOR; None when every row is meant.
    """

    session: Session
    catalog: str
    workers: WorkerRuntime
    now: datetime
    report: Callable[[ProcedureProgress], None] = lambda _progress: None
    check_cancelled: Callable[[], None] = lambda: None
    jobs: Jobs | None = None
    filter: RowExpression | None = None


@dataclass(frozen=True, slots=True)
class TableTarget:
    """The table that a rewrite works on, as planned: pinned snapshot and the filter over its columns.

    ``snapshot_id`` is None for a table without a snapshot. ``filter`` selects files that may hold matching rows;
    rows of a selected file are all rewritten. ``filter_text`` is what the user wrote.
    """

    schema: str
    table: str
    snapshot_id: int | None
    filter: RowExpression | None = None
    filter_text: str | None = None
    location: str | None = None
    """The table's folder, where it has one."""


class CoordinatorProcedure(Protocol):
    """Runs inside the coordinator, on a thread of its own."""

    declaration: ProcedureDeclaration

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult: ...


class TableDataRewriteProcedure(Protocol):
    """Begin and finish in the coordinator, writing on workers (RFC-0021)."""

    declaration: ProcedureDeclaration

    def validate(self, arguments: Arguments) -> None:
        """Refuse wrong argument values before the statement queues; raises ProcessionError."""
        ...

    def begin(self, context: ProcedureContext, target: TableTarget, arguments: Arguments) -> Any:
        """Pin the snapshot, plan and journal the work; the returned handle is the procedure's own."""
        ...

    def write(self, context: ProcedureContext, handle: Any) -> Any:
        """Run the kernels on ``context.workers``; what is returned is the procedure's own, as the handle is."""
        ...

    def finish(self, context: ProcedureContext, handle: Any, written: Any) -> ProcedureResult:
        """Validate against concurrent commits, commit, and return the result rows."""
        ...

    def abort(self, context: ProcedureContext, handle: Any) -> None:
        """Remove exactly what this call wrote; called once when write or finish raised. Never raises."""
        ...


class MaintenanceProcedure(Protocol):
    """Runs a kernel once on every worker, then finishes in the coordinator."""

    declaration: ProcedureDeclaration

    def payload(self, context: ProcedureContext, arguments: Arguments) -> tuple[str, bytes]:
        """The kernel and what each worker gets."""
        ...

    def finish(
        self, context: ProcedureContext, arguments: Arguments, results: Sequence[tuple[str, bytes]]
    ) -> ProcedureResult: ...


Procedure = CoordinatorProcedure | TableDataRewriteProcedure | MaintenanceProcedure

"""What planning hands to checking and dispatch: picklable, since it crosses from the planner processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from coordinator.vocabulary.statement_facts import StatementFacts
from coordinator.vocabulary.table_versions import TableVersion
from coordinator.vocabulary.traced_calls import TracedCall
from shared.errors import ErrorLocation
from shared.plan.expressions import Variable
from shared.plan.fragment import SubPlan
from shared.plan.nodes import LookUpNode, PlanNode
from shared.spi.accesses import AskedAccess
from shared.spi.catalog_changes import CatalogChange
from shared.spi.connector import TableMetadata
from shared.spi.grants import RoleChange
from shared.spi.plan_checker import PrestoWarning
from shared.spi.plan_converter import PlanFormat
from shared.spi.procedure import ProcedureKind, TableTarget
from shared.spi.relation import Input, Relation, RowsRelation
from shared.spi.session_function import SessionFunction
from shared.spi.table_writes import TableWrite

QueryType = Literal[
    "SELECT",
    "EXPLAIN",
    "DESCRIBE",
    "CONTROL",
    "DATA_DEFINITION",
    "CALL_DISTRIBUTED_PROCEDURE",
    "INSERT",
    "DELETE",
    "UPDATE",
    "MERGE",
    "ANALYZE",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A result column; ``type`` is Presto type text."""

    name: str
    type: str

    @property
    def length(self) -> int:
        """In characters."""
        return len(self.name) + len(self.type)


@dataclass(frozen=True, slots=True)
class SessionChange:
    """What the client must change in its session, sent as X-Presto-Set-… headers on executing responses."""

    set_catalog: str | None = None
    set_schema: str | None = None
    set_session: Mapping[str, str] = field(default_factory=dict)
    clear_session: tuple[str, ...] = ()
    set_role: Mapping[str, str] = field(default_factory=dict)
    added_prepare: Mapping[str, str] = field(default_factory=dict)
    deallocated_prepare: tuple[str, ...] = ()
    added_functions: tuple[SessionFunction, ...] = ()
    removed_functions: tuple[str, ...] = ()
    """By their ids."""
    started_transaction_id: str | None = None
    clear_transaction_id: bool = False


@dataclass(frozen=True, slots=True)
class ReturnRows:
    """The result is already known: EXPLAIN text, SHOW output, the fake row of DDL. Row values are Python values."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class NameRows:
    """Columns by their new names, each with the name that it had."""

    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KeepRows:
    """The rows for which a program of the kernels over ``columns`` is true."""

    program: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderRows:
    """Rows by the named columns, each with whether it descends and whether NULLs come first."""

    keys: tuple[tuple[str, bool, bool], ...]


@dataclass(frozen=True, slots=True)
class CutRows:
    """The first ``count`` rows."""

    count: int


RowStep = NameRows | KeepRows | OrderRows | CutRows


@dataclass(frozen=True, slots=True)
class SelectRows:
    """Rows that a connector makes, through ``steps`` in their order: needs no engine."""

    relation: RowsRelation
    steps: tuple[RowStep, ...]


@dataclass(frozen=True, slots=True)
class RunOnSpark:
    """SQL in Spark's dialect, snapshots pinned; ``inputs`` are what it reads beside tables of Spark's catalogs."""

    sql: str
    inputs: tuple[Input, ...] = ()
    why: str = field(default="", compare=False)
    """Why this engine, for people."""


@dataclass(frozen=True, slots=True)
class PlanForSpark:
    """A query that Spark may have to run: its SQL is written when it has to, which is seldom.

    ``plan`` is the logical plan as msgpack, ``relations`` are what its scans read, in the order of a walk. The rest is
    what the session asks of the SQL.
    """

    plan: bytes
    relations: tuple[Relation, ...]
    zone: str
    approximate_functions: str


@dataclass(frozen=True, slots=True)
class RunLocally:
    """SQL in DuckDB's dialect over values and ``inputs``; answered without Spark.

    ``otherwise`` is the same for Spark, where the embedded engine may find that it is too much for it.
    """

    sql: str
    inputs: tuple[Input, ...] = ()
    otherwise: PlanForSpark | None = None
    why: str = field(default="", compare=False)
    most_sent_bytes: int | None = None
    """Of rows of databases, where nobody knows beforehand how many come: beyond them it is too much."""


@dataclass(frozen=True, slots=True)
class LikelyRows:
    """``work`` gives the right rows in less time, provided that it gives ``rows`` of them."""

    work: RunOnSpark
    rows: int


@dataclass(frozen=True, slots=True)
class ComputeColumns:
    """``sql`` in Spark's dialect over rows under ``name``: their number ``row`` and ``columns``.

    It gives each row's number and its ``output``.
    """

    sql: str
    name: str
    row: str
    columns: tuple[str, ...]
    output: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FetchRows:
    """Late materialization: run ``first``, then read at its rows' positions what ``look_ups`` say.

    ``columns`` name the columns of ``first``, ``output`` those of the result, which look-ups add to. ``otherwise`` is
    the same query in one pass, for when more than ``max_rows`` rows are found or files cannot be read by position.
    ``likely`` is tried before ``first``. ``computed`` are columns of the result that are made of fetched ones.
    """

    first: RunOnSpark
    columns: tuple[str, ...]
    look_ups: tuple[LookUpNode, ...]
    output: tuple[str, ...]
    otherwise: RunOnSpark
    max_rows: int
    likely: LikelyRows | None = None
    computed: ComputeColumns | None = None


@dataclass(frozen=True, slots=True)
class CallProcedure:
    """A bound call; ``target`` is set for procedures of kind TABLE_DATA_REWRITE, and where a filter was given.

    ``location`` is that of the CALL, ``locations`` those of the arguments that were written.
    """

    catalog: str
    procedure: str
    kind: ProcedureKind
    arguments: Mapping[str, Any]
    target: TableTarget | None = None
    location: ErrorLocation | None = None
    locations: Mapping[str, ErrorLocation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExplainNative:
    """Convert every worker fragment of ``subplan`` and return the plans (EXPLAIN (TYPE NATIVE))."""

    subplan: SubPlan
    plan_format: PlanFormat


@dataclass(frozen=True, slots=True)
class ExplainAnalyze:
    """Run ``work`` and return its plan with what was measured, as text or of FORMAT JSON."""

    work: Work
    columns: tuple[Column, ...]
    subplan: SubPlan
    verb_seconds: Mapping[str, float]
    json: bool = False
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class ChangeCatalog:
    """DDL: one change of one catalog or of its roles, then ``true`` as the result.

    ``columns`` are names and types in a table that is altered, as they were.
    """

    catalog: str
    change: CatalogChange | RoleChange
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DefiningQuery:
    """The plan of the query that a view is defined by: what its columns are made of, and the tables of its scans."""

    root: PlanNode
    columns: tuple[tuple[str, Variable], ...]
    tables: tuple[TableMetadata, ...]


@dataclass(frozen=True, slots=True)
class CatalogDefinition:
    """What a catalog is made of; ``properties`` as written, with references to the environment in them."""

    connector: str
    properties: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CatalogEdit:
    """Properties that a catalog gets; those without a value go."""

    properties: tuple[tuple[str, str | None], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ManageCatalog:
    """Make or edit the catalog as ``definition`` says, or drop it where there is none; then ``true`` as the result.

    ``lenient``: IF [NOT] EXISTS was said.
    """

    catalog: str
    definition: CatalogDefinition | CatalogEdit | None
    lenient: bool


@dataclass(frozen=True, slots=True)
class WriteRows:
    """A write through the engine; ``inputs`` are what it reads beside tables of Spark's catalogs.

    ``rows`` is the query whose rows the connector may write by itself, with its columns: where Spark cannot, and has no
    statement, and where they are few.
    """

    write: TableWrite
    inputs: tuple[Input, ...] = ()
    rows: tuple[Work, tuple[Column, ...]] | None = None


@dataclass(frozen=True, slots=True)
class AnalyzeTable:
    """ANALYZE: statistics of a table, by a connector that is an AnalyzableCatalog; the rows are the result."""

    catalog: str
    schema: str
    table: str
    properties: Mapping[str, Any]


Work = (
    ReturnRows
    | RunLocally
    | SelectRows
    | RunOnSpark
    | FetchRows
    | CallProcedure
    | ExplainNative
    | ExplainAnalyze
    | ChangeCatalog
    | ManageCatalog
    | WriteRows
    | AnalyzeTable
)


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement ready to be checked and queued.

    ``verb_seconds`` holds parse, analyze, plan, optimize and fragment. ``logical_plan`` and ``subplan`` are None for
    statements without a plan (SET SESSION, USE); logical plans stay in the process that made them. ``update_type`` is
    the protocol's updateType. ``table_versions``: the tables as planning saw them. ``fragments_verified``: the built-in
    checks of the fragment phase have passed. ``repeatable``: text and session alone make it, so that it serves the same
    statement again.
    """

    query_type: QueryType
    columns: tuple[Column, ...]
    work: Work
    update_type: str | None = None
    initial_plan: PlanNode | None = None
    logical_plan: PlanNode | None = None
    subplan: SubPlan | None = None
    session_change: SessionChange = field(default_factory=SessionChange)
    warnings: tuple[PrestoWarning, ...] = ()
    verb_seconds: Mapping[str, float] = field(default_factory=dict)
    prepared_sql: str | None = None
    inputs: tuple[str, ...] = ()
    table_versions: tuple[TableVersion, ...] = ()
    fragments_verified: bool = False
    repeatable: bool = False
    accesses: tuple[AskedAccess, ...] = ()
    """What was asked of the access control, and allowed."""
    rules_version: str | None = None
    """Of the access control that was asked."""
    facts: StatementFacts | None = field(default=None, compare=False)
    """What is told of it to listeners and the history; None when nobody listens."""
    defining: DefiningQuery | None = field(default=None, compare=False)
    """Of a statement that defines a view, until what is told of it has been made."""
    calls: tuple[TracedCall, ...] = field(default=(), compare=False)
    """Of other services while it was planned, where traces are made."""

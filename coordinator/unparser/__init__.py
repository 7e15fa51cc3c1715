"""Plans to SQL of an engine: PlanNode → sqlglot tree → text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from coordinator.unparser.engine_choice import EngineChoice, EngineLimits, choose_engine
from coordinator.unparser.kept_zones import with_zones_as_text
from coordinator.unparser.plan_for_spark import put_by, taken_up
from coordinator.unparser.programs import called_programs
from coordinator.unparser.relations import Relations
from coordinator.unparser.repeated import RowsOf, unknown_rows
from coordinator.unparser.row_selection import row_selection
from coordinator.unparser.scans import RelationOf, Scans, scans_of_first_rows
from coordinator.values.program_names import program_names, programs
from coordinator.vocabulary.nesting import too_deep
from coordinator.vocabulary.planned_statement import PlanForSpark, RunLocally, RunOnSpark, SelectRows
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.nodes import OutputNode, PlanNode, TableScanNode
from shared.spi.relation import Input, Relation

LIMITS = EngineLimits()
_MANY_CORES = 4
"""How much longer a program may take here where Spark runs it too, which takes a while to begin."""


def unparse(root: OutputNode, dialect: str, relation_of: RelationOf, *, rows_of: RowsOf = unknown_rows) -> str:
    """The SQL of a logical plan in dialect ``spark`` or ``duckdb``; columns come in the plan's order.

    Raises ProcessionError NOT_SUPPORTED for what the engine cannot do with Presto's meaning.
    """
    return _unparse(root, dialect, relation_of, rows_of=rows_of)[0]


def work_of(
    root: OutputNode,
    relation_of: RelationOf,
    limits: EngineLimits = LIMITS,
    *,
    copies: bool = False,
    explained: bool = False,
    rows_of: RowsOf = unknown_rows,
) -> RunLocally | RunOnSpark | SelectRows:
    """Where a query runs: locally when all that it reads is small and at hand, else on Spark with snapshots pinned.

    What is beyond the local engine runs on Spark as well. ``copies``: a part that has to run on Spark, which is told
    which joins are REPLICATED. ``explained``: it does not run; the engine is the same, but what Spark would run in its
    place is left out, and texts are empty unless they call programs. ``rows_of`` tells what pays to be computed once.
    """
    root = with_zones_as_text(root)
    relation_of = _asked_once(relation_of)
    if copies:
        return RunOnSpark(*_unparse(root, "spark", relation_of, copies=copies))
    if (selected := row_selection(root, relation_of)) is not None:
        return selected
    choice = choose_engine(root, relation_of, limits)
    sql = partial(_unparse_if_read if explained else _unparse, root, relation_of=relation_of, rows_of=rows_of)
    if not choice.embedded:
        if limits.engine == "embedded":
            message = f"The embedded engine cannot run this query: {choice.why}"
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
        return RunOnSpark(*sql("spark"), why=choice.why)
    try:
        local = RunLocally(*sql("duckdb"), why=choice.why)
    except ProcessionError as refused:
        if limits.engine == "embedded":
            raise
        return _what_only_spark_can(sql, refused)
    if choice.only or not choice.rows:
        return local
    decided = _decided_by_spark(local, sql, choice, limits)
    if decided is not None or explained:
        return decided or local
    return replace(local, otherwise=put_by(root, relation_of), most_sent_bytes=choice.most_sent_bytes)


def _what_only_spark_can(sql: Callable[[str], tuple[str, tuple[Input, ...]]], refused: ProcessionError) -> RunOnSpark:
    """Raises what the embedded engine refused where Spark refuses it as well."""
    try:
        return RunOnSpark(*sql("spark"), why=f"only Spark can: {refused.message}")
    except ProcessionError:
        raise refused from None


def _decided_by_spark(
    local: RunLocally, sql: Callable[[str], tuple[str, tuple[Input, ...]]], choice: EngineChoice, limits: EngineLimits
) -> RunLocally | RunOnSpark | None:
    """What runs where it has to be known now what Spark would do; None where Spark can run the query as well."""
    slow = _may_be_too_slow(local, choice, limits)
    if not slow and choice.most_sent_bytes is None:
        return None
    try:
        spark = RunOnSpark(*sql("spark"))
    except ProcessionError:
        return local
    if slow and (names := _too_slow(local, spark, choice, limits)):
        return replace(spark, why=f"{names} would run as programs for {choice.rows} rows")
    return None


def work_on_spark(kept: PlanForSpark) -> RunOnSpark | None:
    """What Spark runs of a query that the embedded engine gave up; None where it cannot."""
    try:
        with taken_up(kept) as (root, relation_of):
            # Scans that stand for several ones would have relations that nobody kept.
            return RunOnSpark(*_unparse(root, "spark", relation_of, shares=False))
    except ProcessionError:
        return None


def _may_be_too_slow(local: RunLocally, choice: EngineChoice, limits: EngineLimits) -> bool:
    """Whether Spark's text has to be seen to know it."""
    return limits.engine == "auto" and choice.rows * len(programs(local.sql, "duckdb")) > limits.program_rows


def _too_slow(local: RunLocally, spark: RunOnSpark, choice: EngineChoice, limits: EngineLimits) -> str:
    """Programs that would run for too many rows here; where Spark runs as many, it only has more cores for them."""
    here, there = len(programs(local.sql, "duckdb")), len(programs(spark.sql, "spark"))
    most = limits.program_rows * (_MANY_CORES if there >= here else 1)
    return program_names(local.sql, "duckdb") if choice.rows * here > most else ""


def _asked_once(relation_of: RelationOf) -> RelationOf:
    """Connectors look at files to answer: each scan is asked for once."""
    known: dict[int, Relation] = {}

    def ask(scan: TableScanNode) -> Relation:
        if id(scan) not in known:
            known[id(scan)] = relation_of(scan)
        return known[id(scan)]

    return ask


def _unparse(
    root: OutputNode,
    dialect: str,
    relation_of: RelationOf,
    *,
    copies: bool = False,
    rows_of: RowsOf = unknown_rows,
    shares: bool = True,
) -> tuple[str, tuple[Input, ...]]:
    scans = Scans(dialect, relation_of, scans_of_first_rows(root))
    try:
        sql = _text(Relations(dialect, scans, copies, rows_of, shares).root(root), dialect)
    except RecursionError as error:
        raise too_deep() from error
    return sql, tuple(scans.inputs)


def _unparse_if_read(
    root: OutputNode, dialect: str, relation_of: RelationOf, *, rows_of: RowsOf
) -> tuple[str, tuple[Input, ...]]:
    """The same, but no text where EXPLAIN would find no program in it. What an engine refuses is refused as well."""
    scans = Scans(dialect, relation_of)
    try:
        with called_programs() as called:
            tree = Relations(dialect, scans, rows_of=rows_of).root(root)
        sql = _text(tree, dialect) if called else ""
    except RecursionError as error:
        raise too_deep() from error
    return sql, tuple(scans.inputs)


def _text(tree: exp.Expr, dialect: str) -> str:
    return str(tree.sql(dialect=dialect, comments=False, copy=False))


def unparse_for_spark(
    source: PlanNode, columns: Sequence[Variable], relation_of: RelationOf
) -> tuple[str, tuple[Input, ...]]:
    """The SELECT of a plan in Spark's dialect with exactly ``columns``, and what it reads beside Spark's tables.

    It becomes part of a statement, in which Spark would compute parts of it as often as they are used.
    """
    names = tuple(column.name for column in columns)
    root = OutputNode(id="", source=source, columnNames=names, outputVariables=tuple(columns))
    return _unparse(root, "spark", relation_of, shares=False)

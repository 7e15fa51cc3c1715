"""What a query's plan asks of engines: rows at once, one query, or first rows by position and the rest after them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from coordinator.optimizer.rules.late_materialization.likely_rows import LikelyRows, likely_rows
from coordinator.planning.steps import Steps
from coordinator.unparser import work_of
from coordinator.unparser.constant_query import constant_rows
from coordinator.unparser.engine_choice import EngineLimits, embedded_note, engine_note, reads_lakes
from coordinator.unparser.engine_limits import engine_limits
from coordinator.unparser.fetch import fetch_of, fetch_work
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.wide_reads import wide_reads_note, with_limited_reader
from coordinator.values.program_names import program_names
from coordinator.vocabulary.planned_statement import ReturnRows, RunLocally, RunOnSpark, Work
from coordinator.vocabulary.session_properties import session_flag, session_value
from shared.errors import ProcessionError
from shared.plan.nodes import FetchNode, OutputNode


def query_work(steps: Steps, logical: OutputNode) -> Work:
    """The work of an optimized query."""
    session, limits = steps.session, engine_limits(steps.session)
    relation_of = with_limited_reader(steps.catalogs.relation, limits.spark_reader_bytes, limits.spark_page_bytes)
    fetch = fetch_of(logical)
    if fetch is None:
        return constant_rows(logical) or work_of(logical, relation_of, limits, rows_of=steps.rows_of)
    likely = _likely_rows(steps, fetch)
    found = None if likely is None else (likely.plan, likely.rows)
    max_rows = int(session_value(session, "global_late_materialization_max_rows"))
    of_plan = partial(work_of, relation_of=relation_of, limits=limits, rows_of=steps.rows_of)
    return fetch_work(logical, steps.before_late_materialization(), of_plan, max_rows, found)


def explain_work(steps: Steps, logical: OutputNode) -> ReturnRows:
    """No work; notes what EXPLAIN says beside the plan: where first rows are looked for, and the engine."""
    fetch = fetch_of(logical)
    likely = None if fetch is None else _likely_rows(steps, fetch)
    if likely is not None:
        steps.notes.append(f"the first rows are looked for where {likely.condition}, everywhere if too few are there")
    whole = logical if fetch is None else steps.before_late_materialization()
    limits = engine_limits(steps.session)
    relation_of = with_limited_reader(steps.catalogs.relation, limits.spark_reader_bytes, limits.spark_page_bytes)
    work = _work_if_any(whole, partial(work_of, relation_of=relation_of, limits=limits, rows_of=steps.rows_of))
    steps.engine_note = _engine_note(work, whole, relation_of, limits, fetches=fetch is not None)
    steps.programs_note = _programs_note(work)
    return ReturnRows(())


def _work_if_any(plan: OutputNode, of_plan: Callable[..., Work]) -> Work | None:
    """What would run first; None where no engine takes it, which is said when it is to run."""
    try:
        return constant_rows(plan) or of_plan(plan, explained=True)
    except ProcessionError:
        return None


def _engine_note(
    work: Work | None, plan: OutputNode, relation_of: RelationOf, limits: EngineLimits, *, fetches: bool
) -> str | None:
    """What has chosen an engine for the work knows why."""
    match work:
        case RunOnSpark(why=why) if reads_lakes(plan, relation_of):
            return f"Spark runs it: {why}{wide_reads_note(plan, relation_of)}"
        case RunLocally(why=why) if reads_lakes(plan, relation_of):
            return embedded_note(why, fetches=fetches)
        case _:
            return engine_note(plan, relation_of, limits, fetches=fetches)


def _programs_note(work: Work | None) -> str | None:
    match work:
        case RunLocally(sql):
            names = program_names(sql, "duckdb")
        case RunOnSpark(sql):
            names = program_names(sql, "spark")
        case _:
            names = ""
    return f"{names}: row by row, as programs" if names else None


def _likely_rows(steps: Steps, fetch: FetchNode) -> LikelyRows | None:
    if not session_flag(steps.session, "global_late_materialization_guess_first_rows"):
        return None
    return likely_rows(fetch.source, steps.catalogs.column_bounds)

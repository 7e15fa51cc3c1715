"""Runs the rules in their order and remembers which of them changed the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.optimizer.rule import ColumnBoundsOf, RowPositionOf, Rule, RuleContext, node_rule
from coordinator.optimizer.rules import (
    constant_values,
    determine_join_distribution,
    evaluate_zero_limit,
    infer_predicates_of_or,
    limit_row_numbers,
    outer_joins_to_inner,
    prune_unreferenced_outputs,
    push_into_connector,
    push_negations,
    push_predicate_into_system_table,
    push_predicate_into_table_layout,
    reduce_groups_by_keys,
    remove_redundant_projections,
    remove_trivial_filters,
    reorder_joins,
    select_files_of_procedure,
    show_remote_queries,
    simplify_empty_relations,
    simplify_row_expressions,
)
from coordinator.optimizer.rules.late_materialization import rewrite as late_materialization
from coordinator.vocabulary.identifiers import PlanNodeIds
from coordinator.vocabulary.session_properties import PropertiesByName, value_in
from shared.errors import ErrorCode, ProcessionError
from shared.plan.nodes import (
    AggregationNode,
    CallDistributedProcedureNode,
    FilterNode,
    JoinNode,
    LimitNode,
    PlanNode,
    ProjectNode,
    TableScanNode,
    TopNNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables, walk
from shared.spi.pushdown import PushdownOf
from shared.spi.session import Session

_PRUNE = Rule(
    "prune_unreferenced_outputs", prune_unreferenced_outputs.apply, description="drop columns that nothing reads"
)
RULES: tuple[Rule, ...] = (
    # First: the others ask for terms joined by AND.
    node_rule(
        "push_negations",
        push_negations.rewrite,
        *push_negations.KINDS,
        description="turn NOT of AND, OR and comparisons into terms without it",
    ),
    # Before whoever reads the values of conditions.
    node_rule(
        "simplify_row_expressions",
        simplify_row_expressions.rewrite,
        *simplify_row_expressions.KINDS,
        description="compute what reads no column",
    ),
    # Early: what is always true or never so must not reach the connector as a domain.
    node_rule(
        "remove_trivial_filters",
        remove_trivial_filters.rewrite,
        FilterNode,
        description="drop filters that are always true, and rows that are never wanted",
    ),
    node_rule(
        "evaluate_zero_limit", evaluate_zero_limit.rewrite, LimitNode, TopNNode, description="LIMIT 0 is no rows"
    ),
    # Before what finds empty relations: a row number below one is none.
    node_rule(
        "limit_row_numbers",
        limit_row_numbers.rewrite,
        *limit_row_numbers.KINDS,
        description="number rows without a window, and only those whose numbers are wanted",
    ),
    # Before connectors and the order of joins, which look at inner joins.
    node_rule(
        "outer_joins_to_inner",
        outer_joins_to_inner.rewrite,
        FilterNode,
        description="make outer joins inner ones where a filter drops what they add",
    ),
    # After what makes relations empty.
    node_rule(
        "simplify_empty_relations",
        simplify_empty_relations.rewrite,
        *simplify_empty_relations.KINDS,
        description="What is computed of no rows is no rows",
    ),
    node_rule(
        "constant_values",
        constant_values.rewrite,
        ValuesNode,
        description="rows of VALUES are constants, as far as they can be known",
    ),
    # Before redundant projections, since a projection may become one when columns below it are gone.
    _PRUNE,
    node_rule(
        "remove_redundant_projections",
        remove_redundant_projections.rewrite,
        ProjectNode,
        description="drop projections that only pass columns on",
    ),
    # After pruning, so that a connector's estimates are of the columns that are read.
    Rule(
        "push_into_connector",
        push_into_connector.apply,
        description="hand what stands over scans of one catalog to its connector",
    ),
    # Before the order of joins, which depends on how many rows are left of each table.
    Rule(
        "infer_predicates_of_or",
        infer_predicates_of_or.apply,
        frozenset([JoinNode]),
        description="ask each table of a join what all branches of an OR ask of it",
    ),
    # After connectors took their tables: what they joined is one table now.
    Rule("reorder_joins", reorder_joins.apply, description="order joins by the sizes of their tables"),
    # After what decides between which relations each join is.
    Rule(
        "reduce_groups_by_keys",
        reduce_groups_by_keys.apply,
        frozenset([AggregationNode]),
        description="leave rows of groups out that a join with few keys drops",
    ),
    # Again: columns that only a pushed condition read.
    _PRUNE,
    node_rule(
        "determine_join_distribution",
        determine_join_distribution.rewrite,
        JoinNode,
        description="copy the build sides of joins that are small, spread the others by key",
    ),
    # Nothing changes a connector's columns any more.
    node_rule(
        "show_remote_queries",
        show_remote_queries.rewrite,
        TableScanNode,
        description="show in EXPLAIN what connectors ask their databases",
    ),
    # Last: the filters directly over scans are final, and the layout must say what they say.
    node_rule(
        "push_predicate_into_table_layout",
        push_predicate_into_table_layout.rewrite,
        FilterNode,
        description="hand what a filter says of columns to the connector, to skip files",
    ),
    node_rule(
        "push_predicate_into_system_table",
        push_predicate_into_system_table.rewrite,
        FilterNode,
        description="list only those catalogs, schemas and tables that a filter asks for",
    ),
    node_rule(
        "select_files_of_procedure",
        select_files_of_procedure.rewrite,
        CallDistributedProcedureNode,
        description="let the filter of a distributed procedure choose the files that it rewrites",
    ),
    # After pruning, which tells what the result needs, and after the layouts, which look-ups take over.
    Rule(
        "late_materialization",
        late_materialization.apply,
        description="read columns that only the result needs after its rows are known",
    ),
)
"""In their order, each with why it stands where it does. A rule may come twice, under one switch."""
SWITCHES: PropertiesByName = {rule.switch.name: rule.switch for rule in RULES}
"""The session properties of the rules."""


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that changed the plan, and the plan after it."""

    name: str
    plan: PlanNode


def optimize(
    plan: PlanNode,
    session: Session,
    rules: tuple[Rule, ...] = RULES,
    pushdown_of: PushdownOf = lambda _catalog: None,
    table_rows: Mapping[str, int] | None = None,
    *,
    row_position: RowPositionOf | None = None,
    column_bounds: ColumnBoundsOf = lambda _scan: {},
    notes: list[str] | None = None,
    distinct_values: Mapping[str, float] | None = None,
) -> tuple[PlanNode, tuple[FiredRule, ...]]:
    """The optimized plan and the rules that fired, in order; ``notes`` gets what EXPLAIN tells beside them.

    Raises ProcessionError INVALID_PLAN_ERROR naming a rule that changed the output, GENERIC_INTERNAL_ERROR naming one
    that failed.
    """
    ids, remarks = PlanNodeIds.after(plan), [] if notes is None else notes
    context = RuleContext(
        session, ids, pushdown_of, table_rows or {}, row_position, column_bounds, remarks, distinct_values or {}
    )
    wanted = _output_types(plan)
    fired: list[FiredRule] = []
    types = {type(node) for node in walk(plan)}
    for rule in rules:
        if rule.kinds is not None and types.isdisjoint(rule.kinds):
            continue
        if value_in(session, rule.switch).lower() != "true":
            continue
        rewritten = _apply(rule, plan, context)
        if rewritten is plan or rewritten == plan:
            continue
        found = _output_types(rewritten)
        if found != wanted:
            message = f"Optimizer rule {rule.name} changed the output of the plan from {wanted} to {found}"
            raise ProcessionError(ErrorCode.INVALID_PLAN_ERROR, message)
        plan = rewritten
        types = {type(node) for node in walk(plan)}
        fired.append(FiredRule(rule.name, plan))
    return plan, tuple(fired)


def _apply(rule: Rule, plan: PlanNode, context: RuleContext) -> PlanNode:
    try:
        return rule.apply(plan, context)
    except (ProcessionError, RecursionError):
        # A plan that is too deep is the statement's fault, told as such by the planning line.
        raise
    except Exception as error:
        message = f"Optimizer rule {rule.name} failed: {type(error).__name__}: {error}"
        raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, message) from error


def _output_types(plan: PlanNode) -> str:
    return f"[{', '.join(variable.type for variable in output_variables(plan))}]"

"""Join, SemiJoin, MergeJoin, SpatialJoin, IndexJoin."""

from __future__ import annotations

from shared.plan.expressions import Variable
from shared.plan.nodes import (
    EquiJoinClause,
    FilterNode,
    IndexJoinNode,
    JoinNode,
    MergeJoinNode,
    SemiJoinNode,
    SpatialJoinNode,
)
from sidecar.velox.constants import boolean_constant
from sidecar.velox.expressions import column, expression, field, not_of
from sidecar.velox.refusal import unsupported, user_error
from sidecar.velox.relation import Conversion, Relation, columns_of, node, row_of
from sidecar.velox.types import BOOLEAN, Json


def _keys(
    criteria: tuple[EquiJoinClause, ...], left: Relation, right: Relation, context: Conversion
) -> tuple[list[Json], list[Json]]:
    left_scope, right_scope = context.scope(left), context.scope(right)
    return [field(c.left, left_scope) for c in criteria], [field(c.right, right_scope) for c in criteria]


def _output(variables: tuple[Variable, ...], left: Relation, right: Relation, context: Conversion) -> dict[str, Json]:
    scope = context.scope(left, right)
    for variable in variables:
        field(variable, scope)
    return columns_of(variables)


def join(plan: JoinNode, left: Relation, right: Relation, context: Conversion) -> Relation:
    columns = _output(plan.outputVariables, left, right, context)
    condition = None if plan.filter is None else expression(plan.filter, context.scope(left, right))
    if not plan.criteria:
        made = node("NestedLoopJoinNode", plan.id, [left, right], joinType=plan.type, outputType=row_of(columns))
        if condition is not None:
            made["joinCondition"] = condition
        return Relation(made, columns)
    left_keys, right_keys = _keys(plan.criteria, left, right, context)
    made = node(
        "HashJoinNode",
        plan.id,
        [left, right],
        joinType=plan.type,
        leftKeys=left_keys,
        rightKeys=right_keys,
        outputType=row_of(columns),
        nullAware=False,
    )
    if condition is not None:
        made["filter"] = condition
    return Relation(made, columns)


def merge_join(plan: MergeJoinNode, left: Relation, right: Relation, context: Conversion) -> Relation:
    columns = _output(plan.outputVariables, left, right, context)
    left_keys, right_keys = _keys(plan.criteria, left, right, context)
    made = node(
        "MergeJoinNode",
        plan.id,
        [left, right],
        joinType=plan.type,
        leftKeys=left_keys,
        rightKeys=right_keys,
        outputType=row_of(columns),
    )
    if plan.filter is not None:
        made["filter"] = expression(plan.filter, context.scope(left, right))
    return Relation(made, columns)


def spatial_join(plan: SpatialJoinNode, left: Relation, right: Relation, context: Conversion) -> Relation:
    columns = _output(plan.outputVariables, left, right, context)
    made = node(
        "NestedLoopJoinNode",
        plan.id,
        [left, right],
        joinType=plan.type,
        joinCondition=expression(plan.filter, context.scope(left, right)),
        outputType=row_of(columns),
    )
    return Relation(made, columns)


def index_join_type(plan: IndexJoinNode) -> str:
    """Velox's name of the join type; raises RefusalError for one that index look-ups do not have."""
    kinds = {"INNER": "INNER", "SOURCE_OUTER": "LEFT"}
    if plan.type not in kinds:
        raise unsupported("Unsupported index lookup join type.")
    return kinds[plan.type]


def index_join(plan: IndexJoinNode, probe: Relation, index: Relation, context: Conversion) -> Relation:
    columns = {**probe.columns, **index.columns}
    left_keys, right_keys = _keys(plan.criteria, probe, index, context)
    made = node(
        "IndexLookupJoinNode",
        plan.id,
        [probe, index],
        joinType=index_join_type(plan),
        leftKeys=left_keys,
        rightKeys=right_keys,
        joinConditions=[],
        outputType=row_of(columns),
    )
    return Relation(made, columns)


def semi_join(plan: SemiJoinNode, source: Relation, filtering: Relation, context: Conversion) -> Relation:
    columns = {**source.columns, plan.semiJoinOutput.name: BOOLEAN}
    made = _semi_join_node(plan, source, filtering, context, "LEFT SEMI (PROJECT)", columns, null_aware=True)
    return Relation(made, columns)


def _semi_join_node(
    plan: SemiJoinNode,
    source: Relation,
    filtering: Relation,
    context: Conversion,
    kind: str,
    columns: dict[str, Json],
    *,
    null_aware: bool,
) -> Json:
    if plan.semiJoinOutput.name in source.columns:
        raise user_error(f"Duplicate column name found in join's output type: {plan.semiJoinOutput.name}")
    return node(
        "HashJoinNode",
        plan.id,
        [source, filtering],
        joinType=kind,
        leftKeys=[field(plan.sourceJoinVariable, context.scope(source))],
        rightKeys=[field(plan.filteringSourceJoinVariable, context.scope(filtering))],
        outputType=row_of(columns),
        nullAware=null_aware,
    )


def semi_join_filter(plan: FilterNode) -> bool | None:
    """True for a filter on a semi join's own flag, False for one on its negation, None for any other filter."""
    if not isinstance(plan.source, SemiJoinNode):
        return None
    flag = plan.source.semiJoinOutput.name
    match plan.predicate, not_of(plan.predicate):
        case Variable(name=name), _ if name == flag:
            return True
        case _, Variable(name=name) if name == flag:
            return False
    return None


def filtered_semi_join(
    plan: FilterNode, semi: SemiJoinNode, source: Relation, filtering: Relation, context: Conversion, *, keep: bool
) -> Relation:
    """Filter(flag) over a semi join is a LEFT SEMI (FILTER) join, Filter(not flag) a null-aware ANTI join."""
    kind = "LEFT SEMI (FILTER)" if keep else "ANTI"
    made = _semi_join_node(semi, source, filtering, context, kind, dict(source.columns), null_aware=not keep)
    columns = {**source.columns, semi.semiJoinOutput.name: BOOLEAN}
    projections = [column(n, t) for n, t in source.columns.items()]
    top = node(
        "ProjectNode",
        plan.id,
        [Relation(made, source.columns)],
        names=list(columns),
        projections=[*projections, boolean_constant(keep)],
    )
    return Relation(top, columns)

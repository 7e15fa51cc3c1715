"""``VALUES row, …``: constants as rows; expressions as a projection above constant rows, as Velox asks for."""

from __future__ import annotations

from coordinator.analyzer import expressions
from coordinator.analyzer.context import Context
from coordinator.analyzer.scope import ScopeField
from coordinator.expressions.builders import coerce, constant, operator, special, typed
from coordinator.expressions.folding import folded
from coordinator.expressions.types import BIGINT, BOOLEAN, common_super_type, type_text
from coordinator.planner.query.builder import Ids, RelationPlan
from coordinator.planner.query.joins import project
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.expressions import Row as RowNode
from coordinator.sql.tree.queries import Values
from shared.plan.expressions import Constant, RowExpression, SourceLocation, SpecialForm, Variable
from shared.plan.nodes import PlanNode, ValuesNode
from shared.plan.types import Type

Row = tuple[RowExpression, ...]


def plan_values(ids: Ids, tree: Values, context: Context) -> RelationPlan:
    """Its fields have no names; a row-typed expression stands for a row of columns."""
    rows = [_row(item, context) for item in tree.rows]
    types = _common(rows, tree, context)
    place = context.place(tree)
    variables = tuple(ids.variable("field", type_text(type_), place) for type_ in types)
    cells = [
        tuple(folded(coerce(c, k, context.zone), context.zone) for c, k in zip(row, types, strict=True)) for row in rows
    ]
    return RelationPlan(_node(ids, variables, cells, place), tuple(ScopeField(None, v) for v in variables))


def _row(item: Expression, context: Context) -> list[RowExpression]:
    if isinstance(item, RowNode):
        return [expressions.analyze_expression(cell, context) for cell in item.items]
    single = expressions.analyze_expression(item, context)
    if isinstance(single, SpecialForm) and single.form == "ROW_CONSTRUCTOR":
        return list(single.arguments)
    return [single]


def _common(rows: list[list[RowExpression]], tree: Values, context: Context) -> list[Type]:
    types = [typed(cell) for cell in rows[0]]
    for row in rows:
        own = [typed(cell) for cell in row]
        widened = [common_super_type(a, b) for a, b in zip(types, own, strict=False)]
        if len(own) != len(types) or None in widened:
            first = ", ".join(type_text(typed(c)) for c in rows[0])
            shown = f"[{first}] vs [{', '.join(map(type_text, own))}]"
            raise context.error(tree, f"Values rows have mismatched types: {shown}")
        types = [type_ for type_ in widened if type_ is not None]
    return types


def _node(ids: Ids, variables: tuple[Variable, ...], rows: list[Row], place: SourceLocation | None) -> PlanNode:
    computed = [i for i in range(len(variables)) if not all(isinstance(row[i], Constant) for row in rows)]
    if not computed:
        return ValuesNode(sourceLocation=place, id=ids.node(), outputVariables=variables, rows=tuple(rows))
    kept = [i for i in range(len(variables)) if i not in computed]
    number = ids.variable("row", "bigint")
    own = (*(variables[i] for i in kept), number)
    cells = tuple((*(row[i] for i in kept), constant(n, BIGINT)) for n, row in enumerate(rows))
    if len(rows) == 1:
        own, cells = own[:-1], (cells[0][:-1],)
    source = ValuesNode(sourceLocation=place, id=ids.node(), outputVariables=own, rows=cells)
    assigned: dict[str, RowExpression] = {}
    for i, variable in enumerate(variables):
        assigned[variable.key] = _chosen(number, [row[i] for row in rows]) if i in computed else variable
    return project(ids, source, assigned)


def _chosen(number: Variable, cells: list[RowExpression]) -> RowExpression:
    """The cell of each row, by the row's number."""
    if len(cells) == 1:
        return cells[0]
    type_ = typed(cells[0])
    whens = [
        special("WHEN", type_, operator("=", (number, constant(n, BIGINT)), BOOLEAN), cell)
        for n, cell in enumerate(cells)
    ]
    return special("SWITCH", type_, constant(True, BOOLEAN), *whens, constant(None, type_))

"""Plans a query: set operations, WITH, VALUES and query blocks, to nodes in Presto's vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from coordinator.analyzer import calls, expressions
from coordinator.analyzer.builders import value_of
from coordinator.analyzer.constants import evaluate_constant
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.locations import Places
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.planner.query.blocks import plan_block
from coordinator.planner.query.builder import Builder, Ids, RelationPlan, single_row
from coordinator.planner.query.planning import ordinal
from coordinator.planner.query.relations import plan_relation
from coordinator.planner.query.set_operations import distinct_rows, plan_set_operation
from coordinator.planner.query.values import plan_values
from coordinator.planner.query.view_expansion import (
    ViewName,
    analysis_failure,
    name_of,
    parse_view,
    promised_columns,
    refuse_recursion,
)
from coordinator.planner.source_locations import located_at
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Constant, RowExpression
from shared.plan.nodes import AggregationNode, LimitNode, OffsetNode, PlanNode, SortNode, TopNNode
from shared.plan.traversal import output_variables
from shared.spi.connector import TableMetadata, ViewMetadata
from shared.spi.session import Session

MAX_INLINED = 5000
"""Every reference to a name of WITH is planned anew: names that refer twice to the name before them double the plan."""
_OF_PLANNING = (ErrorCode.NOT_SUPPORTED, ErrorCode.UNSUPPORTED_SUBQUERY)
"""Not found by analysis, so that nobody is told of them in a WITH query that nothing reads."""


@dataclass(frozen=True, slots=True)
class Cte:
    """A named query of WITH and the names that it may use itself."""

    name: str
    tree: Any
    columns: tuple[str, ...]
    visible: dict[str, Any]


@dataclass(slots=True)
class QueryPlanner:
    """The state of planning one statement: ids, the tables read, the WITH names in sight."""

    text: str
    session: Session
    catalogs: Catalogs
    parameters: tuple[Any, ...] = ()
    places: Places | None = None
    ids: Ids = field(default_factory=Ids)
    ctes: dict[str, Cte] = field(default_factory=dict)
    scans: dict[str, TableMetadata] = field(default_factory=dict)
    distinct_values: dict[str, float] = field(default_factory=dict)
    inlined: int = 0
    planned: set[int] = field(default_factory=set)
    """The WITH queries that were planned, by identity."""
    checking: bool = False
    """Whether only errors are looked for."""
    open_views: tuple[ViewName, ...] = ()
    """The views around what is planned now, outermost first."""
    replaced_view: ViewName | None = None
    """The view that the statement makes anew."""

    @property
    def context(self) -> Context:
        """The context of a query that stands in no other."""
        return Context(self.text, self.session, Scope(), None, "expression", {}, self.parameters, self.places)

    def plan_subquery(self, tree: Any, context: Context) -> RelationPlan:
        """A subquery of an expression; the expression's scope is around it."""
        if type(tree).__name__ == "Subquery" and not tree.args.get("alias"):
            tree = tree.this
        return self.plan_query(tree, replace(context, scope=Scope((), context.scope), sinks=None))

    def plan_nested(self, tree: Any, context: Context) -> RelationPlan:
        """A subquery of FROM: it sees the scope around the query, not the relations beside it."""
        return self.plan_query(tree, replace(context, scope=Scope((), context.scope.parent), sinks=None))

    def plan_cte(self, name: str, context: Context) -> RelationPlan:
        """A reference to a name of WITH: planned anew, with variables of its own."""
        cte = self.ctes[name]
        self._count_inlined(cte.tree, context)
        outside, self.ctes = self.ctes, cte.visible
        try:
            plan = self.plan_query(cte.tree, replace(context, scope=Scope(), sinks=None))
        finally:
            self.ctes = outside
        if cte.columns and len(cte.columns) != len(plan.visible):
            message = f"Column alias list has {len(cte.columns)} entries but '{name}' has {len(plan.visible)} columns"
            raise context.error(cte.tree, message + " available")
        names: tuple[str | None, ...] = cte.columns or tuple(f.name for f in plan.visible)
        self.planned.add(id(cte))
        fields = tuple(ScopeField(n, f.variable) for n, f in zip(names, plan.visible, strict=True))
        return RelationPlan(plan.node, fields)

    def plan_view(self, view: ViewMetadata, node: Any, context: Context) -> RelationPlan:
        """The rows of a view named by ``node``: under its own default names, without the WITH names around it."""
        if name_of(view) == self.replaced_view:
            raise context.error(node, "Statement would create a recursive view")
        refuse_recursion(view, self.open_views, node, context)
        self._count_inlined(node, context)
        tree = parse_view(view, node, context)
        outside = self.session, self.ctes, self.open_views
        self.session = replace(self.session, catalog=view.default_catalog, schema=view.default_schema)
        self.ctes, self.open_views = {}, (*self.open_views, name_of(view))
        try:
            plan = self.plan_query(tree, Context(view.definition, self.session))
        except ProcessionError as error:
            raise analysis_failure(view, error, node, context) from error
        finally:
            self.session, self.ctes, self.open_views = outside
        # What a view does stands where the view is named.
        plan = RelationPlan(located_at(plan.node, context.place(node)), plan.fields)
        return promised_columns(self, view, plan, node, context)

    def _count_inlined(self, tree: Any, context: Context) -> None:
        self.inlined += 1
        if self.inlined > MAX_INLINED:
            message = f"Number of references to WITH queries and views in the plan exceeds {MAX_INLINED}"
            raise context.error(tree, message, ErrorCode.EXCEEDED_PLAN_NODE_LIMIT)

    def no_rows_source(self) -> RelationPlan:
        """One row without columns."""
        return RelationPlan(single_row(self.ids), ())

    def plan_query(self, tree: Any, context: Context) -> RelationPlan:
        """A query; its fields are its output columns."""
        outside = self.ctes
        named: list[Cte] = []
        try:
            self._with(tree, context, named)
            plan = self._plan_query(tree, context)
        except ProcessionError:
            # Presto analyzes what WITH names before the query, so that its errors come first.
            if not self.checking:
                self._check_named(named, context)
            raise
        finally:
            self.ctes = outside
        self._check_named([cte for cte in named if id(cte) not in self.planned], context, unused=True)
        return plan

    def _plan_query(self, tree: Any, context: Context) -> RelationPlan:
        match type(tree).__name__:
            case "Select":
                return plan_block(self, tree, context)
            case "Union" | "Except" | "Intersect":
                return self._ordered(plan_set_operation(self, tree, context), tree, context)
            case "Values":
                context.only(tree, "expressions", "order", "limit", "offset", "with_")
                return self._ordered(self.plan_values(tree, context), tree, context)
            case "Subquery" | "Paren":
                context.only(tree, "this", "order", "limit", "offset", "with_")
                return self._ordered(self.plan_query(tree.this, context), tree, context)
            case "Table":
                context.only(tree, "this", "db", "catalog")
                return plan_relation(self, tree, context, None)
            case name:
                raise context.unsupported(tree, f"{name.upper()} query")

    def _with(self, tree: Any, context: Context, named: list[Cte]) -> None:
        clause = tree.args.get("with_")
        if clause is None:
            return
        context.only(clause, "expressions", "recursive")
        if clause.args.get("recursive"):
            raise context.error(clause, "Recursive WITH queries are not supported")
        visible = dict(self.ctes)
        own: set[str] = set()
        for cte in clause.expressions:
            context.only(cte, "this", "alias")
            name = str(cte.alias).lower()
            if name in own:
                raise context.error(cte.args["alias"].this, f"WITH query name '{name}' specified more than once")
            own.add(name)
            columns = tuple(str(c.name) for c in cte.args["alias"].args.get("columns") or ())
            named.append(Cte(name, cte.this, columns, visible))
            visible = {**visible, name: named[-1]}
        self.ctes = visible

    def _check_named(self, named: list[Cte], context: Context, *, unused: bool = False) -> None:
        """Plans queries that WITH names for their errors alone."""
        context = replace(context, places=None)
        for cte in named:
            known = {**cte.visible, cte.name: cte}
            checker = replace(self, ids=Ids(), scans={}, distinct_values={}, ctes=known, checking=True)
            try:
                checker.plan_cte(cte.name, context)
            except ProcessionError as error:
                if not (unused and error.code in _OF_PLANNING):
                    raise

    def plan_values(self, tree: Any, context: Context) -> RelationPlan:
        """``VALUES row, …``."""
        return plan_values(self.ids, tree, context)

    def distinct(self, node: PlanNode, tree: Any, context: Context) -> AggregationNode:
        """The distinct rows of a plan."""
        return distinct_rows(self, node, tree, context)

    def _ordered(self, plan: RelationPlan, tree: Any, context: Context) -> RelationPlan:
        """ORDER BY, OFFSET and LIMIT over output columns alone."""
        order = tree.args.get("order")
        builder = Builder(self.ids, plan.node)
        if order is not None:
            context.only(order, "expressions")
            scope = Scope(plan.fields, context.scope.parent)
            inner = replace(context, scope=scope, sinks=None, clause="ORDER BY clause")
            items = [self.sort_item(o, plan.visible, inner) for o in order.expressions]
            self.sort_and_limit(builder, items, tree, context)
        else:
            self.sort_and_limit(builder, [], tree, context)
        visible: dict[str, RowExpression] = {f.variable.key: f.variable for f in plan.visible}
        if set(output_variables(builder.node)) != {f.variable for f in plan.visible}:
            builder.project(visible)
        return RelationPlan(builder.node, plan.fields)

    def sort_item(self, node: Any, visible: tuple[ScopeField, ...], context: Context) -> SortItem:
        """An ORDER BY item over output columns: an ordinal or an expression."""
        position = ordinal(node.this)
        if position is not None:
            if not 1 <= position <= len(visible):
                raise context.error(node.this, f"ORDER BY position {position} is not in select list")
            return calls.sort_item(node, visible[position - 1].variable, context)
        return calls.sort_item(node, expressions.analyze_expression(node.this, context), context)

    def sort_and_limit(self, builder: Builder, items: list[SortItem], tree: Any, context: Context) -> None:
        """Sort, Offset and Limit on top; an order with a limit becomes TopN, as Presto's optimizer makes it."""
        limit, offset = self._count(tree, "limit", context), self._count(tree, "offset", context)
        scheme = builder.ordering(items) if items else None
        if scheme is not None and limit is not None and not offset:
            builder.node = TopNNode(
                sourceLocation=context.place(tree.args["order"]),
                id=self.ids.node(),
                source=builder.node,
                count=limit,
                orderingScheme=scheme,
                step="SINGLE",
            )
            return
        if scheme is not None:
            builder.node = SortNode(
                sourceLocation=context.place(tree.args["order"]),
                id=self.ids.node(),
                source=builder.node,
                orderingScheme=scheme,
                isPartial=False,
                partitionBy=(),
            )
        if offset:
            builder.node = OffsetNode(id=self.ids.node(), source=builder.node, count=offset)
        if limit is not None:
            builder.node = LimitNode(id=self.ids.node(), source=builder.node, count=limit, step="FINAL")

    def _count(self, tree: Any, name: str, context: Context) -> int | None:
        node = tree.args.get(name)
        if node is None:
            return None
        if type(node).__name__ == "Fetch":
            context.only(node, "direction", "count", "limit_options")
            options = node.args.get("limit_options")
            if options is not None and (options.args.get("with_ties") or options.args.get("percent")):
                raise context.unsupported(node, "FETCH FIRST … WITH TIES")
            value = node.args.get("count")
        else:
            context.only(node, "expression", "this")
            value = node.expression
        if value is None or type(value).__name__ == "Var":
            return 1 if type(node).__name__ == "Fetch" else None
        if type(value).__name__ == "Column" and str(value.name).lower() == "all":
            return None
        value.meta["rewritten"] = True
        if type(value).__name__ == "Placeholder":
            result = evaluate_parameter(value, context)
        else:
            result = evaluate_constant(value, "bigint", self.session)
        if not isinstance(result, int) or result < 0:
            shown = f"{name.upper()} must be greater than or equal to 0, found: {result}"
            raise context.error(value, shown, ErrorCode.SYNTAX_ERROR)
        if result >= 1 << 63:
            raise ProcessionError(ErrorCode.INVALID_LIMIT_CLAUSE, f"Invalid {name}: {result}")
        return result


def evaluate_parameter(node: Any, context: Context) -> Any:
    """The value of a ``?``."""
    found = expressions.analyze_expression(node, context)
    return value_of(found) if isinstance(found, Constant) else None

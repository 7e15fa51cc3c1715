"""Plans a query: set operations, WITH, VALUES and query blocks, to nodes in Presto's vocabulary."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never

from msgspec import structs

from coordinator.analyzer import calls, expressions
from coordinator.analyzer.constants import evaluate_constant
from coordinator.analyzer.context import Context, SortItem
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import value_of
from coordinator.expressions.clock import clock_reads
from coordinator.planner.guard import Guard, Reader, current_guard
from coordinator.planner.query.blocks import plan_block
from coordinator.planner.query.builder import Builder, Ids, RelationPlan, single_row
from coordinator.planner.query.guarded_relations import guarded, view_reader
from coordinator.planner.query.materialized import (
    Definition,
    asks_for_user,
    is_lasting,
    meaning_of,
    stored_rows,
)
from coordinator.planner.query.planning import Findings, ordinal
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
    session_of_view,
)
from coordinator.sql.tree.expressions import Expression, Parameter
from coordinator.sql.tree.expressions import SortItem as SortItemNode
from coordinator.sql.tree.names import written_names
from coordinator.sql.tree.node import Node
from coordinator.sql.tree.queries import (
    Query,
    QueryBody,
    QuerySpecification,
    Relation,
    SetOperation,
    Table,
    TableQuery,
    TableSubquery,
    Values,
)
from coordinator.vocabulary.source_locations import located_at
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Constant, RowExpression
from shared.plan.nodes import AggregationNode, LimitNode, OffsetNode, PlanNode, SortNode, TopNNode
from shared.plan.traversal import output_variables
from shared.spi.accesses import TableName
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
    tree: Query
    columns: tuple[str, ...]
    visible: dict[str, Cte]


@dataclass(slots=True)
class QueryPlanner:
    """The state of planning one statement: ids, the tables read, the WITH names in sight."""

    session: Session
    catalogs: Catalogs
    roots: tuple[Node, ...] = ()
    """What is planned, whole: which of a table's hidden columns it names."""
    parameters: tuple[RowExpression, ...] = ()
    columns: set[str] | None = None
    """Variables that are columns of tables; None where no places are kept."""
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
    references: set[str] = field(default_factory=set)
    """The variables that names meant in the query, or in the view that is planned."""
    reader: Reader = field(init=False)
    """As whom tables are read."""
    open_guards: tuple[TableName, ...] = ()
    """The tables whose row filters and masks are planned now."""
    names: frozenset[str] | None = None
    """All names in ``roots``, once one is asked for."""
    findings: Findings = field(default_factory=Findings)
    expanding: bool = False
    """Whether materialized views stand for their queries alone."""

    guard: Guard = field(init=False)

    def __post_init__(self) -> None:
        self.guard = current_guard(self.session)
        self.reader = self.guard.reader

    @property
    def context(self) -> Context:
        """The context of a query that stands in no other."""
        return Context(self.session, parameters=self.parameters, columns=self.columns, references=self.references)

    @property
    def named(self) -> Container[str]:
        """The names of WITH queries in sight."""
        return self.ctes

    def is_named(self, column: str) -> bool:
        """Whether the statement, or the view that is planned, has a name like this one in it."""
        if self.names is None:
            self.names = written_names(self.roots)
        return column in self.names

    def plan_relation(self, tree: Relation, context: Context) -> RelationPlan:
        """An item of FROM."""
        return plan_relation(self, tree, context)

    def plan_subquery(self, tree: Query, context: Context) -> RelationPlan:
        """A subquery of an expression; the expression's scope is around it."""
        return self.plan_query(tree, structs.replace(context, scope=Scope((), context.scope), collector=None))

    def plan_nested(self, tree: Query, context: Context) -> RelationPlan:
        """A subquery of FROM: it sees the scope around the query, not the relations beside it."""
        return self.plan_query(tree, structs.replace(context, scope=Scope((), context.scope.parent), collector=None))

    def plan_cte(self, name: str, context: Context) -> RelationPlan:
        """A reference to a name of WITH: planned anew, with variables of its own."""
        cte = self.ctes[name]
        self._count_inlined(cte.tree, context)
        outside, self.ctes = self.ctes, cte.visible
        try:
            plan = self.plan_query(cte.tree, structs.replace(context, scope=Scope(), collector=None))
        finally:
            self.ctes = outside
        if cte.columns and len(cte.columns) != len(plan.visible):
            message = f"Column alias list has {len(cte.columns)} entries but '{name}' has {len(plan.visible)} columns"
            raise context.error(cte.tree, message + " available")
        names: tuple[str | None, ...] = cte.columns or tuple(f.name for f in plan.visible)
        self.planned.add(id(cte))
        fields = tuple(ScopeField(n, f.variable) for n, f in zip(names, plan.visible, strict=True))
        return RelationPlan(plan.node, fields)

    def plan_view(self, view: ViewMetadata, node: Table, context: Context) -> RelationPlan:
        """The rows of a view named by ``node``: under its own default names, without the WITH names around it."""
        if name_of(view) == self.replaced_view:
            raise context.error(node, "Statement would create a recursive view")
        refuse_recursion(view, self.open_views, node, context)
        self._count_inlined(node, context)
        tree = parse_view(view, node, context)
        if view.materialized is not None and not self.expanding:
            plan = stored_rows(self, view, self.definition_of(view, tree, node, context), node, context)
            if plan is not None:
                return guarded(self, TableName(*name_of(view)), plan, node, context)
        outside = self.session, self.ctes, self.open_views, self.roots, self.names
        reading = self.reader, self.references
        self.reader, self.references = view_reader(self.guard, view, self.reader), set()
        self.session = session_of_view(self.session, view)
        self.ctes, self.open_views = {}, (*self.open_views, name_of(view))
        self.roots, self.names = (tree,), None
        try:
            plan = self.plan_query(tree, Context(self.session, references=self.references))
        except ProcessionError as error:
            raise analysis_failure(view, error, node, context) from error
        finally:
            self.session, self.ctes, self.open_views, self.roots, self.names = outside
            self.reader, self.references = reading
        # What a view does stands where the view is named.
        plan = RelationPlan(located_at(plan.node, context.place(node)), plan.fields)
        plan = promised_columns(self, view, plan, node, context)
        return guarded(self, TableName(*name_of(view)), plan, node, context)

    def definition_of(
        self, view: ViewMetadata, tree: Query, node: Table, context: Context, reader: Reader | None = None
    ) -> Definition:
        """A view's query planned by itself, so that its plan is the same wherever the view stands."""
        apart = replace(
            self,
            session=session_of_view(self.session, view),
            roots=(tree,),
            parameters=(),
            columns=None,
            ids=Ids(),
            ctes={},
            scans={},
            distinct_values={},
            open_views=(*self.open_views, name_of(view)),
            references=set(),
            names=None,
            findings=Findings(),
            expanding=True,
        )
        apart.guard, apart.reader = self.guard, reader or view_reader(self.guard, view, self.reader)
        try:
            found = apart.definition_of_query(tree)
        except ProcessionError as error:
            raise analysis_failure(view, error, node, context) from error
        plan = promised_columns(apart, view, found.plan, node, context)
        return replace(found, plan=plan, meaning=meaning_of(plan.node, self.session.time_zone))

    def definition_of_query(self, tree: Query) -> Definition:
        """A query as that of a view, by a planner of its own."""
        with clock_reads() as clock:
            plan = self.plan_query(tree, self.context)
        lasting = not (clock or self.findings.versions) and is_lasting(plan.node)
        return Definition(plan, self.scans, "", lasting, asks_for_user(tree), self.ids, self.distinct_values)

    @contextmanager
    def plan_apart(
        self, guards: tuple[TableName, ...], session: Session, reader: Reader, roots: tuple[Node, ...]
    ) -> Iterator[Context]:
        """Meanwhile, what is planned is no part of the query; the context sees nothing of it."""
        outside = self.session, self.ctes, self.roots, self.names, self.reader, self.references, self.open_guards
        self.session, self.ctes, self.roots, self.names = session, {}, roots, None
        self.reader, self.references, self.open_guards = reader, set(), guards
        try:
            yield Context(session, references=self.references)
        finally:
            self.session, self.ctes, self.roots, self.names, self.reader, self.references, self.open_guards = outside

    def _count_inlined(self, tree: Node, context: Context) -> None:
        self.inlined += 1
        if self.inlined > MAX_INLINED:
            message = f"Number of references to WITH queries and views in the plan exceeds {MAX_INLINED}"
            raise context.error(tree, message, ErrorCode.EXCEEDED_PLAN_NODE_LIMIT)

    def no_rows_source(self) -> RelationPlan:
        """One row without columns."""
        return RelationPlan(single_row(self.ids), ())

    def plan_query(self, tree: Query, context: Context) -> RelationPlan:
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

    def _plan_query(self, tree: Query, context: Context) -> RelationPlan:
        plan = self.plan_body(tree.body, context)
        return plan if isinstance(tree.body, QuerySpecification) else self._ordered(plan, tree, context)

    def plan_body(self, tree: QueryBody, context: Context) -> RelationPlan:
        """What stands between WITH and ORDER BY; a SELECT with its own ORDER BY, OFFSET and LIMIT."""
        match tree:
            case QuerySpecification():
                return plan_block(self, tree, context)
            case SetOperation():
                return plan_set_operation(self, tree, context)
            case Values():
                return plan_values(self.ids, tree, context)
            case TableSubquery():
                return self.plan_query(tree.query, context)
            case TableQuery():
                plan = plan_relation(self, tree.table, context)
                context.references.update(f.variable.name for f in plan.visible)
                return plan
            case _:
                assert_never(tree)

    def _with(self, tree: Query, context: Context, named: list[Cte]) -> None:
        clause = tree.with_
        if clause is None:
            return
        if clause.recursive:
            raise context.error(clause, "Recursive WITH queries are not supported")
        visible = dict(self.ctes)
        own: set[str] = set()
        for query in clause.queries:
            name = query.name.value.lower()
            if name in own:
                raise context.error(query.name, f"WITH query name '{name}' specified more than once")
            own.add(name)
            columns = tuple(column.value for column in query.columns or ())
            named.append(Cte(name, query.query, columns, visible))
            visible = {**visible, name: named[-1]}
        self.ctes = visible

    def _check_named(self, named: list[Cte], context: Context, *, unused: bool = False) -> None:
        """Plans queries that WITH names for their errors alone."""
        for cte in named:
            known = {**cte.visible, cte.name: cte}
            checker = replace(
                self, ids=Ids(), scans={}, distinct_values={}, ctes=known, checking=True, references=set()
            )
            checker.reader = self.reader
            try:
                checker.plan_cte(cte.name, structs.replace(context, columns=None, references=checker.references))
            except ProcessionError as error:
                if not (unused and error.code in _OF_PLANNING):
                    raise

    def distinct(self, node: PlanNode, tree: Node, context: Context) -> AggregationNode:
        """The distinct rows of a plan."""
        return distinct_rows(self, node, tree, context)

    def _ordered(self, plan: RelationPlan, tree: Query, context: Context) -> RelationPlan:
        """ORDER BY, OFFSET and LIMIT over output columns alone."""
        builder = Builder(self.ids, plan.node)
        items: list[SortItem] = []
        if tree.order_by is not None:
            scope = Scope(plan.fields, context.scope.parent)
            inner = structs.replace(context, scope=scope, collector=None, clause="ORDER BY clause")
            items = [self._sort_item(item, plan.visible, inner) for item in tree.order_by.sort_items]
        self.sort_and_limit(builder, items, tree, context)
        visible: dict[str, RowExpression] = {f.variable.key: f.variable for f in plan.visible}
        if set(output_variables(builder.node)) != {f.variable for f in plan.visible}:
            builder.project(visible)
        return RelationPlan(builder.node, plan.fields)

    def _sort_item(self, node: SortItemNode, visible: tuple[ScopeField, ...], context: Context) -> SortItem:
        """An ORDER BY item over output columns: an ordinal or an expression."""
        position = ordinal(node.sort_key)
        if position is not None:
            if not 1 <= position <= len(visible):
                raise context.error(node.sort_key, f"ORDER BY position {position} is not in select list")
            return calls.sort_item(node, visible[position - 1].variable, context)
        return calls.sort_item(node, expressions.analyze_expression(node.sort_key, context), context)

    def sort_and_limit(
        self, builder: Builder, items: list[SortItem], tree: Query | QuerySpecification, context: Context
    ) -> None:
        """Sort, Offset and Limit on top; an order with a limit becomes TopN, as Presto's optimizer makes it."""
        limit, offset = self._limit(tree, context), self._offset(tree, context)
        if items:
            scheme = builder.ordering(items)
            place = None if tree.order_by is None else context.place(tree.order_by)
            if limit is not None and not offset:
                builder.node = TopNNode(
                    sourceLocation=place,
                    id=self.ids.node(),
                    source=builder.node,
                    count=limit,
                    orderingScheme=scheme,
                    step="SINGLE",
                )
                return
            builder.node = SortNode(
                sourceLocation=place,
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

    def _limit(self, tree: Query | QuerySpecification, context: Context) -> int | None:
        if tree.limit is None:
            return None
        if tree.limit.with_ties:
            raise context.unsupported(tree.limit, "FETCH FIRST … WITH TIES")
        return None if tree.limit.count is None else self._count(tree.limit.count, "limit", context)

    def _offset(self, tree: Query | QuerySpecification, context: Context) -> int | None:
        return None if tree.offset is None else self._count(tree.offset.count, "offset", context)

    def _count(self, value: Expression, name: str, context: Context) -> int:
        result: object
        if isinstance(value, Parameter):
            found = expressions.analyze_expression(value, context)
            result = value_of(found) if isinstance(found, Constant) else None
        else:
            result = evaluate_constant(value, "bigint", self.session)
        if not isinstance(result, int) or result < 0:
            shown = f"{name.upper()} must be greater than or equal to 0, found: {result}"
            raise context.error(value, shown, ErrorCode.SYNTAX_ERROR)
        if result >= 1 << 63:
            raise ProcessionError(ErrorCode.INVALID_LIMIT_CLAUSE, f"Invalid {name}: {result}")
        return result

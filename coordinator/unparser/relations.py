"""Plan nodes as SELECTs of one engine: each node a block, blocks joined while SQL's order of clauses allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from coordinator.planner.query.outputs import output_variables
from coordinator.unparser.aggregates import aggregate_call, window_call
from coordinator.unparser.block import Block
from coordinator.unparser.expressions import expression
from coordinator.unparser.frames import constant_offsets
from coordinator.unparser.ordering import ordered
from coordinator.unparser.refusals import unsupported
from coordinator.unparser.scans import Scans
from coordinator.unparser.trees import binary, call, cast, column, name, number, text
from coordinator.unparser.unnest import array_spark, elements_duck, elements_spark, length_duck
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    EnforceSingleRowNode,
    ExchangeNode,
    FilterNode,
    GroupIdNode,
    JoinNode,
    LimitNode,
    OffsetNode,
    OrderingScheme,
    OutputNode,
    PlanNode,
    ProjectNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
    UnnestNode,
    ValuesNode,
    WindowNode,
)
from shared.plan.types import parse_type


@dataclass(slots=True)
class Relations:
    """Renders one plan; counts the aliases it gives out."""

    dialect: str
    scans: Scans
    aliases: int = 0

    def root(self, node: OutputNode) -> Any:
        """The whole statement; result columns come in the order of the output variables."""
        block = self.block(node.source)
        wanted = node.outputVariables
        names = [v.name for v in wanted]
        current = [n for _, n in block.columns] if block.columns is not None else [v.name for v in block.variables]
        if names != current:
            if block.columns is None:
                block = replace(block, columns=tuple((column(n), n) for n in names))
            elif len(set(names)) == len(names) and set(names) <= set(current) and block.group is None:
                by_name = {n: e for e, n in block.columns}
                block = replace(block, columns=tuple((by_name[n], n) for n in names))
            else:
                # The order of an inner block must stay the order of the result.
                inner, order = replace(block, order=(), limit=None, offset=None), block.order
                block = replace(
                    self.wrap(inner, block.variables),
                    columns=tuple((column(n), n) for n in names),
                    order=order,
                    limit=block.limit,
                    offset=block.offset,
                )
        return self.select(block)

    def alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    def select(self, block: Block) -> Any:
        """The block as a sqlglot SELECT."""
        shown: list[Any] = [
            tree if isinstance(tree, exp.Column) and tree.name == n else exp.Alias(this=tree, alias=name(n))
            for tree, n in (
                block.columns if block.columns is not None else [(column(v.name), v.name) for v in block.variables]
            )
        ]
        select = exp.Select(expressions=shown or [exp.Alias(this=number(1), alias=name("dummy"))])
        if block.source is not None:
            select.set("from_", exp.From(this=block.source))
        if block.where:
            condition = block.where[0]
            for term in block.where[1:]:
                condition = exp.And(this=condition, expression=term)
            select.set("where", exp.Where(this=condition))
        if block.group:
            select.set("group", exp.Group(expressions=list(block.group)))
        if block.order:
            select.set("order", exp.Order(expressions=list(block.order)))
        if block.limit is not None:
            select.set("limit", exp.Limit(expression=number(block.limit)))
        if block.offset:
            select.set("offset", exp.Offset(expression=number(block.offset)))
        return select

    def wrap(self, block: Block, variables: tuple[Variable, ...]) -> Block:
        """A new block over a finished one."""
        sub = exp.Subquery(this=self.select(block), alias=exp.TableAlias(this=name(self.alias())))
        return Block(sub, variables)

    def plain(self, node: PlanNode) -> Block:
        """A block that still has room above WHERE."""
        block = self.block(node)
        return block if block.plain else self.wrap(block, block.variables)

    def block(self, node: PlanNode) -> Block:  # noqa: C901 - one case a node
        """The block of a node."""
        match node:
            case TableScanNode():
                return self._scan(node)
            case ValuesNode():
                return self._values(node)
            case FilterNode():
                source = self.plain(node.source)
                return replace(source, where=(*source.where, self.tree(node.predicate)))
            case ProjectNode():
                return self._project(node)
            case AggregationNode():
                return self._aggregation(node)
            case JoinNode():
                return self._join(node)
            case SemiJoinNode():
                return self._semi_join(node)
            case SortNode() | TopNNode() | LimitNode() | OffsetNode():
                return self._ordered(node)
            case WindowNode():
                source = self.plain(node.source)
                kept = [(column(v.name), v.name) for v in source.variables]
                offsets = constant_offsets(node.source)
                made = [
                    window_call(f, node.specification, k, self.dialect, offsets)
                    for k, f in node.windowFunctions.items()
                ]
                return replace(source, columns=(*kept, *made), variables=output_variables(node))
            case UnnestNode():
                return self._unnest(node)
            case EnforceSingleRowNode():
                return self._single_row(node)
            case AssignUniqueId():
                source = self.plain(node.source)
                kept = [(column(v.name), v.name) for v in source.variables]
                unique = self._unique_id()
                return replace(
                    source, columns=(*kept, (unique, node.idVariable.name)), variables=output_variables(node)
                )
            case ExchangeNode():
                return self._union(node)
            case SampleNode():
                return self._sample(node)
            case _:
                raise unsupported(type(node).__name__.removesuffix("Node"), self.dialect)

    def tree(self, node: RowExpression) -> Any:
        return expression(node, self.dialect)

    def _unique_id(self) -> Any:
        if self.dialect == "spark":
            return call("monotonically_increasing_id")
        return exp.Window(this=call("row_number"))

    def _scan(self, node: TableScanNode) -> Block:
        columns = []
        for variable in node.outputVariables:
            source = _column_name(node.assignments[variable.key])
            columns.append((column(source), variable.name))
        table = self.scans.table(node)
        return self.wrap(Block(table, node.outputVariables, columns=tuple(columns)), node.outputVariables)

    def _values(self, node: ValuesNode) -> Block:
        if not node.outputVariables:
            if len(node.rows) == 1:
                return Block(None, ())
            raise unsupported("VALUES of several rows without columns", self.dialect)
        if not node.rows:
            columns = [(cast(exp.Null(), parse_type(v.type), self.dialect), v.name) for v in node.outputVariables]
            empty = Block(None, node.outputVariables, columns=tuple(columns), where=(exp.Boolean(this=False),))
            return self.wrap(empty, node.outputVariables)
        if len(node.rows) > 1:
            tuples = [exp.Tuple(expressions=[self.tree(c) for c in row]) for row in node.rows]
            names = [name(v.name) for v in node.outputVariables]
            alias = exp.TableAlias(this=name(self.alias()), columns=names)
            return Block(exp.Values(expressions=tuples, alias=alias), node.outputVariables)
        columns = [(self.tree(c), v.name) for c, v in zip(node.rows[0], node.outputVariables, strict=True)]
        return self.wrap(Block(None, node.outputVariables, columns=tuple(columns)), node.outputVariables)

    def _project(self, node: ProjectNode) -> Block:
        source = self.block(node.source)
        if source.columns is not None or source.group is not None:
            inner, order = replace(source, order=()), source.order
            simple = source.limit is None and not source.offset
            source = self.wrap(inner if simple else source, source.variables)
            if simple or order:
                source = replace(source, order=order)
        assigned = node.assignments.assignments
        columns = [(self.tree(e), k.partition("<")[0]) for k, e in assigned.items()]
        return replace(source, columns=tuple(columns), variables=output_variables(node))

    def _ordered(self, node: SortNode | TopNNode | LimitNode | OffsetNode) -> Block:
        source = self.block(node.source)
        match node:
            case SortNode() | TopNNode():
                if source.order or source.limit is not None or source.offset:
                    source = self.wrap(source, source.variables)
                source = replace(source, order=self._ordering(node.orderingScheme))
                return replace(source, limit=node.count) if isinstance(node, TopNNode) else source
            case OffsetNode():
                if source.offset or source.limit is not None:
                    source = self.wrap(source, source.variables)
                return replace(source, offset=node.count)
            case LimitNode():
                if source.limit is not None:
                    source = self.wrap(source, source.variables)
                return replace(source, limit=node.count)

    def _ordering(self, scheme: OrderingScheme) -> tuple[Any, ...]:
        return tuple(ordered(o.variable, o.sortOrder) for o in scheme.orderBy)

    def _aggregation(self, node: AggregationNode) -> Block:
        if isinstance(node.source, GroupIdNode):
            return self._grouping_sets(node, node.source)
        source = self.plain(node.source)
        keys = [column(v.name) for v in node.groupingSets.groupingKeys]
        columns = [(column(v.name), v.name) for v in node.groupingSets.groupingKeys]
        columns += [aggregate_call(a, key, self.dialect) for key, a in node.aggregations.items()]
        return replace(source, columns=tuple(columns), group=tuple(keys), variables=output_variables(node))

    def _grouping_sets(self, node: AggregationNode, group: GroupIdNode) -> Block:
        """One SELECT a grouping set: the engines' own GROUPING SETS cannot tell equal sets apart."""
        origin = {k.partition("<")[0]: v for k, v in group.groupingColumns.items()}
        selects = []
        for number_of_set, keys in enumerate(group.groupingSets):
            source = self.plain(group.source)
            present = {k.name for k in keys}
            columns: list[tuple[Any, str]] = []
            for key in node.groupingSets.groupingKeys:
                kind = parse_type(key.type)
                if key == group.groupIdVariable:
                    value: Any = cast(number(number_of_set), kind, self.dialect)
                elif key.name in present:
                    value = column(origin[key.name].name)
                else:
                    value = cast(exp.Null(), kind, self.dialect)
                columns.append((value, key.name))
            columns += [aggregate_call(a, key, self.dialect) for key, a in node.aggregations.items()]
            block = replace(
                source,
                columns=tuple(columns),
                group=tuple(column(origin[k.name].name) for k in keys),
                variables=output_variables(node),
            )
            selects.append(self.select(block))
        return self._union_of(selects, output_variables(node))

    def _union(self, node: ExchangeNode) -> Block:
        layout = node.partitioningScheme.outputLayout
        selects = []
        for source, inputs in zip(node.sources, node.inputs, strict=True):
            block = self.wrap(self.block(source), output_variables(source))
            columns = tuple((column(i.name), o.name) for i, o in zip(inputs, layout, strict=True))
            selects.append(self.select(replace(block, columns=columns)))
        return self._union_of(selects, layout)

    def _union_of(self, selects: Sequence[Any], variables: tuple[Variable, ...]) -> Block:
        tree = selects[0]
        for select in selects[1:]:
            tree = exp.Union(this=tree, expression=select, distinct=False)
        alias = exp.TableAlias(this=name(self.alias()))
        return Block(exp.Subquery(this=tree, alias=alias), variables)

    def _join(self, node: JoinNode) -> Block:
        left, right = self._side(node.left), self._side(node.right)
        terms = [binary(exp.EQ, column(c.left.name), column(c.right.name)) for c in node.criteria]
        if node.filter is not None:
            terms.append(self.tree(node.filter))
        condition = None
        for term in terms:
            condition = term if condition is None else exp.And(this=condition, expression=term)
        join = exp.Join(this=right)
        if node.type == "INNER" and condition is None:
            join.set("kind", "CROSS")
        else:
            join.set("side" if node.type != "INNER" else "kind", node.type)
            join.set("on", condition if condition is not None else exp.Boolean(this=True))
        variables = output_variables(node)
        source = exp.Select(expressions=[column(v.name) for v in variables] or [number(1)])
        source.set("from_", exp.From(this=left))
        source.set("joins", [join])
        alias = exp.TableAlias(this=name(self.alias()))
        return Block(exp.Subquery(this=source, alias=alias), variables)

    def _side(self, node: PlanNode) -> Any:
        block = self.block(node)
        return self.wrap(block, block.variables).source

    def _semi_join(self, node: SemiJoinNode) -> Block:
        source = self.plain(node.source)
        inner = self.block(node.filteringSource)
        wrapped = self.wrap(inner, inner.variables)
        wanted = node.filteringSourceJoinVariable.name
        query = self.select(replace(wrapped, columns=((column(wanted), wanted),)))
        test = exp.Paren(this=exp.In(this=column(node.sourceJoinVariable.name), query=exp.Subquery(this=query)))
        kept = [(column(v.name), v.name) for v in source.variables]
        columns = (*kept, (test, node.semiJoinOutput.name))
        return replace(source, columns=columns, variables=output_variables(node))

    def _single_row(self, node: EnforceSingleRowNode) -> Block:
        """Exactly one row: NULLs for none, an error for several."""
        inner = self.block(node.source)
        variables = inner.variables
        source = self.wrap(inner, variables)
        count = call("count", exp.Star())
        message = text("Scalar sub-query has returned multiple rows")
        error = call("error" if self.dialect == "duckdb" else "raise_error", message)
        columns = []
        for variable in variables:
            first = call("first", column(variable.name))
            kind = parse_type(variable.type)
            condition = binary(exp.GT, count.copy(), number(1))
            columns.append(
                (
                    exp.Case(ifs=[exp.If(this=condition, true=cast(error.copy(), kind, self.dialect))], default=first),
                    variable.name,
                )
            )
        return self.wrap(replace(source, columns=tuple(columns), group=()), variables)

    def _unnest(self, node: UnnestNode) -> Block:
        if self.dialect == "spark":
            return self._unnest_spark(node)
        source = self.plain(node.source)
        kept = [(column(v.name), v.name) for v in node.replicateVariables]
        lengths = [length_duck(k) for k in node.unnestVariables]
        longest = call("greatest", *lengths) if len(lengths) > 1 else lengths[0]
        position = self.alias() + "_position"
        indexed = replace(
            source,
            columns=(
                *((column(v.name), v.name) for v in source.variables),
                (call("unnest", call("generate_series", number(1), longest)), position),
            ),
        )
        outer = self.wrap(indexed, source.variables)
        columns: list[tuple[Any, str]] = list(kept)
        for key, made in node.unnestVariables.items():
            columns += elements_duck(key, made, position)
        if node.ordinalityVariable is not None:
            columns.append((column(position), node.ordinalityVariable.name))
        return replace(outer, columns=tuple(columns), variables=output_variables(node))

    def _unnest_spark(self, node: UnnestNode) -> Block:
        source = self.plain(node.source)
        zipped = [array_spark(k) for k in node.unnestVariables]
        item = self.alias() + "_item"
        position = item + "_position"
        # Without names of their own the fields are named 0, 1, …; a NULL array counts as an empty one.
        arrays = call("arrays_zip", *(call("coalesce", z, call("array")) for z in zipped))
        generated = exp.Aliases(this=call("posexplode", arrays), expressions=[name(position), name(item)])
        shown = [column(v.name) for v in source.variables]
        select = self.select(replace(source, columns=tuple((c, c.name) for c in shown)))
        select.append("expressions", generated)
        outer = exp.Subquery(this=select, alias=exp.TableAlias(this=name(self.alias())))
        columns: list[tuple[Any, str]] = [(column(v.name), v.name) for v in node.replicateVariables]
        for i, (key, made) in enumerate(node.unnestVariables.items()):
            columns += elements_spark(key, made, exp.Dot(this=column(item), expression=name(str(i))))
        if node.ordinalityVariable is not None:
            ordinality = binary(exp.Add, column(position), number(1))
            columns.append((cast(ordinality, parse_type("bigint"), "spark"), node.ordinalityVariable.name))
        return Block(outer, output_variables(node), columns=tuple(columns))

    def _sample(self, node: SampleNode) -> Block:
        source = self.plain(node.source)
        chance = call("random" if self.dialect == "duckdb" else "rand")
        ratio = cast(text(repr(node.sampleRatio)), parse_type("double"), self.dialect)
        return replace(source, where=(*source.where, binary(exp.LT, chance, ratio)))


def _column_name(handle: dict[str, Any]) -> str:
    identity = handle.get("columnIdentity")
    if isinstance(identity, dict) and "name" in identity:
        return str(identity["name"])
    return str(handle.get("name") or handle.get("columnName"))

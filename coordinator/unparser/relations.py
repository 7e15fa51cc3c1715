"""Plan nodes as SELECTs of one engine: each node a block, blocks joined while SQL's order of clauses allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from sqlglot import exp

from coordinator.expressions.builders import conjuncts, typed
from coordinator.unparser import grouping, joins, marks, single_rows, windows
from coordinator.unparser.block import Block, Part, read, select_of, with_parts
from coordinator.unparser.exists import exists_filter
from coordinator.unparser.expressions import expression
from coordinator.unparser.iceberg_conditions import for_iceberg
from coordinator.unparser.ordering import ordered
from coordinator.unparser.plan_forms import renamed
from coordinator.unparser.programs import calls_python
from coordinator.unparser.refusals import place_refusal, unsupported
from coordinator.unparser.repeated import RowsOf, Use, repeated_parts, unknown_rows
from coordinator.unparser.row_lists import row_list
from coordinator.unparser.scans import SEQUENCE_NUMBER, Scans
from coordinator.unparser.stored_json import is_shown_otherwise, shown_value
from coordinator.unparser.trees import binary, call, cast, column, name, number, text
from coordinator.unparser.unnest import unnest
from coordinator.unparser.written_out import at_its_place, written_out
from shared.errors import ProcessionError
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AggregationNode,
    AssignUniqueId,
    EnforceSingleRowNode,
    ExchangeNode,
    FilterNode,
    JoinNode,
    LimitNode,
    MarkDistinctNode,
    OffsetNode,
    OrderingScheme,
    OutputNode,
    PlanNode,
    ProjectNode,
    RowNumberNode,
    SampleNode,
    SemiJoinNode,
    SortNode,
    TableScanNode,
    TopNNode,
    TopNRowNumberNode,
    UnnestNode,
    ValuesNode,
    WindowNode,
)
from shared.plan.traversal import free_variables, output_variables, walk
from shared.plan.types import parse_type
from shared.spi.handles import column_name, is_synthesized


@dataclass(slots=True)
class Relations:
    """Renders one plan; counts the aliases it gives out.

    ``copies``: hints say which joins are REPLICATED. ``shares``: parts that occur several times are computed once.
    """

    dialect: str
    scans: Scans
    copies: bool = False
    rows_of: RowsOf = unknown_rows
    shares: bool = True
    aliases: int = 0
    decided: set[str] = field(default_factory=set)
    uses: Mapping[int, Use] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    """By the number of their use; those that a single node asks for have numbers below zero."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Of columns that projections computed, written out."""
    within: int = 0
    """Parts that are being rendered. Spark 4.1 mixes up columns of a part that another one reads: there it is none."""

    def root(self, node: OutputNode) -> exp.Expr:
        """The whole statement; result columns come in the order of the output variables."""
        if self.shares:
            spark = self.dialect == "spark"
            # Joins are no parts on Spark, where their rows would cross one exchange more.
            uses = repeated_parts(node, unknown_rows if spark else self.rows_of, filters=spark)
            self.uses = {place: use for place, use in uses.items() if not spark or _makes_few(use.computed)}
        return with_parts(self._root(node), self.parts.values(), self.dialect)

    def _root(self, node: OutputNode) -> exp.Expr:
        block = self.block(node.source)
        wanted = node.outputVariables
        names = [v.name for v in wanted]
        current = [n for _, n in block.columns] if block.columns is not None else [v.name for v in block.variables]
        if names != current:
            if block.columns is None:
                block = replace(block, columns=tuple((column(n), n) for n in names))
            elif not _repeated(names) & _ordered_by(block) and set(names) <= set(current) and block.group is None:
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
        return select_of(block)

    def alias(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    def wrap(self, block: Block, variables: tuple[Variable, ...]) -> Block:
        """A new block over a finished one."""
        sub = exp.Subquery(this=select_of(block), alias=exp.TableAlias(this=name(self.alias())))
        return Block(sub, variables)

    def plain(self, node: PlanNode) -> Block:
        """A block that still has room above WHERE."""
        block = self.block(node)
        return block if block.plain else self.wrap(block, block.variables)

    def block(self, node: PlanNode) -> Block:
        """The block of a node."""
        try:
            use = None if self.within and self.dialect == "spark" else self.uses.get(id(node))
            return self._block(node) if use is None else self._part(use)
        except ProcessionError as error:
            place_refusal(error, node.sourceLocation)
            raise

    def _block(self, node: PlanNode) -> Block:  # noqa: C901 - one case a node
        match node:
            case TableScanNode():
                return self._scan(node)
            case ValuesNode():
                return self._values(node)
            case FilterNode():
                return self._filter(node)
            case ProjectNode():
                if isinstance(node.source, FilterNode):
                    kept = {v.name for e in node.assignments.assignments.values() for v in free_variables(e)}
                    self.decided |= marks.decided_marks(node.source, kept)
                return self._project(node, self.block(node.source))
            case AggregationNode():
                return grouping.aggregation(self, node)
            case ExchangeNode():
                return grouping.union(self, node)
            case JoinNode():
                return joins.join(self, node)
            case SemiJoinNode():
                return marks.semi_join(self, node)
            case EnforceSingleRowNode():
                return single_rows.enforced(self, node)
            case SortNode() | TopNNode() | LimitNode() | OffsetNode():
                return self._ordered(node)
            case WindowNode():
                return windows.window(self, node)
            case RowNumberNode() | TopNRowNumberNode():
                return windows.row_number(self, node)
            case MarkDistinctNode():
                return windows.mark_distinct(self, node)
            case AssignUniqueId():
                return windows.unique_id(self, node)
            case UnnestNode():
                return unnest(self, node)
            case SampleNode():
                return self._sample(node)
            case _:
                raise unsupported(type(node).__name__.removesuffix("Node"), self.dialect)

    def _part(self, use: Use) -> Block:
        """What is computed once and read in several places."""
        if use.number not in self.parts:
            self.within += 1
            block = self._block(use.computed)
            self.within -= 1
            columns = tuple((column(v.name), f"c{n}") for v, n in use.made)
            query = select_of(replace(self.wrap(block, block.variables), columns=columns))
            self.parts[use.number] = Part(f"{self.scans.prefix}_part_{use.number}", query)
        part = self.parts[use.number]
        shown = tuple((column(f"c{n}"), v.name) for v, n in use.columns)
        variables = tuple(v for v, _ in use.columns)
        names = {v.name: f"c{n}" for v, n in use.made}
        asked = tuple(self._condition(renamed(term, RowExpression, names)) for term in use.where)
        return self.wrap(Block(read(part), variables, columns=shown, where=asked), variables)

    def part(self, query: exp.Expr) -> Part:
        """A query that one node reads in several places."""
        number_ = -1 - len(self.parts)
        self.parts[number_] = Part(f"{self.scans.prefix}_step_{-number_}", query)
        return self.parts[number_]

    def tree(self, node: RowExpression) -> exp.Expr:
        return expression(node, self.dialect)

    def _scan(self, node: TableScanNode) -> Block:
        columns, by_name = [], self.scans.by_name(node)
        for variable in node.outputVariables:
            source = _source(node.assignments[variable.key], by_name)
            type_ = typed(variable)
            stored = self.dialect == "spark" and is_shown_otherwise(type_) and self.scans.stored(node)
            columns.append((shown_value(source, type_) if stored else source, variable.name))
        table = self.scans.table(node)
        numbered = any(column_name(handle) == SEQUENCE_NUMBER for handle in node.assignments.values())
        if numbered and by_name:
            table.set("joins", [self.scans.sequence_numbers(node)])
        return self.wrap(Block(table, node.outputVariables, columns=tuple(columns)), node.outputVariables)

    def _values(self, node: ValuesNode) -> Block:
        if not node.outputVariables:
            return self._empty_rows(len(node.rows))
        if not node.rows:
            columns = [(cast(exp.Null(), parse_type(v.type), self.dialect), v.name) for v in node.outputVariables]
            empty = Block(None, node.outputVariables, columns=tuple(columns), where=(exp.Boolean(this=False),))
            return self.wrap(empty, node.outputVariables)
        if len(node.rows) > 1:
            trees = [[self.tree(c) for c in row] for row in node.rows]
            if any(calls_python(tree) for row in trees for tree in row):
                return self._selected_rows(node, trees)
            tuples = [exp.Tuple(expressions=row) for row in trees]
            names = [name(v.name) for v in node.outputVariables]
            alias = exp.TableAlias(this=name(self.alias()), columns=names)
            return Block(exp.Values(expressions=tuples, alias=alias), node.outputVariables)
        columns = [(self.tree(c), v.name) for c, v in zip(node.rows[0], node.outputVariables, strict=True)]
        return self.wrap(Block(None, node.outputVariables, columns=tuple(columns)), node.outputVariables)

    def _selected_rows(self, node: ValuesNode, rows: list[list[exp.Expr]]) -> Block:
        """Rows that VALUES may not hold: Spark takes no Python function there."""
        names = [v.name for v in node.outputVariables]
        selects = [
            exp.Select(expressions=[exp.Alias(this=t, alias=name(n)) for t, n in zip(row, names, strict=True)])
            for row in rows
        ]
        union: exp.Expr = selects[0]
        for select in selects[1:]:
            union = exp.Union(this=union, expression=select, distinct=False)
        return Block(exp.Subquery(this=union, alias=exp.TableAlias(this=name(self.alias()))), node.outputVariables)

    def _empty_rows(self, count: int) -> Block:
        """So many rows without columns."""
        if count == 0:
            return self.wrap(Block(None, (), where=(exp.Boolean(this=False),)), ())
        if count == 1:
            return Block(None, ())
        alias = exp.TableAlias(this=name(self.alias()), columns=[name("dummy")])
        return Block(exp.Values(expressions=[exp.Tuple(expressions=[number(1)])] * count, alias=alias), ())

    def _filter(self, node: FilterNode) -> Block:
        found = exists_filter(node)
        if found is None:
            self.decided |= marks.decided_marks(node, None)
            predicate = for_iceberg(node.predicate) if self._is_stored(node.source) else node.predicate
            return self._where(self.plain(node.source), predicate)
        block = joins.matched(self, found.matched)
        for projection in found.above:
            block = self._project(projection, block)
        return block if found.rest is None else self._where(self.wrap(block, block.variables), found.rest)

    def _is_stored(self, node: PlanNode) -> bool:
        """Whether Spark reads nothing but files of Iceberg tables for it."""
        if self.dialect != "spark":
            return False
        return all(self.scans.stored(each) for each in walk(node) if isinstance(each, TableScanNode))

    def _where(self, source: Block, predicate: RowExpression) -> Block:
        return replace(source, where=(*source.where, *map(self._condition, conjuncts(predicate))))

    def _condition(self, term: RowExpression) -> exp.Expr:
        """Of a filter, where NULL is as good as false."""
        listed = row_list(term, self.tree) if self.dialect == "duckdb" else None
        return self.tree(term) if listed is None else listed

    def _project(self, node: ProjectNode, source: Block) -> Block:
        if source.columns is not None or source.group is not None:
            inner, order = replace(source, order=()), source.order
            if not _ordered_by(source) <= {v.name for v in source.variables}:
                inner, order = source, ()  # what it is ordered by ends here
            simple = source.limit is None and not source.offset
            source = self.wrap(inner if simple else source, source.variables)
            if simple or order:
                source = replace(source, order=order)
        variables = output_variables(node)
        assigned = zip(variables, node.assignments.assignments.values(), strict=True)
        columns = tuple((self._assigned(e, v.name), v.name) for v, e in assigned)
        return replace(source, columns=columns, variables=variables)

    def _assigned(self, value: RowExpression, named: str) -> exp.Expr:
        tree = self.tree(value)
        if self.dialect != "spark" or isinstance(value, Variable):
            return tree
        size, repeats = written_out(value, self.sizes)
        self.sizes[named] = 1 if repeats else size
        return at_its_place(tree) if repeats else tree

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

    def _ordering(self, scheme: OrderingScheme) -> tuple[exp.Expr, ...]:
        return tuple(ordered(o.variable, o.sortOrder) for o in scheme.orderBy)

    def _sample(self, node: SampleNode) -> Block:
        source = self.plain(node.source)
        chance = call("random" if self.dialect == "duckdb" else "rand")
        ratio = cast(text(repr(node.sampleRatio)), parse_type("double"), self.dialect)
        return replace(source, where=(*source.where, binary(exp.LT, chance, ratio)))


def _makes_few(part: PlanNode) -> bool:
    """Whether a part is worth an exchange on Spark: a row that a scan alone finds is not (TPC-DS q58)."""
    return any(isinstance(node, AggregationNode | TopNNode | TopNRowNumberNode) for node in walk(part))


_METADATA_COLUMNS = {"$path": "_file", "$deleted": "_deleted"}
"""Presto's hidden columns of Iceberg tables as Spark calls them."""


def _repeated(names: Sequence[str]) -> set[str]:
    """Names that a result has several times."""
    return {n for n in names if names.count(n) > 1}


def _ordered_by(block: Block) -> set[str]:
    return {column.name for item in block.order for column in item.find_all(exp.Column)}


def _source(handle: Mapping[str, object], by_name: bool) -> exp.Expr:
    """What is read for a column: the column, or for the number of a file a hash of its path.

    ``by_name``: Spark reads the table itself. Where the kernels read it for Spark, columns have Presto's names.
    """
    named = column_name(handle)
    if by_name and is_synthesized(handle):
        named = _METADATA_COLUMNS.get(named, named)
    if handle.get("@type") == "tpch" and "key" in handle:
        return _row_number(column(str(handle["key"])), bool(handle["sparse"]))
    return call("xxhash64", column("_file")) if named == "$file_id" else column(named)


def _row_number(key: exp.Expr, sparse: bool) -> exp.Expr:
    """TPC-H gives the keys of orders out in eights, each 32 after the one before."""
    if not sparse:
        return key
    eighth = binary(exp.Mod, key, number(32))
    eights = exp.IntDiv(this=binary(exp.Sub, key, eighth), expression=number(4))
    return binary(exp.Add, exp.Paren(this=eights), eighth)

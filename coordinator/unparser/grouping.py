"""Aggregations, grouping sets and unions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from sqlglot import exp

from coordinator.unparser.aggregates import aggregate_call
from coordinator.unparser.block import Block, Part, Rendering, read, select_of
from coordinator.unparser.compared_maps import compared, holds_map
from coordinator.unparser.constant_shares import with_constant_shares
from coordinator.unparser.empty_set import is_costly, of_real_rows, only_wanted, wanted, with_a_row
from coordinator.unparser.trees import call, cast, column, name, number
from shared.plan.expressions import Variable
from shared.plan.nodes import AggregationNode, ExchangeNode, GroupIdNode
from shared.plan.traversal import output_variables
from shared.plan.types import parse_type

_ONE_ROW = (call("count", exp.Star()), "procession_rows")
"""Makes a SELECT without keys and without aggregates one row, which nobody reads."""
_MOST_KEYS = 60
"""Of one SELECT with GROUPING SETS: each has a bit of a bigint."""
_MOST_SETS, _SETS_A_STEP = 256, 64
"""DuckDB may hold two megabytes for each set, however few the rows: beyond the first number, so many at a time."""
_WAITS = "procession_waits"


def aggregation(rendering: Rendering, node: AggregationNode) -> Block:
    """GROUP BY with its aggregates."""
    if rendering.dialect == "spark":
        node = with_constant_shares(node)
    if isinstance(node.source, GroupIdNode):
        return _grouping_sets(rendering, node, node.source)
    source = rendering.plain(node.source)
    keys = [compared(v, rendering.dialect) for v in node.groupingSets.groupingKeys]
    columns = [(_key(v), v.name) for v in node.groupingSets.groupingKeys]
    columns += [aggregate_call(a, key, rendering.dialect) for key, a in node.aggregations.items()]
    if not columns:
        columns = [_ONE_ROW]
    return replace(source, columns=tuple(columns), group=tuple(keys), variables=output_variables(node))


def _key(variable: Variable) -> exp.Expr:
    """A key as a column of the result; of equal maps any will do."""
    value = column(variable.name)
    return call("any_value", value) if holds_map(parse_type(variable.type)) else value


def _grouping_sets(rendering: Rendering, node: AggregationNode, group: GroupIdNode) -> Block:
    """The source is read once for all sets that an engine's own GROUPING SETS tell apart, once for each other one."""
    numbered = list(enumerate(group.groupingSets))
    together = _together(rendering.dialect, group)
    alone = numbered if len(together) < 2 else [(n, keys) for n, keys in numbered if n not in together]
    if len(together) < 2:
        selects = []
    elif len(together) <= _MOST_SETS or rendering.dialect != "duckdb":
        selects = [_of_sets(rendering, node, group, together, rendering.plain(group.source))]
    else:
        selects = _in_steps(rendering, node, group, together)
    selects += [_of_one_set(rendering, node, group, n, keys) for n, keys in alone]
    return _union_of(rendering, selects, output_variables(node))


def _together(dialect: str, group: GroupIdNode) -> dict[int, tuple[Variable, ...]]:
    """Sets by number, of which no two are equal and none has a key that is compared in another form.

    On Spark the empty one is among them where the source costs more than a row for each of its rows.
    """
    origin = _origins(group)
    sets = {n: tuple(origin[k.name] for k in keys) for n, keys in enumerate(group.groupingSets)}
    columns = {k.name: origin[k.name].name for keys in group.groupingSets for k in keys}
    if len(set(columns.values())) < len(columns) or len(set(map(frozenset, sets.values()))) < len(sets):
        return {}
    if len(columns) > _MOST_KEYS or any(holds_map(parse_type(key.type)) for keys in sets.values() for key in keys):
        return {}
    return sets if dialect != "spark" or is_costly(group.source) else {n: keys for n, keys in sets.items() if keys}


def _origins(group: GroupIdNode) -> dict[str, Variable]:
    return {k.partition("<")[0]: v for k, v in group.groupingColumns.items()}


def _in_steps(
    rendering: Rendering, node: AggregationNode, group: GroupIdNode, sets: Mapping[int, tuple[Variable, ...]]
) -> list[exp.Expr]:
    """SELECTs of some sets each, over one source that is computed once. Each waits for the one before it.

    DuckDB would begin with all of them at once. It does not before it has counted the rows of the one before.
    """
    variables = output_variables(group.source)
    source = rendering.part(select_of(rendering.block(group.source)))
    numbered, steps = list(sets.items()), list[Part]()
    for first in range(0, len(numbered), _SETS_A_STEP):
        table, waits = read(source), exp.GTE(this=column(_WAITS), expression=number(0))
        if steps:
            table.set("joins", [exp.Join(this=_counted(steps[-1]), kind="CROSS")])
        some = dict(numbered[first : first + _SETS_A_STEP])
        block = Block(table, variables, where=(waits,) if steps else ())
        steps.append(rendering.part(_of_sets(rendering, node, group, some, block)))
    shown = [column(variable.name) for variable in output_variables(node)]
    return [exp.Select(expressions=[*shown], from_=exp.From(this=read(step))) for step in steps]


def _counted(step: Part) -> exp.Expr:
    rows = exp.Alias(this=call("count", exp.Star()), alias=name(_WAITS))
    counted = exp.Select(expressions=[rows], from_=exp.From(this=read(step)))
    return exp.Subquery(this=counted, alias=exp.TableAlias(this=name("before")))


def _of_sets(
    rendering: Rendering,
    node: AggregationNode,
    group: GroupIdNode,
    sets: Mapping[int, tuple[Variable, ...]],
    source: Block,
) -> exp.Expr:
    """One SELECT with GROUPING SETS, and one above that numbers them: DuckDB binds ``grouping`` anew in each branch."""
    origin, dialect = _origins(group), rendering.dialect
    used = list(dict.fromkeys(key for keys in sets.values() for key in keys))
    columns: list[tuple[exp.Expr, str]] = []
    numbers: list[exp.Expr] = [column(variable.name) for variable in output_variables(node)]
    for place, key in enumerate(node.groupingSets.groupingKeys):
        type_ = parse_type(key.type)
        if key == group.groupIdVariable:
            columns.append((_lacking(used), key.name))
            numbered = cast(_number_of_set(sets, used, column(key.name)), type_, dialect)
            numbers[place] = exp.Alias(this=numbered, alias=name(key.name))
        elif origin[key.name] in used:
            columns.append((column(origin[key.name].name), key.name))
        else:
            columns.append((cast(exp.Null(), type_, dialect), key.name))
    added = dialect == "spark" and not all(sets.values())
    if added:
        source = with_a_row(rendering, source)
        columns.append(wanted(_lacking(used), len(used)))
    columns += [aggregate_call(of_real_rows(a) if added else a, key, dialect) for key, a in node.aggregations.items()]
    if not node.aggregations and not all(group.groupingSets):
        columns.append(_ONE_ROW)
        numbers.append(column(_ONE_ROW[1]))
    each = [exp.Tuple(expressions=[column(key.name) for key in keys]) for keys in sets.values()]
    made = replace(
        source,
        columns=tuple(columns),
        group=(exp.GroupingSets(expressions=each),),
        variables=output_variables(node),
    )
    below = exp.Subquery(this=select_of(made), alias=exp.TableAlias(this=name(rendering.alias())))
    select = exp.Select(expressions=numbers, from_=exp.From(this=below))
    return only_wanted(select) if added else select


def _lacking(used: Sequence[Variable]) -> exp.Expr:
    """A bit for each key that a row's set lacks."""
    bits = [exp.Mul(this=call("grouping", column(key.name)), expression=number(1 << i)) for i, key in enumerate(used)]
    mask: exp.Expr = bits[0]
    for bit in bits[1:]:
        mask = exp.Add(this=mask, expression=bit)
    return mask


def _number_of_set(sets: Mapping[int, tuple[Variable, ...]], used: Sequence[Variable], mask: exp.Expr) -> exp.Expr:
    numbers = exp.Case(this=mask)
    for n, keys in sets.items():
        lacking = sum(1 << i for i, key in enumerate(used) if key not in keys)
        numbers = numbers.when(number(lacking), number(n), copy=False)
    return numbers


def _of_one_set(
    rendering: Rendering, node: AggregationNode, group: GroupIdNode, number_of_set: int, keys: Sequence[Variable]
) -> exp.Expr:
    origin, dialect = _origins(group), rendering.dialect
    present = {k.name for k in keys}
    columns: list[tuple[exp.Expr, str]] = []
    for key in node.groupingSets.groupingKeys:
        type_ = parse_type(key.type)
        if key == group.groupIdVariable:
            value: exp.Expr = cast(number(number_of_set), type_, dialect)
        elif key.name in present:
            value = _key(origin[key.name])
        else:
            value = cast(exp.Null(), type_, dialect)
        columns.append((value, key.name))
    columns += [aggregate_call(a, key, dialect) for key, a in node.aggregations.items()]
    if not node.aggregations and not all(group.groupingSets):
        columns.append(_ONE_ROW)
    block = replace(
        rendering.plain(group.source),
        columns=tuple(columns),
        group=tuple(compared(origin[k.name], dialect) for k in keys),
        variables=output_variables(node),
    )
    return select_of(block)


def union(rendering: Rendering, node: ExchangeNode) -> Block:
    """UNION ALL of the sources, column by column."""
    layout = node.partitioningScheme.outputLayout
    selects = []
    for source, inputs in zip(node.sources, node.inputs, strict=True):
        block = rendering.wrap(rendering.block(source), output_variables(source))
        columns = tuple((column(i.name), o.name) for i, o in zip(inputs, layout, strict=True))
        selects.append(select_of(replace(block, columns=columns)))
    return _union_of(rendering, selects, layout)


def _union_of(rendering: Rendering, selects: Sequence[exp.Expr], variables: tuple[Variable, ...]) -> Block:
    tree = selects[0]
    for select in selects[1:]:
        tree = exp.Union(this=tree, expression=select, distinct=False)
    alias = exp.TableAlias(this=name(rendering.alias()))
    return Block(exp.Subquery(this=tree, alias=alias), variables)

"""Where exchanges go, which handle each fragment gets, and what must hold of every SubPlan."""

from __future__ import annotations

import pytest

from coordinator.fragmenter.fragment import fragment
from shared.errors import ErrorCode, ProcessionError
from shared.plan import nodes
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Constant, Signature, StaticFunctionHandle, Variable
from shared.plan.fragment import SubPlan, decode_fragment, encode_fragment
from shared.plan.nodes import (
    Aggregation,
    AggregationNode,
    EquiJoinClause,
    GroupingSets,
    JoinNode,
    LimitNode,
    Ordering,
    OrderingScheme,
    OutputNode,
    PlanNode,
    SemiJoinNode,
    SortNode,
    TableHandle,
    TableScanNode,
    TopNNode,
    ValuesNode,
    WindowNode,
    WindowSpecification,
)
from shared.plan.traversal import output_variables, walk
from shared.spi.session import Session

SESSION = Session(user="t")
COUNT = Call(
    displayName="count",
    functionHandle=StaticFunctionHandle(
        signature=Signature(name="presto.default.count", kind="AGGREGATE", returnType="bigint")
    ),
    returnType="bigint",
    arguments=(),
)


def variable(name: str, kind: str = "bigint") -> Variable:
    return Variable(name=name, type=kind)


def scan(number: int, *names: str) -> TableScanNode:
    columns = tuple(variable(name) for name in names)
    return TableScanNode(
        id=str(number),
        table=TableHandle(connectorId="c", connectorHandle={"@type": "c"}),
        outputVariables=columns,
        assignments={column.key: {"@type": "c", "name": column.name} for column in columns},
    )


def output(source: PlanNode) -> OutputNode:
    columns = output_variables(source)
    return OutputNode(id="99", source=source, columnNames=tuple(c.name for c in columns), outputVariables=columns)


def cut(source: PlanNode, session: Session = SESSION) -> SubPlan:
    subplan = fragment(output(source), session)
    check(subplan)
    return subplan


def check(subplan: SubPlan) -> None:
    """Every remote source reads fragments that exist, in the layout that they give out; ids are unique."""
    fragments = {f.id: f for f in subplan.fragments()}
    assert sorted(fragments, key=int) == [str(i) for i in range(len(fragments))]
    read: list[str] = []
    ids: list[str] = []
    for f in fragments.values():
        assert decode_fragment(encode_fragment(f)) == f
        for node in walk(f.root):
            ids.append(node.id)
            assert not (isinstance(node, nodes.ExchangeNode) and node.scope != "LOCAL")
            if isinstance(node, nodes.RemoteSourceNode):
                read.extend(node.sourceFragmentIds)
                for number in node.sourceFragmentIds:
                    layout = fragments[number].partitioningScheme.outputLayout
                    assert [v.type for v in layout] == [v.type for v in node.outputVariables]
        given = {v.name for v in output_variables(f.root)}
        assert {v.name for v in f.partitioningScheme.outputLayout} <= given
    assert sorted(read, key=int) == sorted(set(fragments) - {"0"}, key=int)
    assert len(ids) == len(set(ids))


def handles(subplan: SubPlan) -> list[str]:
    """``partitioning/function`` of each fragment, by number, with that of its output."""
    found = []
    for f in sorted(subplan.fragments(), key=lambda f: int(f.id)):
        runs = f.partitioning.connectorHandle
        leaves = f.partitioningScheme.partitioning.handle.connectorHandle
        found.append(f"{runs['partitioning']}/{runs['function']} -> {leaves['partitioning']}/{leaves['function']}")
    return found


SINGLE = "SINGLE/SINGLE -> SINGLE/SINGLE"
LEAF = "SOURCE/UNKNOWN -> SINGLE/SINGLE"
TO_HASH = "SOURCE/UNKNOWN -> FIXED/HASH"
TO_ALL = "SOURCE/UNKNOWN -> FIXED/BROADCAST"
HASH = "FIXED/HASH -> SINGLE/SINGLE"


def ordering(name: str) -> OrderingScheme:
    return OrderingScheme(orderBy=(Ordering(variable=variable(name), sortOrder="ASC_NULLS_LAST"),))


def aggregation(source: PlanNode, *keys: str, global_sets: tuple[int, ...] = ()) -> AggregationNode:
    sets = GroupingSets(groupingKeys=tuple(map(variable, keys)), groupingSetCount=1, globalGroupingSets=global_sets)
    return AggregationNode(
        id="60", source=source, aggregations={"n<bigint>": Aggregation(call=COUNT)}, groupingSets=sets, step="SINGLE"
    )


def join(kind: str, *, criteria: bool = True, distribution: str | None = None) -> JoinNode:
    clauses = (EquiJoinClause(left=variable("a"), right=variable("b")),) if criteria else ()
    return JoinNode(
        id="50",
        type=kind,  # type: ignore[arg-type]
        left=scan(1, "a"),
        right=scan(2, "b"),
        criteria=clauses,
        outputVariables=(variable("a"), variable("b")),
        distributionType=distribution,  # type: ignore[arg-type]
    )


def test_values_need_one_fragment() -> None:
    one = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
    assert handles(cut(ValuesNode(id="1", outputVariables=(variable("a"),), rows=((one,),)))) == [SINGLE]


def test_a_scan_is_gathered() -> None:
    subplan = cut(scan(1, "a"))
    assert handles(subplan) == [SINGLE, LEAF]
    assert subplan.children[0].fragment.tableScanSchedulingOrder == ("1",)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (aggregation(scan(1, "a"), "a"), [SINGLE, HASH, TO_HASH]),
        (aggregation(scan(1, "a")), [SINGLE, LEAF]),
        (aggregation(scan(1, "a"), "a", global_sets=(0,)), [SINGLE, LEAF]),
        (join("INNER"), [SINGLE, HASH, TO_HASH, TO_HASH]),
        (join("FULL"), [SINGLE, HASH, TO_HASH, TO_HASH]),
        (join("INNER", distribution="REPLICATED"), [SINGLE, LEAF, TO_ALL]),
        (join("LEFT", criteria=False), [SINGLE, LEAF, TO_ALL]),
        (join("RIGHT", distribution="REPLICATED"), [SINGLE, HASH, TO_HASH, TO_HASH]),
        (join("FULL", criteria=False), [SINGLE, LEAF, LEAF]),
    ],
)
def test_handles(node: PlanNode, expected: list[str]) -> None:
    assert handles(cut(node)) == expected


def test_rows_that_are_spread_by_the_keys_stay_where_they_are() -> None:
    assert handles(cut(aggregation(join("INNER"), "a"))) == [SINGLE, HASH, TO_HASH, TO_HASH]


@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL"])
def test_an_outer_join_spreads_only_its_outer_side_by_its_key(kind: str) -> None:
    """Rows of the inner side are NULL where nothing matched, so that their key no longer says where they are."""
    inner = {"LEFT": "b", "RIGHT": "a", "FULL": "a"}[kind]
    assert handles(cut(aggregation(join(kind), inner)))[1:3] == [HASH, "FIXED/HASH -> FIXED/HASH"]


def test_session_chooses_between_join_methods() -> None:
    session = Session(user="t", properties={"join_distribution_type": "BROADCAST"})
    assert handles(cut(join("INNER"), session)) == [SINGLE, LEAF, TO_ALL]
    assert handles(cut(join("FULL"), session)) == [SINGLE, HASH, TO_HASH, TO_HASH]


def test_build_sides_are_scheduled_first() -> None:
    gathered = cut(join("FULL", criteria=False))
    assert gathered.fragment.tableScanSchedulingOrder == ()
    replicated = cut(join("INNER", distribution="REPLICATED"))
    assert replicated.children[0].fragment.tableScanSchedulingOrder == ("1",)


def test_semi_join_shows_every_task_the_whole_filtering_side() -> None:
    semi = SemiJoinNode(
        id="50",
        source=scan(1, "a"),
        filteringSource=scan(2, "b"),
        sourceJoinVariable=variable("a"),
        filteringSourceJoinVariable=variable("b"),
        semiJoinOutput=variable("m", "boolean"),
    )
    assert handles(cut(semi)) == [SINGLE, LEAF, TO_ALL]


def test_top_n_and_limit_in_two_steps() -> None:
    for node in (
        TopNNode(id="50", source=scan(1, "a"), count=3, orderingScheme=ordering("a"), step="SINGLE"),
        LimitNode(id="50", source=scan(1, "a"), count=3, step="FINAL"),
    ):
        subplan = cut(node)
        assert subplan.fragment.root.source.step == "FINAL"  # type: ignore[union-attr]
        assert subplan.children[0].fragment.root.step == "PARTIAL"  # type: ignore[union-attr]


def test_sorted_rows_are_merged() -> None:
    subplan = cut(SortNode(id="50", source=scan(1, "a"), orderingScheme=ordering("a"), isPartial=False))
    merge = subplan.fragment.root.source  # type: ignore[union-attr]
    assert isinstance(merge, nodes.RemoteSourceNode)
    assert (merge.ensureSourceOrdering, merge.orderingScheme) == (True, ordering("a"))
    assert subplan.children[0].fragment.root.isPartial  # type: ignore[union-attr]


@pytest.mark.parametrize(("keys", "expected"), [(("a",), [SINGLE, HASH, TO_HASH]), ((), [SINGLE, LEAF])])
def test_windows_by_their_partition(keys: tuple[str, ...], expected: list[str]) -> None:
    specification = WindowSpecification(partitionBy=tuple(map(variable, keys)))
    assert (
        handles(cut(WindowNode(id="50", source=scan(1, "a"), specification=specification, windowFunctions={})))
        == expected
    )


def test_too_many_stages() -> None:
    session = Session(user="t", properties={"query_max_stage_count": "3"})
    with pytest.raises(ProcessionError) as caught:
        cut(join("INNER"), session)
    assert caught.value.code is ErrorCode.QUERY_HAS_TOO_MANY_STAGES
    assert caught.value.message == "Number of stages in the query (4) exceeds the allowed maximum (3)"

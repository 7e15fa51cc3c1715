"""Every node of Presto's wire as the Velox plan that Presto C++ makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from sidecar.messages import Format

Convert = Callable[..., str]


@pytest.fixture
def t(plans: SimpleNamespace) -> SimpleNamespace:
    """A table s.t(a bigint, b varchar, c double), and its columns."""
    a, b, c = plans.var("a"), plans.var("b", "varchar(10)"), plans.var("c", "double")
    r = plans.scan(plans.var("k"), plans.var("v", "varchar"), node_id="r")
    return SimpleNamespace(a=a, b=b, c=c, k=plans.var("k"), v=plans.var("v", "varchar"), s=plans.scan(a, b, c), r=r)


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_scan_and_output(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    root = plans.node(".OutputNode", "2", t.s, columnNames=["x", "y"], outputVariables=[t.a, t.b])
    assert lines(convert(plans.fragment(root))) == [
        "-- PartitionedOutput[2][SINGLE Presto] -> a:BIGINT, b:VARCHAR",
        "  -- TableScan[0][table: s.t] -> a:BIGINT, b:VARCHAR, c:DOUBLE",
    ]


def test_filter_and_project(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    predicate = plans.op("greater_than", "boolean", t.a, plans.const(5))
    root = plans.project(plans.filter_(t.s, predicate), "2", x=plans.op("add", "bigint", t.a, plans.const(1)), b=t.b)
    text = lines(convert(plans.fragment(root, [plans.var("x")])))
    assert text[0] == "-- PartitionedOutput[root.2][SINGLE Presto] -> x:BIGINT"
    assert text[1] == '  -- Project[2][expressions: (x:BIGINT, plus("a",1)), (b:VARCHAR, "b")] -> x:BIGINT, b:VARCHAR'
    assert text[2].startswith('    -- Filter[1][expression: gt("a",5)]')


@pytest.mark.parametrize("step", ["SINGLE", "PARTIAL", "FINAL"])
def test_aggregation_steps(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, step: str) -> None:
    entry = {"call": plans.call("sum", "bigint", t.a, kind="AGGREGATE"), "distinct": False}
    root = aggregation(plans, t.s, [t.b], {"s<bigint>": entry}, step)
    assert f'Aggregation[3][{step} [b] s := sum("a")]' in convert(plans.fragment(root, [t.b]))


def aggregation(
    plans: SimpleNamespace, source: Any, keys: list[Any], entries: dict[str, Any], step: str = "SINGLE", **more: Any
) -> Any:
    sets = {"groupingKeys": keys, "groupingSetCount": 1, "globalGroupingSets": []} | more.pop("sets", {})
    return plans.node(
        ".AggregationNode",
        "3",
        source,
        aggregations=entries,
        groupingSets=sets,
        preGroupedVariables=[],
        step=step,
        **more,
    )


def test_aggregation_mask_distinct_order(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    m = plans.var("m", "boolean")
    source = plans.project(t.s, a=t.a, c=t.c, m=plans.op("equal", "boolean", t.a, plans.const(1)))
    entries = {
        "n<bigint>": {"call": plans.call("count", "bigint", t.a, kind="AGGREGATE"), "distinct": True, "mask": m},
        "g<array(bigint)>": {
            "call": plans.call("array_agg", "array(bigint)", t.a, kind="AGGREGATE"),
            "distinct": False,
            "orderBy": plans.ordering(t.c, order="DESC_NULLS_FIRST"),
        },
    }
    text = convert(plans.fragment(aggregation(plans, source, [], entries)))
    assert 'n := count("a") distinct mask: m' in text
    assert 'g := array_agg("a") ORDER BY c DESC NULLS FIRST' in text


def test_group_id_with_global_sets(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    a1, gid = plans.var("a1"), plans.var("gid")
    source = plans.node(
        plans.ENGINE + "GroupIdNode",
        "2",
        t.s,
        groupingSets=[[a1], []],
        groupingColumns={"a1<bigint>": t.a},
        aggregationArguments=[t.c],
        groupIdVariable=gid,
    )
    entries = {"s<double>": {"call": plans.call("sum", "double", t.c, kind="AGGREGATE"), "distinct": False}}
    sets = {"groupingSetCount": 2, "globalGroupingSets": [1]}
    root = aggregation(plans, source, [a1, gid], entries, sets=sets, groupIdVariable=gid)
    made = json.loads(convert(plans.fragment(root), Format.JSON))["sources"][0]
    assert made["globalGroupingSets"] == [1]
    assert made["groupId"]["fieldName"] == "gid"
    assert made["sources"][0]["groupingSets"] == [["a1"], []]


JOIN_OUTPUT = "a:BIGINT, v:VARCHAR"


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_hash_joins(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, kind: str) -> None:
    condition = plans.op("not_equal", "boolean", t.b, t.v)
    root = join(plans, t, kind, [{"left": t.a, "right": t.k}], filter=condition)
    assert f'HashJoin[4][{kind} a=k, filter: neq("b","v")] -> {JOIN_OUTPUT}' in convert(plans.fragment(root))


def join(
    plans: SimpleNamespace, t: SimpleNamespace, kind: str, criteria: list[Any], tag: str = ".JoinNode", **more: Any
) -> Any:
    return plans.node(tag, "4", type=kind, left=t.s, right=t.r, criteria=criteria, outputVariables=[t.a, t.v], **more)


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_joins_without_keys_are_nested_loops(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, kind: str
) -> None:
    condition = plans.op("less_than", "boolean", t.a, t.k)
    text = convert(plans.fragment(join(plans, t, kind, [], filter=condition)))
    assert f"NestedLoopJoin[4][{kind}, joinCondition: lt(" in text


def test_cross_join(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    assert f"NestedLoopJoin[4][INNER] -> {JOIN_OUTPUT}" in convert(plans.fragment(join(plans, t, "INNER", [])))


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_spatial_join_is_a_nested_loop(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, kind: str) -> None:
    condition = plans.op("less_than", "boolean", t.a, t.k)
    root = plans.node(
        ".SpatialJoinNode",
        "4",
        type=kind,
        left=t.s,
        right=t.r,
        outputVariables=[t.a, t.v],
        filter=condition,
        distributionType="REPLICATED",
    )
    assert f"NestedLoopJoin[4][{kind}, joinCondition: lt(" in convert(plans.fragment(root))


def test_merge_join(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    root = join(plans, t, "INNER", [{"left": t.a, "right": t.k}], ".MergeJoinNode")
    assert "MergeJoin[4][INNER a=k]" in convert(plans.fragment(root))


def semi(plans: SimpleNamespace, t: SimpleNamespace) -> Any:
    return plans.node(
        ".SemiJoinNode",
        "5",
        t.s,
        filteringSource=t.r,
        sourceJoinVariable=t.a,
        filteringSourceJoinVariable=t.k,
        semiJoinOutput=plans.var("m", "boolean"),
    )


def test_semi_join_projects_its_flag(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    text = convert(plans.fragment(semi(plans, t)))
    assert "HashJoin[5][LEFT SEMI (PROJECT) a=k, null aware] -> a:BIGINT, b:VARCHAR, c:DOUBLE, m:BOOLEAN" in text


@pytest.mark.parametrize(("negated", "join"), [(False, "LEFT SEMI (FILTER) a=k]"), (True, "ANTI a=k, null aware]")])
def test_filtered_semi_join(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, negated: bool, join: str
) -> None:
    flag = plans.var("m", "boolean")
    predicate = plans.call("not", "boolean", flag) if negated else flag
    text = convert(plans.fragment(plans.filter_(semi(plans, t), predicate, "6"), [t.a, flag]))
    assert f"HashJoin[5][{join}" in text
    assert f"(m:BOOLEAN, {'false' if negated else 'true'})" in lines(text)[1]
    assert "Filter[" not in text


def test_limits_and_sorts(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    order = plans.ordering(t.a, t.b, order="DESC_NULLS_LAST")
    plan = plans.node(".SortNode", "1", t.s, orderingScheme=order, isPartial=True)
    plan = plans.node(".TopNNode", "2", plan, count=7, orderingScheme=order, step="PARTIAL")
    plan = plans.node(".LimitNode", "3", plan, count=5, step="FINAL")
    plan = plans.node(".DistinctLimitNode", "4", plan, limit=3, partial=False, distinctVariables=[t.b], timeoutMillis=0)
    plan = plans.node(plans.ENGINE + "EnforceSingleRowNode", "5", plan)
    assert [line.strip().split(" -> ")[0] for line in lines(convert(plans.fragment(plan, [t.b])))[1:-1]] == [
        "-- EnforceSingleRow[5][]",
        "-- Limit[4.limit][3]",
        "-- Aggregation[4][SINGLE [b] ]",
        "-- Limit[3][5]",
        "-- TopN[2][PARTIAL 7 a DESC NULLS LAST, b DESC NULLS LAST]",
        "-- OrderBy[1][PARTIAL a DESC NULLS LAST, b DESC NULLS LAST]",
    ]


def test_marks_ids_and_numbers(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    plan = plans.node(".MarkDistinctNode", "1", t.s, markerVariable=plans.var("m", "boolean"), distinctVariables=[t.a])
    plan = plans.node(plans.ENGINE + "AssignUniqueId", "2", plan, idVariable=plans.var("u"))
    plan = plans.node(
        plans.ENGINE + "RowNumberNode",
        "3",
        plan,
        partitionBy=[t.b],
        rowNumberVariable=plans.var("rn"),
        maxRowCountPerPartition=2,
        partial=False,
    )
    text = convert(plans.fragment(plan, [t.a]))
    assert "RowNumber[3][partition by (b) limit 2]" in text
    assert "AssignUniqueId[2]" in text
    assert "MarkDistinct[1][a]" in text
    assert "m:BOOLEAN, u:BIGINT, rn:BIGINT" in text


@pytest.mark.parametrize("tag", ["com.facebook.presto.sql.planner.plan.TopNRowNumberNode", ".TopNRowNumberNode"])
@pytest.mark.parametrize("partial", [True, False])
def test_top_n_row_number(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, tag: str, partial: bool
) -> None:
    text = convert(plans.fragment(top_n_row_number(plans, t, tag, t.c, partial=partial), [t.a]))
    assert "TopNRowNumber[2][partition by (b) order by (c ASC NULLS LAST) limit 3]" in text
    assert ("rn:BIGINT" in text) is not partial


def top_n_row_number(plans: SimpleNamespace, t: SimpleNamespace, tag: str, by: Any, **more: Any) -> Any:
    fields = {
        "specification": {"partitionBy": [t.b], "orderingScheme": plans.ordering(by)},
        "rowNumberVariable": plans.var("rn"),
        "maxRowCountPerPartition": 3,
        "partial": False,
    }
    return plans.node(tag, "2", t.s, **(fields | more))


def test_top_n_row_number_sorted_by_its_partition_is_row_number(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert
) -> None:
    root = top_n_row_number(plans, t, ".TopNRowNumberNode", t.b)
    assert "RowNumber[2][partition by (b) limit 3]" in convert(plans.fragment(root, [t.a]))


def window(plans: SimpleNamespace, t: SimpleNamespace, function: Any, frame: dict[str, Any], order: Any = None) -> Any:
    specification = {"partitionBy": [t.b], "orderingScheme": plans.ordering(*(order or (t.b, t.a)))}
    entry = {"functionCall": function, "frame": frame, "ignoreNulls": False}
    name = f"w<{function['returnType']}>"
    return plans.node(".WindowNode", "2", t.s, specification=specification, windowFunctions={name: entry})


FRAMES = [
    ("RANGE", "UNBOUNDED_PRECEDING", "CURRENT_ROW", "RANGE between UNBOUNDED PRECEDING and CURRENT ROW"),
    ("ROWS", "UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "ROWS between UNBOUNDED PRECEDING and UNBOUNDED FOLLOWING"),
]


@pytest.mark.parametrize(("kind", "start", "end", "shown"), FRAMES)
@pytest.mark.parametrize("name", ["row_number", "rank", "cume_dist", "count"])
def test_windows(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, kind: str, start: str, end: str, shown: str, name: str
) -> None:
    returns = "double" if name == "cume_dist" else "bigint"
    function = plans.call(name, returns, kind="WINDOW")
    text = convert(
        plans.fragment(window(plans, t, function, {"type": kind, "startType": start, "endType": end}), [t.a])
    )
    # b is a partition key, so it is no sort key
    assert f"partition by [b] order by [a ASC NULLS LAST] w := {name}() {shown}" in text


def test_window_frame_with_a_column(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    frame = {"type": "ROWS", "startType": "PRECEDING", "startValue": t.a, "endType": "CURRENT_ROW"}
    text = convert(plans.fragment(window(plans, t, plans.call("sum", "double", t.c), frame), [t.a]))
    assert "ROWS between a PRECEDING and CURRENT ROW" in text


def test_unnest(plans: SimpleNamespace, convert: Convert) -> None:
    x, arr, mp = plans.var("x"), plans.var("arr", "array(bigint)"), plans.var("mp", "map(varchar,double)")
    root = plans.node(
        ".UnnestNode",
        "1",
        plans.scan(x, arr, mp),
        replicateVariables=[x],
        unnestVariables={
            "arr<array(bigint)>": [plans.var("e")],
            "mp<map(varchar,double)>": [plans.var("mk", "varchar"), plans.var("mv", "double")],
        },
        ordinalityVariable=plans.var("o"),
    )
    assert "Unnest[1][arr, mp] -> x:BIGINT, e:BIGINT, mk:VARCHAR, mv:DOUBLE, o:BIGINT" in convert(
        plans.fragment(root, [x])
    )


def test_unnest_takes_rows_apart(plans: SimpleNamespace, convert: Convert) -> None:
    rows = plans.var("rows", "array(row(p bigint,q varchar))")
    p, q = plans.var("p1"), plans.var("q1", "varchar")
    root = plans.node(
        ".UnnestNode", "1", plans.scan(rows), replicateVariables=[], unnestVariables={plans.key(rows): [p, q]}
    )
    text = convert(plans.fragment(root, [p, q]))
    assert "Project[1.fields]" in text
    assert lines(text)[0].endswith("-> p1:BIGINT, q1:VARCHAR")


def values(plans: SimpleNamespace, columns: list[Any], rows: list[list[Any]]) -> Any:
    return plans.node(".ValuesNode", "7", outputVariables=columns, rows=rows)


def test_values(plans: SimpleNamespace, convert: Convert) -> None:
    columns = [plans.var("x"), plans.var("y", "varchar(1)")]
    rows = [[plans.const(i), plans.const("a" if i else None, "varchar(1)")] for i in range(3)]
    for count in range(4):
        text = convert(plans.fragment(values(plans, columns, rows[:count]), columns))
        vectors = 1 if count else 0
        assert lines(text)[1:] == [f"  -- Values[7][{count} rows in {vectors} vectors] -> x:BIGINT, y:VARCHAR"]
    made = json.loads(convert(plans.fragment(values(plans, columns, rows), columns), Format.JSON))["sources"][0]
    assert [[e["value"]["value"] for e in row] for row in made["projections"]] == [[0, None], [1, "a"], [2, "a"]]


def test_values_of_nested_constants_and_of_calls(plans: SimpleNamespace, convert: Convert) -> None:
    columns = [plans.var("x", "array(bigint)"), plans.var("y")]
    total = plans.op("add", "bigint", plans.const(1), plans.const(2))
    rows = [[plans.const((1, 2), "array(bigint)"), plans.const(1)], [plans.const((3,), "array(bigint)"), total]]
    for count in (1, 2):
        text = convert(plans.fragment(values(plans, columns, rows[:count]), columns))
        assert f"Values[7][{count} rows in 1 vectors]" in text


CONSTANTS: list[tuple[Any, str]] = [
    (1, "tinyint"),
    (1.5, "real"),
    (float("nan"), "double"),
    (True, "boolean"),
    (b"\0\xff", "varbinary"),
    (None, "unknown"),
    ("{}", "json"),
]


@pytest.mark.parametrize(("value", "type_text"), CONSTANTS)
def test_values_of_types(plans: SimpleNamespace, convert: Convert, value: Any, type_text: str) -> None:
    columns = [plans.var("x", type_text)]
    rows = [[plans.const(value, type_text)]] * 2
    for form in (Format.TEXT, Format.JSON, Format.GRAPHVIZ):
        assert convert(plans.fragment(values(plans, columns, rows), columns), form)


def test_remote_sources(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    fields: dict[str, Any] = {"sourceFragmentIds": ["2"], "outputVariables": [t.a, t.b], "ensureSourceOrdering": False}
    tag = plans.ENGINE + "RemoteSourceNode"
    root = plans.node(tag, "8", exchangeType="GATHER", encoding="ROW_WISE", **fields)
    assert "Exchange[8][CompactRow] -> a:BIGINT, b:VARCHAR" in convert(plans.fragment(root, [t.a]))
    root = plans.node(
        tag, "8", exchangeType="GATHER", encoding="COLUMNAR", orderingScheme=plans.ordering(t.a), **fields
    )
    assert "MergeExchange[8][a ASC NULLS LAST, Presto]" in convert(plans.fragment(root, [t.a]))


def test_local_exchanges(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    x = plans.var("x")
    both = [(t.s, [t.a]), (t.r, [t.k])]
    gather = plans.local_exchange("GATHER", plans.handle("SINGLE", "SINGLE"), [x], *both)
    text = convert(plans.fragment(gather, [x]))
    assert "LocalPartition[9][GATHER] -> x:BIGINT" in text
    assert 'Project[9.0][expressions: (x:BIGINT, "a")]' in text
    assert 'Project[9.1][expressions: (x:BIGINT, "k")]' in text
    hashed = plans.local_exchange("REPARTITION", plans.handle("FIXED", "HASH"), [x], *both, arguments=[x])
    assert "LocalPartition[9][REPARTITION HASH(x)]" in convert(plans.fragment(hashed, [x]))
    robin = plans.local_exchange("REPARTITION", plans.handle("FIXED", "ROUND_ROBIN"), [x], *both)
    assert "LocalPartition[9][REPARTITION ROUND ROBIN]" in convert(plans.fragment(robin, [x]))
    merge = plans.local_exchange(
        "GATHER", plans.handle("FIXED", "UNKNOWN"), [x], *both, orderingScheme=plans.ordering(x)
    )
    assert "LocalMerge[9][x ASC NULLS LAST]" in convert(plans.fragment(merge, [x]))


OUTPUTS = [
    ("SINGLE", "SINGLE", None, "[SINGLE Presto]"),
    ("FIXED", "HASH", None, "[SINGLE Presto]"),
    ("FIXED", "HASH", [0, 1, 2], "HASH(a) with 3 partitions Presto]"),
    ("FIXED", "ROUND_ROBIN", [0, 1], "ROUND ROBIN with 2 partitions Presto]"),
    ("FIXED", "BROADCAST", None, "[BROADCAST Presto]"),
    ("SCALED", "ROUND_ROBIN", None, "[ARBITRARY Presto]"),
]


@pytest.mark.parametrize(("partitioning", "function", "buckets", "shown"), OUTPUTS)
def test_outputs(
    plans: SimpleNamespace,
    t: SimpleNamespace,
    convert: Convert,
    partitioning: str,
    function: str,
    buckets: list[int] | None,
    shown: str,
) -> None:
    arguments = [t.a] if function == "HASH" else []
    more = {} if buckets is None else {"bucketToPartition": buckets}
    scheme = plans.scheme(plans.handle(partitioning, function), [t.a], *arguments, **more)
    assert shown in lines(convert(plans.fragment(t.s, [t.a], scheme)))[0]


@pytest.mark.parametrize(
    "constant", [(7, "bigint"), (None, "bigint"), ("x" * 30, "varchar"), (None, "varchar"), ((1,), "array(bigint)")]
)
def test_hash_output_over_constants_that_crash_velox(
    plans: SimpleNamespace, t: SimpleNamespace, convert: Convert, constant: tuple[Any, str]
) -> None:
    handle = plans.handle("FIXED", "HASH")
    for arguments in ([t.a, plans.const(*constant)], [plans.const(*constant)]):
        scheme = plans.scheme(handle, [t.a], *arguments, bucketToPartition=[0, 1])
        assert "with 2 partitions" in convert(plans.fragment(t.s, [t.a], scheme))


def test_buckets_of_a_connector(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    handle = {"connectorId": "hive", "connectorHandle": {"@type": "hive", "bucketCount": 4}}
    scheme = plans.scheme(handle, [t.a], t.a, bucketToPartition=[0, 1, 0, 1])
    assert "HIVE((0) buckets: 4) with 2 partitions" in convert(plans.fragment(t.s, [t.a], scheme))
    # Without a map of its buckets a stage writes one partition.
    assert "[SINGLE Presto]" in convert(plans.fragment(t.s, [t.a], plans.scheme(handle, [t.a], t.a)))


def test_sample_vanishes(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    root = plans.node(plans.ENGINE + "SampleNode", "1", t.s, sampleRatio=0.5, sampleType="BERNOULLI")
    assert "TableScan[0]" in lines(convert(plans.fragment(root, [t.a])))[1]


def test_table_writer_merge(plans: SimpleNamespace, convert: Convert) -> None:
    row = [plans.var("rows"), plans.var("fragments", "varbinary"), plans.var("context", "varbinary")]
    names = ("rowCountVariable", "fragmentVariable", "tableCommitContextVariable")
    root = plans.node(
        plans.ENGINE + "TableWriterMergeNode", "1", plans.scan(*row), **dict(zip(names, row, strict=True))
    )
    assert "TableWriteMerge[1]" in convert(plans.fragment(root, row))


def test_domains_become_filters(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    def marker(bound: str, value: Any, type_text: str) -> dict[str, Any]:
        block = {} if value is None else {"valueBlock": plans.const(value, type_text)["valueBlock"]}
        return {"type": type_text, "bound": bound, **block}

    def domain(column: str, type_text: str, *ranges: tuple[Any, Any], nulls: bool = False) -> dict[str, Any]:
        made = [
            {
                "low": marker("EXACTLY" if low is not None else "ABOVE", low, type_text),
                "high": marker("EXACTLY" if high is not None else "BELOW", high, type_text),
            }
            for low, high in ranges
        ]
        values = {"@type": "sortable", "type": type_text, "ranges": made}
        return {"column": column, "domain": {"values": values, "nullAllowed": nulls}}

    domains = [
        domain("a", "bigint", (1, 5)),
        domain("a2", "bigint", (1, 1), (9, 9)),
        domain("a3", "bigint", (1, 3), (7, None), nulls=True),
        domain("b", "varchar", ("x", "x"), ("y", "y")),
        domain("b2", "varchar", ("x", None)),
        domain("b3", "varchar", (None, "b"), ("x", None)),
        domain("c", "double", (None, 2.5)),
        domain("c2", "double", (float("inf"), None)),
        domain("c3", "real", (float("-inf"), float("inf"))),
        domain("d", "boolean", (True, True)),
        domain("e", "bigint", nulls=True),
        domain("f", "bigint", (None, None)),
        domain("g", "decimal(38,3)", (None, None), nulls=True),
    ]
    layout = {
        "domainPredicate": {"columnDomains": domains},
        "remainingPredicate": plans.op("greater_than", "boolean", t.a, plans.const(0)),
        "dataColumns": [{"name": "a", "type": "bigint"}, {"name": "m", "type": "map<string,array<int>>"}],
    }
    text = convert(plans.fragment(plans.scan(t.a, layout=layout), [t.a]))
    for expected in (
        "(a, BigintRange: [1, 5] no nulls)",
        "(a2, BigintValuesUsingHashTable: [1, 9] no nulls)",
        "(a3, BigintMultiRange: [ BigintRange: [1, 3] no nulls BigintRange: [7, 9223372036854775807] no nulls ]",
        "(b3, Filter(MultiRange",
        "(c, DoubleRange: (-inf, 2.5",
        "(c2, DoubleRange: [inf, ",
        "(c3, FloatRange: [-inf, inf]",
        "(d, Filter(BoolValue",
        "(e, Filter(IsNull,",
        "(f, Filter(IsNotNull",
        "remaining filter: (gt(",
    ):
        assert expected in text


def test_offset_is_a_limit(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    rn = plans.var("rn")
    numbered = plans.node(plans.ENGINE + "RowNumberNode", "1", t.s, partitionBy=[], rowNumberVariable=rn, partial=False)
    predicate = plans.op("greater_than", "boolean", rn, plans.const(20))
    limit = plans.node(".LimitNode", "3", plans.filter_(numbered, predicate, "2"), count=5, step="FINAL")
    robin = plans.local_exchange("REPARTITION", plans.handle("FIXED", "ROUND_ROBIN"), [t.a, rn], (limit, [t.a, rn]))
    text = lines(convert(plans.fragment(plans.project(robin, "4", a=t.a), [t.a])))
    assert [line.strip().split(" -> ")[0] for line in text[1:]] == [
        '-- Project[4][expressions: (a:BIGINT, "a")]',
        "-- Limit[3][5 offset 20]",
        "-- TableScan[0][table: s.t]",
    ]
    plain = plans.project(limit, "4", a=t.a)  # no exchange: Presto C++ keeps the row number
    assert "RowNumber[1]" in convert(plans.fragment(plain, [t.a]))


def test_iceberg_scan(plans: SimpleNamespace, convert: Convert) -> None:
    """Names come from the column identity; a column that this Velox cannot read is in nobody's way until it is read."""
    renamed = plans.var("a_1", "bigint")
    scan = plans.scan(renamed)
    scan["table"]["connectorHandle"] = {
        "@type": "iceberg",
        "schemaName": "db",
        "icebergTableName": {"tableName": "t", "tableType": "DATA", "snapshotId": 7156048221450560473},
    }
    scan["table"]["connectorTableLayout"] = {
        "@type": "iceberg",
        "domainPredicate": {"columnDomains": []},
        "dataColumns": [
            {"name": "a", "type": "bigint"},
            {"name": "t", "type": "time"},
            {"name": "s", "type": "struct<x y:int,z:struct<w:string>>"},
            {"name": "z", "type": "timestamp with local time zone"},
        ],
    }
    scan["assignments"] = {
        "a_1<bigint>": {
            "@type": "iceberg",
            "columnIdentity": {"id": 1, "name": "a", "typeCategory": "PRIMITIVE", "children": []},
            "type": "bigint",
            "columnType": "PARTITION_KEY",
            "requiredSubfields": [],
        }
    }
    body = plans.fragment(scan, [renamed])
    assert "TableScan[0][table: db.t, data columns: ROW<a:BIGINT,s:ROW<" in convert(body)
    (assigned,) = json.loads(convert(body, Format.JSON))["sources"][0]["assignments"]
    assert assigned["assign"] == "a_1"
    assert assigned["columnHandle"]["hiveColumnHandleName"] == "a"
    assert assigned["columnHandle"]["columnType"] == "PartitionKey"


def test_deep_plans_are_cut_and_spliced(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    plan = t.s
    for i in range(1, 201):
        plan = plans.node(".LimitNode", f"l{i}", plan, count=i, step="FINAL")
    body = plans.fragment(plan, [t.a])
    text = lines(convert(body))
    assert [line.strip().split("[")[1].rstrip("]") for line in text[1:-1]] == [f"l{i}" for i in range(200, 0, -1)]
    assert [len(line) - len(line.lstrip()) for line in text] == [2 * i for i in range(202)]
    assert convert(body, Format.JSON).count('"LimitNode"') == 200
    assert "cut:" not in convert(body, Format.GRAPHVIZ)


def test_graphviz(plans: SimpleNamespace, t: SimpleNamespace, convert: Convert) -> None:
    quoted = plans.filter_(t.s, plans.op("equal", "boolean", t.b, plans.const('say "hi" \\', "varchar(10)")))
    text = convert(plans.fragment(quoted, [t.a]), Format.GRAPHVIZ)
    assert text.startswith('digraph "fragment 1" {')
    assert text.count(" -> n") == 2
    assert "\n" not in text.split('label="', 1)[1].split('"];', 1)[0]

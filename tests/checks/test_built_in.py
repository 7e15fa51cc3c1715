"""Each built-in check accepts what a real Presto coordinator planned and refuses one seeded fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.checks.built_in import (
    call_distributed_procedure_validator,
    check_unsupported_external_functions,
    check_unsupported_prestissimo_types,
    dynamic_filters_checker,
    no_duplicate_plan_node_ids,
    type_validator,
    validate_aggregations_with_default_values,
    validate_dependencies,
    validate_streaming_aggregations,
    validate_streaming_joins,
    verify_local_exchange,
    verify_no_filtered_aggregations,
    verify_no_intermediate_form_expression,
    verify_no_unresolved_symbol_expression,
    verify_only_one_output_node,
    verify_projection_locality,
)
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import (
    Call,
    Constant,
    Lambda,
    RestFunctionHandle,
    Signature,
    SourceLocation,
    SpecialForm,
    StaticFunctionHandle,
    Variable,
)
from shared.plan.fragment import SimplePlanFragment, SubPlan
from shared.plan.nodes import (
    AggregationNode,
    Assignments,
    AssignUniqueId,
    CallDistributedProcedureNode,
    ExchangeNode,
    FilterNode,
    JoinNode,
    Ordering,
    OrderingScheme,
    OutputNode,
    PlanNode,
    ProjectNode,
    SortNode,
    TableHandle,
    TableScanNode,
    ValuesNode,
)
from shared.plan.traversal import rewrite_bottom_up, walk

A = Variable(name="a", type="bigint", sourceLocation=SourceLocation(1, 8))
B = Variable(name="b", type="varchar(3)")
ONE = Constant(valueBlock=encode_constant(1, "bigint"), type="bigint")
TRUE = Constant(valueBlock=encode_constant(True, "boolean"), type="boolean")
VALUES = ValuesNode(id="0", outputVariables=(A,), rows=((ONE,),))


def output(source: PlanNode, *variables: Variable) -> OutputNode:
    return OutputNode(id="9", source=source, columnNames=tuple(v.name for v in variables), outputVariables=variables)


def negate(argument: Any) -> Call:
    signature = Signature(
        name="presto.default.$operator$negation", kind="SCALAR", returnType="bigint", argumentTypes=("bigint",)
    )
    return Call(
        displayName="NEGATION",
        functionHandle=StaticFunctionHandle(signature=signature),
        returnType="bigint",
        arguments=(argument,),
    )


def refused(check: Callable[..., None], *arguments: Any) -> ProcessionError:
    with pytest.raises(ProcessionError) as caught:
        check(*arguments)
    return caught.value


@pytest.mark.parametrize(
    "check",
    [
        validate_dependencies.check,
        no_duplicate_plan_node_ids.check,
        verify_no_unresolved_symbol_expression.check,
        verify_no_filtered_aggregations.check,
        verify_no_intermediate_form_expression.check,
        validate_streaming_aggregations.check,
        validate_streaming_joins.check,
        verify_local_exchange.check,
        check_unsupported_external_functions.check,
        dynamic_filters_checker.check,
    ],
)
def test_real_fragments_pass(check: Callable[[PlanNode], None], captured: list[dict[str, Any]]) -> None:
    for entry in captured:
        check(entry["fragment"].root)


def test_types_of_real_fragments(captured: list[dict[str, Any]]) -> None:
    """All pass but the writers that Presto's native checker swapped for constants of another type."""
    for entry in captured:
        swapped = entry["via"] == ["checker"] and '"commitcontext<varbinary>"' in str(entry["body"]).replace("'", '"')
        if swapped:
            error = refused(type_validator.check, entry["fragment"].root)
            assert error.message == (
                "type of variable 'fragments' is expected to be varbinary, but the actual type is varchar"
            )
        else:
            type_validator.check(entry["fragment"].root)


def test_subplans_of_real_statements_pass(captured: list[dict[str, Any]]) -> None:
    statements: dict[tuple[str, str], dict[str, SimplePlanFragment]] = {}
    for entry in captured:
        statements.setdefault((entry["mode"], entry["query"]), {})[entry["fragment"].id] = entry["fragment"]
    for fragments in statements.values():
        first, *rest = fragments.values()
        validate_aggregations_with_default_values.check(SubPlan(first, tuple(SubPlan(f) for f in rest)))


def test_localities_of_real_fragments(captured: list[dict[str, Any]]) -> None:
    """All are LOCAL but the projections that Presto's native checker puts in place of writers."""
    for entry in captured:
        if '"locality":"UNKNOWN"' in json.dumps(entry["body"], separators=(",", ":")):
            assert entry["via"] == ["checker"]
            error = refused(verify_projection_locality.check, entry["fragment"].root)
            assert error.message == "ProjectNode should have locality LOCAL or REMOTE"
        else:
            verify_projection_locality.check(entry["fragment"].root)


def remote(argument: Any) -> Call:
    handle = RestFunctionHandle(functionId="remote.default.f;bigint", version="1")
    return Call(displayName="f", functionHandle=handle, returnType="bigint", arguments=(argument,))


@pytest.mark.parametrize(
    ("locality", "expression", "problem"),
    [
        ("LOCAL", remote(A), "ProjectNode with LOCAL locality has remote functions"),
        ("LOCAL", negate(remote(A)), "ProjectNode with LOCAL locality has remote functions"),
        ("REMOTE", negate(A), "Expect expression NEGATION to be an external function"),
        ("REMOTE", ONE, "Expect VariableReferenceExpression or CallExpression, got Constant"),
        ("UNKNOWN", A, "ProjectNode should have locality LOCAL or REMOTE"),
        ("LOCAL", negate(A), None),
        ("REMOTE", remote(A), None),
        ("REMOTE", A, None),
    ],
)
def test_projection_locality(locality: str, expression: Any, problem: str | None) -> None:
    assignments = Assignments(assignments={"x<bigint>": expression})
    plan = ProjectNode(id="1", source=VALUES, assignments=assignments, locality=locality)
    if problem is None:
        verify_projection_locality.check(plan)
    else:
        error = refused(verify_projection_locality.check, plan)
        assert (error.code, error.message) == (ErrorCode.INVALID_PLAN_ERROR, problem)


def test_remote_functions_stand_in_projections_only() -> None:
    condition = Call(
        displayName="g",
        functionHandle=RestFunctionHandle(functionId="remote.default.g;bigint", version="1"),
        returnType="boolean",
        arguments=(A,),
        sourceLocation=SourceLocation(3, 7),
    )
    error = refused(check_unsupported_external_functions.check, FilterNode(id="1", source=VALUES, predicate=condition))
    assert (error.code, error.location) == (ErrorCode.INVALID_PLAN_ERROR, ErrorLocation(3, 7))
    join = JoinNode(id="2", type="LEFT", left=VALUES, right=VALUES, criteria=(), outputVariables=(A,), filter=condition)
    error = refused(check_unsupported_external_functions.check, join)
    assert (error.code, error.location) == (ErrorCode.NOT_SUPPORTED, ErrorLocation(3, 7))
    check_unsupported_external_functions.check(replace(join, filter=TRUE))


def test_local_merging_exchanges(captured: list[dict[str, Any]]) -> None:
    (merging, *_) = (
        node
        for entry in captured
        for node in walk(entry["fragment"].root)
        if isinstance(node, ExchangeNode) and node.scope == "LOCAL" and node.orderingScheme is not None
    )
    verify_local_exchange.check(merging)
    partitioning = merging.partitioningScheme.partitioning
    handle = replace(partitioning.handle, connectorHandle={"@type": "$remote", "partitioning": "SINGLE"})
    scheme = replace(merging.partitioningScheme, partitioning=replace(partitioning, handle=handle))
    error = refused(verify_local_exchange.check, replace(merging, partitioningScheme=scheme))
    assert error.message == "local merging exchange requires passthrough distribution"


def waiting_for(name: str, source: PlanNode = VALUES) -> FilterNode:
    identifier = Constant(valueBlock=encode_constant(name, "varchar"), type="varchar")
    signature = Signature(
        name="presto.default.$internal$dynamic_filter_function",
        kind="SCALAR",
        returnType="boolean",
        argumentTypes=("bigint", "varchar"),
    )
    call = Call(
        displayName="DYNAMIC_FILTER",
        functionHandle=StaticFunctionHandle(signature=signature),
        returnType="boolean",
        arguments=(A, identifier),
    )
    return FilterNode(id="5", source=source, predicate=call)


def promising(left: PlanNode, right: PlanNode, *names: str) -> JoinNode:
    return JoinNode(
        id="6",
        type="INNER",
        left=left,
        right=right,
        criteria=(),
        outputVariables=(A,),
        dynamicFilters=dict.fromkeys(names, A),
    )


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (promising(waiting_for("x"), VALUES, "x"), None),
        (promising(promising(waiting_for("x", waiting_for("y")), VALUES, "x"), VALUES, "y"), None),
        (promising(VALUES, VALUES, "x"), "Dynamic filters ['x'] present in join were not fully consumed by its probe"),
        (promising(waiting_for("x"), waiting_for("x"), "x"), "were consumed by its build side"),
        (promising(waiting_for("x"), VALUES), "All consumed dynamic filters could not be matched with a join."),
    ],
)
def test_dynamic_filters_reach_their_probe_side(plan: PlanNode, problem: str | None) -> None:
    if problem is None:
        dynamic_filters_checker.check(output(plan, A))
    else:
        assert problem in refused(dynamic_filters_checker.check, output(plan, A)).message


def test_duplicate_ids() -> None:
    error = refused(no_duplicate_plan_node_ids.check, output(replace(VALUES, id="9"), A))
    assert error.message == "Generated plan contains nodes with duplicated id 9: OutputNode and ValuesNode"
    assert error.code is ErrorCode.INVALID_PLAN_ERROR


def test_missing_dependency_is_located() -> None:
    ghost = Variable(name="ghost", type="bigint", sourceLocation=SourceLocation(2, 5))
    error = refused(validate_dependencies.check, output(VALUES, A, ghost))
    assert error.message == "Invalid node. Output column dependencies (ghost) not in source plan output (a)"
    assert error.location == ErrorLocation(2, 5)


def test_same_name_of_another_type_is_missing() -> None:
    error = refused(validate_dependencies.check, output(VALUES, Variable(name="a", type="integer")))
    assert "(a) not in source plan output (a)" in error.message


def test_every_renamed_variable_of_a_real_plan_is_noticed(captured: list[dict[str, Any]]) -> None:
    """Renaming what a scan produces leaves every plan above it without its inputs."""
    seen = 0
    for entry in captured[::20]:
        fragment: SimplePlanFragment = entry["fragment"]
        scans = [n for n in walk(fragment.root) if isinstance(n, TableScanNode) and n.outputVariables]
        if not scans or fragment.root is scans[0]:
            continue
        target = scans[0]

        def rename(node: PlanNode, target: TableScanNode = target) -> PlanNode:
            if node.id != target.id:
                return node
            return replace(node, outputVariables=tuple(replace(v, name=v.name + "_x") for v in target.outputVariables))

        assert "not in" in refused(validate_dependencies.check, rewrite_bottom_up(fragment.root, rename)).message
        seen += 1
    assert seen > 5


def test_type_mismatch() -> None:
    project = ProjectNode(id="1", source=VALUES, assignments=Assignments(assignments={"b<varchar(3)>": A}))
    error = refused(type_validator.check, project)
    assert error.message == "type of variable 'b' is expected to be varchar(3), but the actual type is bigint"
    assert error.location == ErrorLocation(1, 8)


@pytest.mark.parametrize(
    ("actual", "expected", "fits"),
    [
        ("varchar(3)", "varchar(5)", True),
        ("varchar(5)", "varchar(3)", False),
        ("varchar(5)", "varchar", True),
        ("array(varchar(2))", "array(varchar)", True),
        ("decimal(12,2)", "decimal(12,3)", False),
        ("unknown", "bigint", True),
        ("row(a bigint)", "row(b bigint)", True),
        ("row(a bigint)", "row(a bigint,b bigint)", False),
    ],
)
def test_type_only_coercions(actual: str, expected: str, fits: bool) -> None:
    assert type_validator.is_type_only_coercion(actual, expected) is fits


def test_only_one_output() -> None:
    verify_only_one_output_node.check(output(VALUES, A))
    for plan in (VALUES, output(replace(output(VALUES, A), id="8"), A)):
        error = refused(verify_only_one_output_node.check, plan)
        assert error.message == "Expected plan to have single instance of OutputNode"


def test_unresolved_type() -> None:
    broken = ValuesNode(id="0", outputVariables=(Variable(name="x", type="decimal(1"),), rows=())
    assert "Unresolved symbol x" in refused(verify_no_unresolved_symbol_expression.check, broken).message


def test_stray_lambda() -> None:
    stray = Lambda(argumentTypes=("bigint",), arguments=("x",), body=ONE)
    verify_no_intermediate_form_expression.check(
        FilterNode(id="1", source=VALUES, predicate=SpecialForm(form="BIND", returnType="x", arguments=(A, stray)))
    )
    for predicate in (stray, SpecialForm(form="AND", returnType="boolean", arguments=(TRUE, stray))):
        plan = FilterNode(id="1", source=VALUES, predicate=predicate)
        assert "lambda" in refused(verify_no_intermediate_form_expression.check, plan).message


def test_unsupported_native_types() -> None:
    for type_text in ("char(3)", "array(char(3))", "map(bigint,time)"):
        plan = ValuesNode(id="0", outputVariables=(Variable(name="x", type=type_text),), rows=())
        error = refused(check_unsupported_prestissimo_types.check, plan)
        assert error.code is ErrorCode.NOT_SUPPORTED
        assert "is not supported in Prestissimo" in error.message
    check_unsupported_prestissimo_types.check(VALUES)


def _streaming(captured: list[dict[str, Any]]) -> PlanNode:
    for entry in captured:
        for node in walk(entry["fragment"].root):
            if isinstance(node, AggregationNode) and node.preGroupedVariables:
                return entry["fragment"].root
    raise AssertionError("no streaming aggregation was captured")


def test_streaming_aggregation_over_ungrouped_rows(captured: list[dict[str, Any]]) -> None:
    """A real streaming aggregation, its ordered scan swapped for rows in no order; a unique id or a sort repairs it."""
    aggregation = next(n for n in walk(_streaming(captured)) if isinstance(n, AggregationNode))
    (key,) = aggregation.preGroupedVariables
    values = ValuesNode(id="v", outputVariables=(key,), rows=())
    error = refused(validate_streaming_aggregations.check, replace(aggregation, source=values))
    assert error.message == "Streaming aggregation with input not grouped on the grouping keys"
    order = OrderingScheme(orderBy=(Ordering(variable=key, sortOrder="ASC_NULLS_LAST"),))
    for source in (
        AssignUniqueId(id="u", source=values, idVariable=key),
        SortNode(id="s", source=values, orderingScheme=order, isPartial=False),
    ):
        validate_streaming_aggregations.check(replace(aggregation, source=source))
        renamed = ProjectNode(id="p", source=source, assignments=Assignments(assignments={key.key: key}))
        validate_streaming_aggregations.check(replace(aggregation, source=renamed))
        lost = ProjectNode(id="p", source=source, assignments=Assignments(assignments={key.key: ONE}))
        refused(validate_streaming_aggregations.check, replace(aggregation, source=lost))


def test_filtered_aggregation(captured: list[dict[str, Any]]) -> None:
    root = _streaming(captured)

    def add_filter(node: PlanNode) -> PlanNode:
        if not isinstance(node, AggregationNode):
            return node
        return replace(node, aggregations={k: replace(a, filter=TRUE) for k, a in node.aggregations.items()})

    error = refused(verify_no_filtered_aggregations.check, rewrite_bottom_up(root, add_filter))
    assert error.message == "Generated plan contains unimplemented filtered aggregations"


def test_build_side_without_local_exchange(captured: list[dict[str, Any]]) -> None:
    for entry in captured:
        joins = [n for n in walk(entry["fragment"].root) if isinstance(n, JoinNode)]
        if len(joins) < 2 or not isinstance(joins[-1].right, ExchangeNode):
            continue
        last = joins[-1]
        bare = rewrite_bottom_up(
            entry["fragment"].root,
            lambda n, last=last: replace(n, right=n.right.sources[0]) if n.id == last.id else n,
        )
        error = refused(validate_streaming_joins.check, bare)
        assert error.message == f"Build side needs an additional local exchange for join: {last.id}"
        return
    raise AssertionError("no fragment with two joins was captured")


def test_default_values_need_a_gathering_exchange(captured: list[dict[str, Any]]) -> None:
    """A real grouping-sets plan, its final aggregation put right above the partial one in a spread fragment."""
    finals, partials = [], []
    for entry in captured:
        for node in walk(entry["fragment"].root):
            if not isinstance(node, AggregationNode):
                continue
            if node.groupingSets.globalGroupingSets and node.groupingSets.groupingSetCount > 1:
                (finals if node.step == "FINAL" else partials).append((entry["fragment"], node))
    (fragment, final), (_, partial) = finals[0], partials[0]
    spread = replace(fragment.partitioning, connectorHandle={"partitioning": "SOURCE"})
    joined = replace(fragment, root=replace(final, source=partial), partitioning=spread)
    error = refused(validate_aggregations_with_default_values.check, SubPlan(joined))
    assert error.message == (
        "Final aggregation with default value not separated from partial aggregation by remote hash exchange"
    )
    single = replace(joined, partitioning=replace(spread, connectorHandle={"partitioning": "SINGLE"}))
    error = refused(validate_aggregations_with_default_values.check, SubPlan(single))
    assert error.message.endswith("by local hash exchange")


def procedure_plan(layout: dict[str, Any] | None, filtered: bool) -> PlanNode:
    scan: PlanNode = TableScanNode(
        id="0",
        table=TableHandle(connectorId="iceberg", connectorHandle={"@type": "iceberg"}, connectorTableLayout=layout),
        outputVariables=(A,),
        assignments={},
    )
    if filtered:
        scan = FilterNode(id="1", source=scan, predicate=negate(A))
    variables = [Variable(name=n, type=t) for n, t in (("r", "bigint"), ("f", "varbinary"), ("c", "varbinary"))]
    call = CallDistributedProcedureNode(
        id="2",
        source=scan,
        rowCountVariable=variables[0],
        fragmentVariable=variables[1],
        tableCommitContextVariable=variables[2],
        columns=(A,),
        columnNames=("a",),
        notNullColumnVariables=(),
    )
    return output(call, variables[0])


RANGES = {"columnDomains": [{"column": "a", "domain": {}}]}
FILTER_TEXT = "Unexpected FilterNode found in plan; probably connector was not able to handle provided WHERE expression"


@pytest.mark.parametrize(
    "layout",
    [{"domainPredicate": RANGES}, {"partitionColumnPredicate": RANGES}, {"remainingPredicate": {"@type": "call"}}],
)
def test_procedure_filter_on_files_passes_in_the_final_phase_only(layout: dict[str, Any]) -> None:
    plan = procedure_plan(layout, filtered=True)
    call_distributed_procedure_validator.check((plan,), "FINAL")
    error = refused(call_distributed_procedure_validator.check, (plan,), "FRAGMENT")
    assert (error.code, error.message) == (ErrorCode.NOT_SUPPORTED, FILTER_TEXT)


@pytest.mark.parametrize(
    "layout",
    [
        None,
        {},
        {"domainPredicate": {"columnDomains": []}},
        {"remainingPredicate": {"@type": "constant", "type": "boolean", "valueBlock": TRUE.valueBlock}},
    ],
)
def test_procedure_filter_that_the_connector_dropped_is_refused(layout: dict[str, Any] | None) -> None:
    plan = procedure_plan(layout, filtered=True)
    assert refused(call_distributed_procedure_validator.check, (plan,), "FINAL").message == FILTER_TEXT
    call_distributed_procedure_validator.check((procedure_plan(layout, filtered=False),), "FRAGMENT")


def test_procedure_plan_does_nothing_else_to_rows() -> None:
    plan = procedure_plan(None, filtered=False)
    sorted_plan = rewrite_bottom_up(
        plan, lambda n: AssignUniqueId(id="7", source=n, idVariable=B) if isinstance(n, TableScanNode) else n
    )
    error = refused(call_distributed_procedure_validator.check, (sorted_plan,), "FINAL")
    assert error.message == "Unexpected AssignUniqueId found in the plan of a distributed procedure"
    filtered_query = output(FilterNode(id="1", source=VALUES, predicate=TRUE), A)
    call_distributed_procedure_validator.check((filtered_query,), "FINAL")

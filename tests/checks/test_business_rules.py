"""The rules on plans: real joins and scans, small ones around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.checks.business_rules import BusinessRulesProvider
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, SourceLocation, SpecialForm, Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import (
    Assignments,
    EnforceSingleRowNode,
    FilterNode,
    JoinNode,
    PlanNode,
    ProjectNode,
    TableHandle,
    TableScanNode,
    ValuesNode,
)
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

DAY = Variable(name="day", type="date")
PRICE = Variable(name="price", type="double")
SIX = Constant(valueBlock=encode_constant(6, "bigint"), type="bigint")


def run(plan: PlanNode, **rules: str) -> list[PrestoWarning]:
    (checker,) = BusinessRulesProvider().create({f"business-rules.{k.replace('_', '-')}": v for k, v in rules.items()})
    warnings: list[PrestoWarning] = []
    checker.validate_final(plan, Session(user="u"), warnings.append)
    return warnings


def scan(partitioned: bool = True, domains: tuple[dict[str, Any], ...] = ()) -> TableScanNode:
    handles = {
        v.key: {"@type": "iceberg", "columnIdentity": {"id": i, "name": v.name}} for i, v in enumerate((DAY, PRICE))
    }
    layout = {
        "@type": "iceberg",
        "partitionColumns": [handles[DAY.key]] if partitioned else [],
        "domainPredicate": {"columnDomains": list(domains)},
    }
    handle = {"@type": "iceberg", "schemaName": "db", "icebergTableName": {"tableName": "sales"}}
    return TableScanNode(
        id="0",
        table=TableHandle(connectorId="lake", connectorHandle=handle, connectorTableLayout=layout),
        outputVariables=(DAY, PRICE),
        assignments=handles,
        sourceLocation=SourceLocation(1, 15),
    )


def is_null(variable: Variable) -> SpecialForm:
    return SpecialForm(form="IS_NULL", returnType="boolean", arguments=(variable,))


def cross_join(right: PlanNode) -> JoinNode:
    return JoinNode(
        id="9",
        type="INNER",
        left=scan(),
        right=right,
        criteria=(),
        outputVariables=(DAY,),
        sourceLocation=SourceLocation(2, 3),
    )


def test_everything_is_off_by_default() -> None:
    assert run(cross_join(scan())) == []


def test_cross_joins() -> None:
    with pytest.raises(ProcessionError) as caught:
        run(cross_join(scan()), cross_join="veto")
    assert caught.value.code is ErrorCode.QUERY_REJECTED
    assert caught.value.message == "Cross joins are not allowed"
    assert caught.value.location == ErrorLocation(2, 3)
    (warning,) = run(cross_join(scan()), cross_join="warn")
    assert (warning.name, warning.message) == ("PERFORMANCE_WARNING", "line 2:3: Cross joins are not allowed")


def test_scalar_subqueries_and_conditions_are_no_cross_joins() -> None:
    one_row = ProjectNode(
        id="3", source=EnforceSingleRowNode(id="2", source=scan()), assignments=Assignments(assignments={})
    )
    assert run(cross_join(one_row), cross_join="veto") == []
    assert run(replace(cross_join(scan()), filter=is_null(DAY)), cross_join="veto") == []


def test_full_scans_of_partitioned_tables() -> None:
    text = "Filter on a partition column of lake.db.sales required: day"
    with pytest.raises(ProcessionError) as caught:
        run(scan(), full_scan_of_partitioned_table="veto")
    assert (caught.value.message, caught.value.location) == (text, ErrorLocation(1, 15))
    on_price = FilterNode(id="1", source=scan(), predicate=is_null(PRICE))
    assert [w.message for w in run(on_price, full_scan_of_partitioned_table="warn")] == [f"line 1:15: {text}"]


@pytest.mark.parametrize(
    "plan",
    [
        scan(partitioned=False),
        scan(domains=({"column": "day", "domain": {}},)),
        FilterNode(id="1", source=scan(), predicate=is_null(DAY)),
        FilterNode(
            id="2",
            source=ProjectNode(id="1", source=scan(), assignments=Assignments(assignments={"d<date>": DAY})),
            predicate=is_null(Variable(name="d", type="date")),
        ),
    ],
    ids=["unpartitioned", "domain", "filter", "renamed"],
)
def test_restricted_scans_pass(plan: PlanNode) -> None:
    assert run(plan, full_scan_of_partitioned_table="veto") == []


def test_large_in_lists() -> None:
    within = SpecialForm(
        form="IN", returnType="boolean", arguments=(PRICE, SIX, SIX), sourceLocation=SourceLocation(4, 2)
    )
    plan = FilterNode(id="1", source=scan(), predicate=within)
    assert run(plan, in_list="veto", max_in_list_size="2") == []
    with pytest.raises(ProcessionError) as caught:
        run(plan, in_list="veto", max_in_list_size="1")
    assert caught.value.wire_message == "line 4:2: IN list of 2 values exceeds the allowed maximum (1)"


@pytest.mark.anyio
async def test_stages(make_fragment: Callable[..., SimplePlanFragment]) -> None:
    values = ValuesNode(id="0", outputVariables=(PRICE,), rows=())
    provider = BusinessRulesProvider()
    (veto,) = provider.create({"business-rules.stages": "veto", "business-rules.max-stages": "2"})
    (warn,) = provider.create({"business-rules.stages": "warn", "business-rules.max-stages": "2"})
    warnings: list[PrestoWarning] = []
    for fragment_id in ("0", "1"):
        await veto.validate_fragment(make_fragment(values, fragment_id), Session(user="u"), warnings.append)
    assert warnings == []
    with pytest.raises(ProcessionError) as caught:
        await veto.validate_fragment(make_fragment(values, "2"), Session(user="u"), warnings.append)
    assert caught.value.code is ErrorCode.QUERY_HAS_TOO_MANY_STAGES
    for fragment_id in ("2", "3"):
        await warn.validate_fragment(make_fragment(values, fragment_id), Session(user="u"), warnings.append)
    assert [w.name for w in warnings] == ["TOO_MANY_STAGES"]

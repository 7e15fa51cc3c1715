"""What is checked of a distributed procedure: columns as files store them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.checks.built_in import check_unsupported_prestissimo_types
from coordinator.checks.storage_form import storage_type
from coordinator.checks.worker_form import worker_form
from shared.errors import ProcessionError
from shared.plan.expressions import Variable
from shared.plan.fragment import SimplePlanFragment
from shared.plan.nodes import CallDistributedProcedureNode, PlanNode, TableHandle, TableScanNode
from shared.plan.traversal import walk

COLUMNS = {
    "id": "bigint",
    "at": "time",
    "key": "uuid",
    "code": "char(3)",
    "nested": 'row(a time,"B c" array(uuid),m map(char(2),time))',
}
STORED = ["bigint", "bigint", "varbinary", "varchar", 'row(a bigint,"B c" array(varbinary),m map(varchar,bigint))']


def domain(column: str) -> dict[str, Any]:
    values = {"@type": "sortable", "type": COLUMNS[column], "ranges": []}
    return {"column": column, "domain": {"values": values, "nullAllowed": True}}


def scan() -> TableScanNode:
    variables = tuple(Variable(name=name, type=kind) for name, kind in COLUMNS.items())
    handles = {
        v.key: {"@type": "hive-iceberg", "type": v.type, "columnType": "REGULAR", "columnIdentity": {"name": v.name}}
        for v in variables
    }
    layout = {
        "domainPredicate": {"columnDomains": [domain("id"), domain("at")]},
        "predicateColumns": {"at": {"type": "time", "columnType": "PARTITION_KEY"}},
    }
    table = TableHandle(connectorId="iceberg", connectorHandle={"tableName": "t"}, connectorTableLayout=layout)
    return TableScanNode(id="0", table=table, outputVariables=variables, assignments=handles)


def rewrite() -> CallDistributedProcedureNode:
    source = scan()
    return CallDistributedProcedureNode(
        id="1",
        source=source,
        rowCountVariable=Variable(name="rows", type="bigint"),
        fragmentVariable=Variable(name="fragments", type="varbinary"),
        tableCommitContextVariable=Variable(name="context", type="varbinary"),
        columns=source.outputVariables,
        columnNames=tuple(COLUMNS),
        notNullColumnVariables=(),
    )


def scanned(root: PlanNode) -> TableScanNode:
    (found,) = [node for node in walk(root) if isinstance(node, TableScanNode)]
    return found


@pytest.mark.parametrize(("text", "stored"), [*zip(COLUMNS.values(), STORED, strict=True)])
def test_types_by_how_they_are_stored(text: str, stored: str) -> None:
    assert storage_type(text) == stored


@pytest.mark.parametrize("text", ["decimal(12,2)", "timestamp with time zone", "varchar(5)", "row(x integer)"])
def test_other_types_stay_as_they_are_written(text: str) -> None:
    assert storage_type(text) == text


def test_a_procedure_copies_stored_values(make_fragment: Callable[..., SimplePlanFragment]) -> None:
    sent = worker_form(make_fragment(rewrite()))
    read = scanned(sent.root)
    assert [v.type for v in read.outputVariables] == STORED
    assert list(read.assignments) == [v.key for v in read.outputVariables]
    assert [handle["type"] for handle in read.assignments.values()] == STORED


def test_files_are_chosen_before_and_domains_of_stored_types_stay(
    make_fragment: Callable[..., SimplePlanFragment],
) -> None:
    layout = scanned(worker_form(make_fragment(rewrite())).root).table.connectorTableLayout
    assert layout is not None
    assert [entry["column"] for entry in layout["domainPredicate"]["columnDomains"]] == ["id"]
    assert layout["predicateColumns"]["at"]["type"] == "bigint"


def test_a_query_is_checked_by_the_types_of_its_columns(make_fragment: Callable[..., SimplePlanFragment]) -> None:
    assert [v.type for v in scanned(worker_form(make_fragment(scan())).root).outputVariables] == [*COLUMNS.values()]


def test_native_workers_need_no_types_of_what_they_copy() -> None:
    check_unsupported_prestissimo_types.check(rewrite())
    with pytest.raises(ProcessionError, match="Time type is not supported in Prestissimo"):
        check_unsupported_prestissimo_types.check(scan())

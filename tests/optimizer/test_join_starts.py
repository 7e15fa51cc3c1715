"""Join orders of TPC-DS q85 and q72 in small: what looks like a key and is none, and a largest that multiplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coordinator.optimizer.optimize import optimize
from coordinator.optimizer.rule import Rule
from coordinator.optimizer.rules import reorder_joins
from shared.plan.expressions import Variable
from shared.plan.nodes import EquiJoinClause, JoinNode, OutputNode, PlanNode, TableHandle, TableScanNode
from shared.plan.traversal import output_variables, walk
from shared.spi.session import Session
from shared.spi.table_statistics import ValueRange

RULES = (Rule("reorder_joins", reorder_joins.apply),)


def scan(table: str, **columns: str) -> TableScanNode:
    variables = tuple(Variable(name=name, type=kind) for name, kind in columns.items())
    return TableScanNode(
        id=table,
        table=TableHandle(connectorId="c", connectorHandle={"@type": "c", "tableName": table}),
        outputVariables=variables,
        assignments={v.key: {"@type": "c", "name": v.name} for v in variables},
    )


def joined(left: PlanNode, right: PlanNode, *clauses: tuple[str, str]) -> JoinNode:
    by_name = {v.name: v for v in (*output_variables(left), *output_variables(right))}
    return JoinNode(
        id=f"j{right.id}",
        type="INNER",
        left=left,
        right=right,
        criteria=tuple(EquiJoinClause(left=by_name[a], right=by_name[b]) for a, b in clauses),
        outputVariables=(*output_variables(left), *output_variables(right)),
    )


def order(plan: PlanNode, rows: Mapping[str, int], bounds: Mapping[str, tuple[int, int]]) -> list[str]:
    """Scans in the order in which they are joined."""

    def bounds_of(one: TableScanNode) -> Mapping[str, Sequence[ValueRange]]:
        names = [v.name for v in one.outputVariables if v.name in bounds]
        return {name: [ValueRange(*bounds[name], rows[one.id])] for name in names}

    shown = output_variables(plan)
    root = OutputNode(id="out", source=plan, columnNames=tuple(v.name for v in shown), outputVariables=shown)
    made, _ = optimize(root, Session(user="t"), RULES, table_rows=rows, column_bounds=bounds_of)
    return [node.id for node in walk(made) if isinstance(node, TableScanNode)]


def test_texts_that_many_rows_share_are_joined_after_keys() -> None:
    """q85: two people of each return, who are equal in marital status and education."""
    one = scan("one", id1="integer", married1="varchar", school1="varchar")
    two = scan("two", id2="integer", married2="varchar", school2="varchar")
    returns = scan("returns", refunded="integer", returning="integer")
    plan = joined(
        joined(one, two, ("married1", "married2"), ("school1", "school2")),
        returns,
        ("id1", "refunded"),
        ("id2", "returning"),
    )
    rows = {"one": 1_920_800, "two": 1_920_800, "returns": 71_763}
    bounds = dict.fromkeys(("id1", "id2", "refunded", "returning"), (1, 1920800))
    assert order(plan, rows, bounds) == ["one", "returns", "two"]


def test_the_largest_table_is_not_first_where_it_multiplies_rows() -> None:
    """q72: every sale meets all inventories of its item, so what thins sales comes before."""
    inventory = scan("inventory", inv_item="integer", inv_date="integer")
    sales = scan("sales", item="integer", sold="integer", person="integer")
    few_days, few_people = scan("few_days", day="integer"), scan("few_people", who="integer")
    plan = joined(
        joined(joined(inventory, sales, ("inv_item", "item")), few_days, ("sold", "day")), few_people, ("person", "who")
    )
    rows = {"inventory": 11_745_000, "sales": 1_441_548, "few_days": 365, "few_people": 1_440}
    bounds = {
        **dict.fromkeys(("inv_item", "item"), (1, 18_000)),
        **dict.fromkeys(("sold", "day"), (1, 1_836)),
        **dict.fromkeys(("person", "who"), (1, 7_200)),
        "inv_date": (1, 1_836),
    }
    assert order(plan, rows, bounds)[0] == "sales"
    assert order(plan, rows, bounds)[-1] == "inventory"


def test_the_largest_is_first_in_a_star() -> None:
    sales = scan("sales", item="integer", sold="integer")
    items, days = scan("items", id="integer"), scan("days", day="integer")
    plan = joined(joined(items, sales, ("id", "item")), days, ("sold", "day"))
    rows = {"sales": 1_000_000, "items": 18_000, "days": 30}
    bounds = {"item": (1, 18_000), "id": (1, 18_000), "sold": (1, 1_800), "day": (1, 1_800)}
    assert order(plan, rows, bounds) == ["sales", "days", "items"]

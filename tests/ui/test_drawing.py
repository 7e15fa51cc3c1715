"""Places of boxes and lines, and statements from forms, which the parser reads back."""

from __future__ import annotations

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.server.ui.call_form import FormError, call_statement
from coordinator.server.ui.charts import line, stacked
from coordinator.server.ui.error_place import marked_lines
from coordinator.server.ui.plan_tree import (
    HEIGHT,
    WIDTH,
    distributed_drawing,
    distributed_plan,
    logical_drawing,
    logical_plan,
    with_numbers,
)
from coordinator.server.ui.snapshot_graph import snapshot_graph
from coordinator.server.ui.words import first_line
from coordinator.sql.parse_statement import parse_statement
from shared.spi.procedure import Argument, ProcedureDeclaration, ProcedureKind


def tree(size: int, seed: int) -> dict:
    chance = random.Random(seed)
    nodes = [{"name": f"n{number}", "identifier": "", "details": "", "children": []} for number in range(size)]
    for number in range(1, size):
        nodes[chance.randrange(max(0, number - 6), number)]["children"].append(nodes[number])
    return nodes[0]


def drawn(plan: dict):
    read = logical_plan(msgspec.json.encode(plan).decode())
    assert read is not None
    return logical_drawing(read, str)


def test_boxes_of_plans_stand_apart_below_their_parents() -> None:
    for seed, size in enumerate((1, 2, 40, 500)):
        drawing = drawn(tree(size, seed))
        assert len(drawing.nodes) == size
        assert len(drawing.edges) == size - 1
        assert len({(node.x, node.y) for node in drawing.nodes}) == size
        for number, one in enumerate(drawing.nodes):
            assert one.x >= 0 and one.x + WIDTH <= drawing.width
            assert one.y + HEIGHT <= drawing.height
            for other in drawing.nodes[:number]:
                assert abs(one.x - other.x) >= WIDTH or abs(one.y - other.y) >= HEIGHT
            assert all(child.y > one.y for child in one.children)


def test_fragments_hang_below_what_reads_them() -> None:
    def node(name: str, remote: tuple[str, ...] = (), *children: dict) -> dict:
        return {"name": name, "identifier": "[x] ", "remoteSources": remote, "children": children}

    text = msgspec.json.encode(
        {
            "0": {"plan": node("Output", (), node("RemoteSource", ("1", "2")))},
            "1": {"plan": node("TableScan")},
            "2": {"plan": node("TableScan")},
        }
    ).decode()
    plan = distributed_plan(text)
    assert plan is not None
    drawing = distributed_drawing(plan, {"1": ("refused", "why <not>")}, str)
    assert [(each.name, each.fragment, each.verdict) for each in drawing.nodes] == [
        ("Output", "0", None),
        ("RemoteSource", "0", None),
        ("TableScan", "1", "refused"),
        ("TableScan", "2", None),
    ]
    assert "why <not>" in drawing.nodes[2].title
    assert drawing.nodes[0].label == "x"


def test_numbers_stand_where_they_are_known() -> None:
    def plan(*scans: str):
        found = logical_plan(msgspec.json.encode({"name": "Output", "children": [{"name": s} for s in scans]}).decode())
        assert found is not None
        return [node.numbers for node in with_numbers(logical_drawing(found, str), "5 rows", "9 rows").nodes]

    assert plan("TableScan") == ["5 rows", "9 rows"]
    assert plan("TableScan", "ScanFilter") == ["5 rows", "", ""]


def test_what_is_no_plan_has_no_drawing() -> None:
    deep = '{"children":[' * 100_000
    assert [logical_plan(each) for each in (None, "", "{", "[]", '{"name": 1}', deep)] == [None] * 6
    assert distributed_plan('{"0": {}}') is None


def test_snapshots_are_joined_to_their_parents_and_branches_have_lanes() -> None:
    def snapshot(number: int, parent: int | None) -> dict:
        return {"snapshot_id": number, "parent_id": parent, "committed_at": "2026-11-23", "operation": "append"}

    # 4 is the head of main, 3 that of a branch from 1; 9 is not among the newest.
    newest = [snapshot(4, 2), snapshot(3, 1), snapshot(2, 1), snapshot(1, 9)]
    references = [
        {"name": "main", "type": "BRANCH", "snapshot_id": 4},
        {"name": "b", "type": "BRANCH", "snapshot_id": 3},
    ]
    graph = snapshot_graph(newest, references)
    places = {point.snapshot_id: (point.x, point.y) for point in graph.points}
    assert {(line[:2], line[2:]) for line in graph.lines} == {
        (places["4"], places["2"]),
        (places["3"], places["1"]),
        (places["2"], places["1"]),
    }
    assert places["4"][0] == places["2"][0] == places["1"][0] != places["3"][0]
    assert graph.points[1].names == ("b (branch)",)
    assert snapshot_graph([], []).points == []


TEXT = Argument("t", "varchar", "")
ARGUMENTS = (
    TEXT,
    Argument("n", "bigint", ""),
    Argument("a", "array(varchar)", ""),
    Argument("m", "map(varchar,varchar)", ""),
)
CALL = ProcedureDeclaration('p"q', ProcedureKind.COORDINATOR, "", (*ARGUMENTS, Argument("dry_run", "boolean", "")), ())


@settings(max_examples=150)
@given(st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text))
def test_whatever_is_typed_is_one_literal(typed: str) -> None:
    fields = {"arg.t": typed, "arg.dry_run": "false"}
    statement = parse_statement(call_statement('c"d', CALL, fields, dry_run=True))
    assert type(statement).__name__ == "Call"
    names = [argument.name for argument in statement.arguments]
    assert names == ["t", "dry_run"]
    assert statement.arguments[0].value.value == typed.strip()
    assert statement.arguments[1].value.value is True


def test_values_that_are_none_of_their_type_are_refused() -> None:
    for name, typed in (("n", "1) --"), ("n", "1e3"), ("m", "a"), ("n", "٣")):
        try:
            call_statement("c", CALL, {f"arg.{name}": typed}, dry_run=False)
        except FormError as error:
            assert str(error).startswith(name)
        else:
            raise AssertionError(typed)
    made = call_statement("c", CALL, {"arg.a": "x, y'z", "arg.m": "k=v=w\nl='"}, dry_run=False)
    assert "ARRAY['x', 'y''z']" in made
    assert "MAP(ARRAY['k', 'l'], ARRAY['v=w', ''''])" in made


def test_small_charts() -> None:
    curve = line([1.0, 3.0, 2.0], 3, 20, 12)
    assert curve.points == "0.0,7.7 10.0,1.0 20.0,4.3"
    assert line([], 10).area == ""
    parts = stacked([("a", 3.0), ("b", 1.0), ("c", 0.0)], 100)
    assert [(part.x, part.width) for part in parts] == [(0.0, 75.0), (75.0, 25.0), (100.0, 1.0)]


def test_lines_of_statements() -> None:
    assert first_line("/* a */ -- b\n\n SELECT\n  1") == "SELECT 1"
    assert first_line("-- nothing else") == "-- nothing else"
    assert first_line("/* open SELECT 1") == "/* open SELECT 1"
    assert first_line("SELECT " + "x" * 500, 20) == "SELECT xxxxxxxxxxxx…"
    assert marked_lines("SELECT 1", 2, 1) == marked_lines("SELECT 1", None, None) == []
    assert marked_lines("SELECT", 1, 99)[0].mark == " "


def test_rows_of_nodes_stand_at_them() -> None:
    """Where the engine measured them: what the statement returned then needs no place of its own."""
    scan = {"name": "TableScan", "stats": {"planNodeOutputPositions": 1200, "planNodeCpuTime": "3.00ms"}}
    seen = {"planNodeOutputPositions": 1, "planNodeOutputDataSize": "8B"}
    root = {"name": "Output", "children": [scan], "stats": seen}
    found = distributed_plan(msgspec.json.encode({"0": {"plan": root}}).decode())
    assert found is not None
    drawing = with_numbers(distributed_drawing(found, {}, str), "7 rows", "9 rows")
    assert [each.numbers for each in drawing.nodes] == ["1 row, 8B", "1,200 rows, 3.00ms"]


def test_a_scan_is_labelled_by_its_table() -> None:
    """The text of the handle, which begins with the connector's name, stays in the tip."""
    handle = "TableHandle {connectorId='lake', connectorHandle='events$data@72', layout='Optional[events$data@72]'}"
    plan = {"name": "ScanProject", "identifier": f"[table = {handle}, projectLocality = LOCAL]"}
    (box,) = drawn(plan).nodes
    assert box.label == "events (lake)"
    assert handle in box.title

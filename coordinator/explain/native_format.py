"""EXPLAIN (TYPE NATIVE): the Velox plan of every fragment, what failed and what no worker runs in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import assert_never

from coordinator.explain.table import handle_text
from shared.plan.fragment import SimplePlanFragment
from shared.plan.traversal import node_name, walk
from shared.spi.plan_converter import ConvertedPlan, PlanFormat

Converted = Sequence[tuple[SimplePlanFragment, ConvertedPlan]]
_VELOX_LINE = re.compile(r"^ *-- \w+\[(?P<id>[^\]]*)\]")


def native_plans(plans: Converted, plan_format: PlanFormat) -> str:
    """Text: a heading a fragment and Velox's lines, each with the Presto node that it comes from.

    JSON: an object by fragment id with ``plan``, ``failure`` or ``notRun``. Graphviz: one digraph a fragment.
    """
    ordered = sorted(plans, key=lambda plan: int(plan[0].id))
    match plan_format:
        case PlanFormat.TEXT:
            return "\n".join(_text(fragment, plan) for fragment, plan in ordered)
        case PlanFormat.JSON:
            return json.dumps({fragment.id: _json(plan) for fragment, plan in ordered}, indent=2)
        case PlanFormat.GRAPHVIZ:
            return "\n".join(plan.text or _graph(fragment, plan) for fragment, plan in ordered)
        case _:
            assert_never(plan_format)


def _text(fragment: SimplePlanFragment, plan: ConvertedPlan) -> str:
    if plan.text is None:
        body = [_reason(plan)]
    else:
        names = {node.id: node_name(node).removesuffix("Node") for node in walk(fragment.root)}
        body = [_with_origin(line, names) for line in plan.text.rstrip().splitlines()]
    heading = f"Fragment {fragment.id} [{handle_text(fragment.partitioning)}]\n"
    return heading + "".join(f"    {line}\n" for line in body)


def _with_origin(line: str, names: dict[str, str]) -> str:
    """Velox's ids are Presto's, with a prefix or a suffix where one node became several."""
    found = _VELOX_LINE.match(line)
    if found is None:
        return line
    node_id = next((part for part in found["id"].split(".") if part in names), None)
    return line if node_id is None else f"{line}   <- {names[node_id]} {node_id}"


def _reason(plan: ConvertedPlan) -> str:
    return f"FAILED: {plan.failure}" if plan.failure is not None else f"Not run by workers: {plan.skipped}"


def _json(plan: ConvertedPlan) -> dict[str, object]:
    if plan.text is not None:
        return {"plan": json.loads(plan.text)}
    return {"failure": plan.failure} if plan.failure is not None else {"notRun": plan.skipped}


def _graph(fragment: SimplePlanFragment, plan: ConvertedPlan) -> str:
    colour = "red" if plan.failure is not None else "gray"
    label = json.dumps(f"Fragment {fragment.id}\n{_reason(plan)}")
    return f'digraph "fragment {fragment.id}" {{\n  "fragment" [shape=box, color={colour}, label={label}];\n}}\n'

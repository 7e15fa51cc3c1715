"""Plans as short text: a node a line, sources indented below it, no ids, types or places.

``drawn`` is for the plans before and after an optimizer rule. What a node does stands in brackets, in the words of
EXPLAIN, with constants bare (``1``, ``'F'``) and without parentheses around single words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import TextWrapper

from msgspec import convert
from msgspec.structs import replace

from coordinator.explain.describe import describe
from coordinator.explain.expressions import expression_text
from coordinator.explain.table import scan_lines, table_name
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import (
    AssignUniqueId,
    EnforceSingleRowNode,
    ExchangeNode,
    FilterNode,
    JoinNode,
    LookUpNode,
    OutputNode,
    PlanNode,
    ProjectNode,
    SemiJoinNode,
    TableScanNode,
    UnnestNode,
    ValuesNode,
)
from shared.plan.traversal import output_variables, sources, variable_of_key
from shared.spi import handles

_WIDTH = 104
_NUMBER = re.compile(r"\b(?:TINYINT|SMALLINT|INTEGER|BIGINT|DECIMAL|DOUBLE|BOOLEAN)'([^']*)'")
_TEXT = re.compile(r"\bVARCHAR'")
_NAME = re.compile(r'"presto\.default\.(\w+)"')
_SINGLE = re.compile(r"(?<![\w$\"])\(([\w$.]+|'[^']*')\)")


def drawn(plan: PlanNode) -> str:
    """The whole plan."""
    return "\n".join(_lines(plan, 0))


def formula(expression: RowExpression) -> str:
    """``a > 1 AND (f(b) = 'x')`` for an expression."""
    return _plain(expression_text(expression))


def _plain(text: str) -> str:
    plain = _NAME.sub(r"\1", _TEXT.sub("'", _NUMBER.sub(r"\1", text)))
    return _SINGLE.sub(r"\1", plain)


def _lines(node: PlanNode, level: int) -> Iterator[str]:
    indent = "  " * level
    head, *details = _node(node)
    yield from _wrapped(head, indent)
    for detail in details:
        yield from _wrapped(detail, indent + "    ")
    for source in sources(node):
        yield from _lines(source, level + 1)


def _wrapped(line: str, indent: str) -> list[str]:
    wrapper = TextWrapper(_WIDTH, initial_indent=indent, subsequent_indent=indent + "      ")
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(line)


def _node(node: PlanNode) -> list[str]:  # noqa: C901  (one case a kind of node)
    """A line for the node, and further lines for what it says beside."""
    match node:
        case TableScanNode():
            return _scan(node)
        case FilterNode():
            return [f"Filter[{formula(node.predicate)}]"]
        case ProjectNode():
            return [f"Project[{', '.join(_assigned(node))}]"]
        case ValuesNode():
            rows = [f"({', '.join(formula(cell) for cell in row)})" for row in node.rows]
            return [f"Values[{_names(node)}: {', '.join(rows) or 'no rows'}]"]
        case OutputNode():
            return [f"Output[{_names(node)}]"]
        case JoinNode():
            return _join(node)
        case SemiJoinNode():
            asked = f"{node.sourceJoinVariable.name} IN {node.filteringSourceJoinVariable.name}"
            return [f"SemiJoin[{node.semiJoinOutput.name} := {asked}]"]
        case ExchangeNode():
            return [f"Union[{_names(node)}]", *_inputs(node)]
        case UnnestNode():
            taken = ", ".join(variable_of_key(key).name for key in node.unnestVariables)
            return [f"Unnest[{taken}] => {_names(node)}"]
        case AssignUniqueId():
            return [f"AssignUniqueId[{node.idVariable.name}]"]
        case EnforceSingleRowNode():
            return ["EnforceSingleRow"]
        case LookUpNode():
            at = ", ".join(v.name for v in (node.rowPosition.rowSource, *node.rowPosition.refColumns))
            return [f"LookUp[{handles.table_name(node.table)} at {at}: {_names(node)}]"]
        case _:
            return _described(node)


def _join(node: JoinNode) -> list[str]:
    terms = [f"{clause.left.name} = {clause.right.name}" for clause in node.criteria]
    terms += [] if node.filter is None else [formula(node.filter)]
    kind = "Cross" if node.type == "INNER" and not terms else node.type.capitalize()
    distribution = [] if node.distributionType is None else [node.distributionType]
    return [f"{kind}Join[{' AND '.join(terms)}] => {_names(node)}", *distribution]


def _described(node: PlanNode) -> list[str]:
    described = describe(node, distributed=False)
    details = [re.sub(r" \(\d+:\d+\)$", "", line) for line in described.details]
    return [_plain(described.name + described.identifier), *(_plain(line) for line in details)]


def _scan(node: TableScanNode) -> list[str]:
    columns = {variable_of_key(key).name: handle for key, handle in node.assignments.items()}
    shown = [f"{v.name}" for v in node.outputVariables]
    assert columns.keys() >= {*shown}
    _, table = table_name(node.table)
    return [f"Scan[{table}: {', '.join(shown)}]", *_layout(node)]


def _layout(scan: TableScanNode) -> Iterator[str]:
    """What the connector knows of the query: domains of columns, and what it is asked for beside."""
    layout = scan.table.connectorTableLayout or {}
    if "constraint" in layout:
        scan = replace(scan, table=replace(scan.table, connectorTableLayout={"predicate": layout["constraint"]}))
    column = ""
    for line in scan_lines(scan):
        name, assigned, _ = line.partition(" := ")
        if assigned:
            column = name
        else:
            yield line.strip().replace("::", f"{column} in") if ":: [" in line else line
    for prefix in layout.get("prefixes", ()):
        yield f"lists {'.'.join(prefix.values())}"
    for name, patterns in layout.get("patterns", {}).items():
        yield from (f"{name} like {' escape '.join(filter(None, pattern))}" for pattern in patterns)
    if "fileSelectionPredicate" in layout:
        yield f"selects files by {formula(convert(layout['fileSelectionPredicate'], RowExpression))}"


def _assigned(node: ProjectNode) -> Iterator[str]:
    for key, expression in node.assignments.assignments.items():
        name = variable_of_key(key).name
        passed = isinstance(expression, Variable) and expression.name == name
        yield name if passed else f"{name} := {formula(expression)}"


def _inputs(node: ExchangeNode) -> Iterator[str]:
    for variables in node.inputs:
        yield f"of {', '.join(v.name for v in variables)}"


def _names(node: PlanNode) -> str:
    return ", ".join(variable.name for variable in output_variables(node))

"""Expressions as Presto writes them in its messages: functions quoted, every operation in parentheses.

Source: the texts of a Presto 0.296 server. What is not known here is shown as sqlglot writes it.
"""

from __future__ import annotations

from typing import Any

from coordinator.analyzer.syntax import function_name
from coordinator.analyzer.token_rewriter import FUNCTION_PREFIX

_OPERATORS = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=",
    "GT": ">", "GTE": ">=", "And": "AND", "Or": "OR", "DPipe": "||",
}  # fmt: skip


def expression_text(node: Any) -> str:
    """One expression, as in ``("sum"(x) + 1)``."""
    kind = type(node).__name__
    if kind in _OPERATORS:
        return f"({expression_text(node.this)} {_OPERATORS[kind]} {expression_text(node.expression)})"
    match kind:
        case "Paren" | "Where":
            return expression_text(node.this)
        case "Column":
            parts = [node.args[name] for name in ("catalog", "db", "table", "this") if node.args.get(name)]
            return ".".join(expression_text(part) for part in parts)
        case "Identifier":
            return f'"{node.this}"' if node.args.get("quoted") else str(node.this)
        case "Not":
            return f"(NOT {expression_text(node.this)})"
        case "Star":
            return "*"
        case "Distinct":
            return "DISTINCT " + _listed(node.expressions)
        case "Filter":
            return f"{expression_text(node.this)} FILTER (WHERE {expression_text(node.expression)})"
        case "Window":
            return f"{expression_text(node.this)} OVER ({_window(node)})"
        case "Anonymous" if not (function_name(node) or "$").startswith("$"):
            return f'"{function_name(node)}"({_listed(node.expressions)})'
        case _:
            return str(node.sql(dialect="trino")).replace(f'"{FUNCTION_PREFIX}', '"')


def _listed(nodes: Any) -> str:
    return ", ".join(expression_text(node) for node in nodes)


def _window(node: Any) -> str:
    keys, order = node.args.get("partition_by") or (), node.args.get("order")
    parts = [f"PARTITION BY {_listed(keys)}"] if keys else []
    if order is not None:
        parts.append("ORDER BY " + ", ".join(_sort_item(item) for item in order.expressions))
    return " ".join(parts)


def _sort_item(node: Any) -> str:
    return f"{expression_text(node.this)} {'DESC' if node.args.get('desc') else 'ASC'}"

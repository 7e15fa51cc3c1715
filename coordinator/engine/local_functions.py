"""Python kernels as functions of a DuckDB database."""

from __future__ import annotations

from typing import Any

from coordinator.kernels.functions.program import evaluate, evaluate_row
from coordinator.values.python_functions import PythonFunction, python_functions
from coordinator.values.type_names import type_name


def register_functions(connection: Any, sql: str, known: set[PythonFunction]) -> None:
    """Make known what ``sql`` calls and ``known``, which grows, lacks."""
    for function in python_functions(sql) - known:
        connection.create_function(
            function.name,
            evaluate_row if function.by_row else evaluate,
            None,
            type_name(function.result, "duckdb"),
            type="native" if function.by_row else "arrow",
            null_handling="special",
            side_effects=function.volatile,
        )
        known.add(function)

"""Python kernels as SQL functions of a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession
from pyspark.util import PythonEvalType

from coordinator.engine.spark.kernel_package import PACKAGE
from coordinator.values.python_functions import PythonFunction, python_functions
from coordinator.values.type_names import type_name

_KNOWN = "_procession_functions"


def sql_frame(session: SparkSession, sql: str) -> DataFrame:
    """The frame of ``sql``, whose Python functions the session knows from now on."""
    # On the session, so that a new one knows nothing. Two threads may register one name twice, which changes nothing.
    known: set[PythonFunction] = session.__dict__.setdefault(_KNOWN, set())
    for function in python_functions(sql) - known:
        session.client.register_udf(
            _evaluator(),
            type_name(function.result, "spark"),
            function.name,
            eval_type=PythonEvalType.SQL_SCALAR_ARROW_UDF,
            deterministic=not function.volatile,
        )
        known.add(function)
    return session.sql(sql)


def _evaluator() -> Callable[..., pa.Array]:
    """Nested, so that it is shipped by value and finds the kernels where the executor has them."""
    package = PACKAGE

    def evaluate(*columns: Any) -> Any:
        import importlib

        return importlib.import_module(f"{package}.functions.program").evaluate(*columns)

    return evaluate

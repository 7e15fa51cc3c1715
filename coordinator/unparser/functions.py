# A table: one entry beside the other reads better than one below the other.
"""Presto functions in the words of each engine: data first, code where a name is not enough.

An entry is the engine's name of the function when arguments and meaning are the same, or a function of the argument
trees. The Python kernels do what has no entry; what they lack too is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from coordinator.unparser.spark_functions import SPARK, literal_of
from coordinator.unparser.trees import call, number
from shared.plan.types import Type

Template = str | Callable[..., exp.Expr]

_AGGREGATES_BOTH = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
    "corr",
    "covar_pop",
    "covar_samp",
    "max_by",
    "min_by",
    "array_agg",
    "approx_distinct",
    "any_value",
    "arbitrary",
    "count_if",
    "every",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_count",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "checksum",
    "histogram",
    "map_agg",
    "bitwise_and_agg",
    "bitwise_or_agg",
    "approx_percentile",
]
WINDOWS = {
    n: n
    for n in [
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
    ]
}


# The others are in ``vectorised``, with the conditions under which they are Presto's, or programs.
_LOCAL: dict[str, Template] = {"lower": "lower", "starts_with": "starts_with"}
SCALARS: dict[str, dict[str, Template]] = {"duckdb": _LOCAL, "spark": {**SPARK}}
_BOTH_BUILT: dict[str, Template] = {
    "geometric_mean": lambda v: call("exp", call("avg", call("ln", v))), "bitwise_xor_agg": "bit_xor",
    "max": lambda v: call("max", v), "min": lambda v: call("min", v),
    "max_by": lambda v, by: call("max_by", v, by), "min_by": lambda v, by: call("min_by", v, by),
}  # fmt: skip


def _approx_distinct(value: exp.Expr, error: exp.Expr | None = None) -> exp.Expr:
    if error is None:
        return call("approx_count_distinct", value)
    # Spark wants a bare literal.
    return call("approx_count_distinct", value, exp.Var(this=f"{float(literal_of(error))!r}D"))


def _percentile(value: exp.Expr, share: exp.Expr, accuracy: exp.Expr | None = None) -> exp.Expr:
    """Spark's accuracy counts parts, of which it has ten thousand by itself."""
    if accuracy is None:
        return call("approx_percentile", value, share)
    return call("approx_percentile", value, share, number(max(10_000, round(1 / float(literal_of(accuracy))))))


def _count_if(condition: exp.Expr) -> exp.Expr:
    """DuckDB's own is NULL where no condition is true or false."""
    false = exp.Boolean(this=False)
    if isinstance(condition, exp.Distinct):
        return call("count", exp.Distinct(expressions=[call("nullif", *condition.expressions, false)]))
    return call("count", call("nullif", condition, false))


def _finite(function: str, dialect: str) -> Template:
    """NULL where the function is undefined, as in Presto; the engines say NaN."""
    if dialect == "duckdb":
        return lambda *pair: call("finite_or_null", call(function, *pair))
    return lambda *pair: call("nanvl", call(function, *pair), exp.Null())


_DEFINED = ("corr", "regr_slope", "regr_intercept", "regr_r2")
_COLLECTED = ("checksum", "map_agg", "approx_percentile", "approx_distinct")
AGGREGATES: dict[str, dict[str, Template]] = {
    "duckdb": {
        **{n: n for n in _AGGREGATES_BOTH if n not in _COLLECTED},
        "arbitrary": "any_value", "count_if": _count_if,
        "every": "bool_and", "array_agg": "list", "bitwise_and_agg": "bit_and", "bitwise_or_agg": "bit_or",
        **_BOTH_BUILT,
        # Those without the ending pass over rows whose value is NULL.
        "max_by": lambda v, by: call("arg_max_null", v, by), "min_by": lambda v, by: call("arg_min_null", v, by),
        **{n: _finite(n, "duckdb") for n in _DEFINED},
    },
    "spark": {
        **{n: n for n in _AGGREGATES_BOTH if n not in ("checksum", "histogram")},
        "approx_distinct": _approx_distinct,
        "arbitrary": "any_value", "bitwise_and_agg": "bit_and", "bitwise_or_agg": "bit_or",
        "array_agg": "array_agg", "map_agg": "map_agg", "set_agg": "set_agg", **_BOTH_BUILT,
        "approx_percentile": _percentile, **{n: _finite(n, "spark") for n in _DEFINED},
    },
}  # fmt: skip


def apply(template: Template, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """The engine's call of a template."""
    return call(template, *arguments) if isinstance(template, str) else template(*arguments)


def needs_cast(name: str, result: Type, dialect: str) -> bool:
    """Whether the engine's type of a function's result may differ from Presto's."""
    if name == "histogram":
        return True
    if result.base in ("boolean", "varchar", "unknown", "varbinary", "json", "array", "map", "row"):
        return False
    return not (dialect == "duckdb" and name in ("count", "row_number"))

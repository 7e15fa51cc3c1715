"""``avg`` of decimals as Presto computes it: the exact sum by the count, rounded half away from zero.

DuckDB's is a double and Spark's rounds twice; the sums of both end at 38 digits, where Presto's does not.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from coordinator.kernels.functions.operators import AVERAGE, HIGH_DIGITS
from coordinator.unparser.programs import kernel_call
from coordinator.unparser.trees import call, cast
from shared.plan.types import Type

Wrap = Callable[[exp.Expr], exp.Expr]
_MOST_DIGITS = 38
_WHOLE = Type("decimal", (_MOST_DIGITS, 0))
_SUMMED_DIGITS = 28
"""Of decimals up to here the sum of ten billion rows has 38 digits at most."""
_SPARK_DIGITS = 18
"""Spark's ``div`` is a bigint."""
_ITEM = "procession_x"


def is_wide(type_: Type) -> bool:
    """Whether a sum of such decimals may have more than 38 digits."""
    return type_.numbers[0] > _SUMMED_DIGITS


def exact_average(value: exp.Expr, type_: Type, wrap: Wrap, dialect: str) -> exp.Expr:
    """The average of ``value``, a decimal of ``type_``; ``wrap`` adds FILTER or OVER to each aggregate of the engine's.

    ``value`` may be DISTINCT where the type is not wide.
    """
    count = wrap(call("count", value.copy()))
    if is_wide(type_):
        units = _units(value.sql(dialect=dialect, comments=False), dialect)
        most = _HIGH[dialect]
        # A bigint in Spark, whose sum would soon be none.
        high = f"{units} // {most}" if dialect == "duckdb" else f"CAST({units} div {most} AS DECIMAL(18, 0))"
        sums = [cast(wrap(call("sum", exp.Var(this=part))), _WHOLE, dialect) for part in (high, f"{units} % {most}")]
        return _in_kernels(sums, count, type_, dialect)
    total = wrap(call("sum", value))
    if dialect == "spark" and type_.numbers[0] > _SPARK_DIGITS:
        shown = exp.Var(this=_units(total.sql(dialect=dialect, comments=False), dialect))
        return _in_kernels([cast(exp.Null(), _WHOLE, dialect), shown], count, type_, dialect)
    # Each aggregate stands once: as a window it would be computed as often as it is written.
    parts = {"s": total, "n": count}
    if dialect == "duckdb":
        return exp.Var(this=_on_duckdb({k: v.sql(dialect=dialect, comments=False) for k, v in parts.items()}, type_))
    return exp.Var(this=_on_spark({k: v.sql(dialect=dialect, comments=False) for k, v in parts.items()}, type_))


_HIGH = {"duckdb": f"CAST('{10**HIGH_DIGITS}' AS HUGEINT)", "spark": f"CAST('{10**HIGH_DIGITS}' AS DECIMAL(38, 0))"}


def _units(decimal: str, dialect: str) -> str:
    """A decimal without its point, as a whole number of 38 digits."""
    kinds = ("VARCHAR", "HUGEINT") if dialect == "duckdb" else ("STRING", "DECIMAL(38, 0)")
    return f"CAST(replace(CAST({decimal} AS {kinds[0]}), '.', '') AS {kinds[1]})"


def _in_kernels(sums: list[exp.Expr], count: exp.Expr, type_: Type, dialect: str) -> exp.Expr:
    types = (_WHOLE, _WHOLE, Type("bigint"))
    return kernel_call(AVERAGE, types, type_, [*sums, count], dialect)


def _on_duckdb(parts: dict[str, str], type_: Type) -> str:
    """A double decides where it is far from the middle between two results; whole numbers of 128 bits elsewhere."""
    precision, scale = type_.numbers
    units = _units(f"{_ITEM}.s", "duckdb")
    half = f"CASE WHEN abs({units} % {_ITEM}.n) * 2 >= {_ITEM}.n THEN sign({_ITEM}.s) ELSE 0 END"
    unit = f"CAST('{_unit(scale)}' AS DECIMAL(38, {scale}))"
    exact = f"CAST(CAST({units} // {_ITEM}.n + {half} AS DECIMAL(38, 0)) * {unit} AS DECIMAL({precision}, {scale}))"
    near = f"CAST({_ITEM}.s AS DOUBLE) / {_ITEM}.n"
    scaled = f"{near} * 1e{scale}"
    sure = f"abs({scaled}) < 1e12 AND abs({scaled} - floor({scaled}) - 0.5) > 0.001"
    row = ", ".join(f"'{name}': {tree}" for name, tree in parts.items())
    chosen = f"CASE WHEN {sure} THEN CAST({near} AS DECIMAL({precision}, {scale})) ELSE {exact} END"
    return f"list_transform([{{{row}}}], lambda {_ITEM}: {chosen})[1]"


def _on_spark(parts: dict[str, str], type_: Type) -> str:
    precision, scale = type_.numbers
    units = f"CAST({_ITEM}.s * CAST('{10**scale}' AS DECIMAL({scale + 1}, 0)) AS DECIMAL(38, 0))"
    sign = f"CASE WHEN {_ITEM}.s < 0 THEN -1 ELSE 1 END"
    half = f"CASE WHEN abs({units} % {_ITEM}.n) * 2 >= {_ITEM}.n THEN {sign} ELSE 0 END"
    whole = f"CAST({units} div {_ITEM}.n + {half} AS DECIMAL(18, 0))"
    exact = whole if not scale else f"{whole} * CAST('{_unit(scale)}' AS DECIMAL({scale}, {scale}))"
    row = ", ".join(f"'{name}', {tree}" for name, tree in parts.items())
    return f"transform(array(named_struct({row})), {_ITEM} -> CAST({exact} AS DECIMAL({precision}, {scale})))[0]"


def _unit(scale: int) -> str:
    """The least decimal of a scale."""
    return f"{0:.{scale - 1}f}1" if scale > 1 else "0.1" if scale else "1"

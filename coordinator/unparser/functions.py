# ruff: noqa: E501, ARG005
# A table: one entry beside the other reads better than one below the other.
"""Presto functions in the words of each engine: data first, code where a name is not enough.

An entry is the engine's name of the function when arguments and meaning are the same, or a function of the argument
trees. A function without an entry is refused by name, never sent and hoped for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from coordinator.unparser.dates import DUCKDB_DATES, SPARK_DATES
from coordinator.unparser.trees import binary, call, case, cast, is_null, number, text
from coordinator.unparser.written import DUCKDB, SPARK, written
from shared.plan.types import Type, parse_type

Template = str | Callable[..., Any]

_BOTH = [
    "abs",
    "sign",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log10",
    "log2",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "degrees",
    "radians",
    "pi",
    "power",
    "lower",
    "upper",
    "length",
    "reverse",
    "ltrim",
    "rtrim",
    "trim",
    "lpad",
    "rpad",
    "concat",
    "repeat",
    "md5",
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "second",
    "quarter",
    "floor",
    "ceil",
    "round",
    "ascii",
    "cardinality",
]
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
    "skewness",
    "kurtosis",
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


def _extreme(function: str) -> Callable[..., Any]:
    """greatest and least: NULL as soon as one argument is."""

    def build(*values: Any) -> Any:
        return case([(is_null(v), exp.Null()) for v in values], call(function, *(v.copy() for v in values)))

    return build


def _replace(value: Any, search: Any, new: Any = None) -> Any:
    return call("replace", value, search, new if new is not None else text(""))


def _group(value: Any) -> Any:
    """The number of a group; engines want a bare literal."""
    if value is None:
        return number(0)
    inner = value.this if isinstance(value, exp.Cast) else value
    if not isinstance(inner, exp.Literal):
        raise TypeError("the group is not a literal")
    return number(int(str(inner.this)))


def _array_join_duck(values: Any, separator: Any, null: Any = None) -> Any:
    if null is None:
        return call("array_to_string", values, separator)
    filled = exp.Lambda(
        this=call("coalesce", exp.Var(this="procession_x"), null), expressions=[exp.to_identifier("procession_x")]
    )
    return call("array_to_string", call("list_transform", values, filled), separator)


def _bit_count_spark(value: Any, bits: Any) -> Any:
    width = _group(bits)
    mask = number((1 << int(str(width.this))) - 1)
    return call("bit_count", value if str(width.this) == "64" else binary(exp.BitwiseAnd, value, mask))


def _unit(value: Any) -> str:
    return str(value.this).lower() if isinstance(value, exp.Literal) else ""


def _round(value: Any, digits: Any = None) -> Any:
    return call("round", value) if digits is None else call("round", value, digits)


def _truncate_duck(value: Any, digits: Any = None) -> Any:
    return call("trunc", value) if digits is None else call("trunc", value, digits)


def _substr(value: Any, start: Any, length: Any = None) -> Any:
    """Presto gives '' for a start of 0 or beyond the beginning, where engines count on."""
    size = call("length", value)
    outside = exp.Or(
        this=binary(exp.EQ, start, number(0)),
        expression=binary(exp.GT, call("abs", start), size),
    )
    part = call("substr", value, start) if length is None else call("substr", value, start, length)
    bad = outside if length is None else exp.Or(this=outside, expression=binary(exp.LTE, length, number(0)))
    return case([(is_null(value), exp.Null()), (bad, text(""))], part)


def _split_part_duck(value: Any, separator: Any, index: Any) -> Any:
    parts = call("string_split", value, separator)
    return call("list_extract", parts, index)


def _date_add_duck(unit: Any, count: Any, moment: Any) -> Any:
    return binary(exp.Add, moment, call(f"to_{_plural(_unit(unit))}", count))


def _plural(unit: str) -> str:
    return f"{unit}s" if not unit.endswith("s") else unit


def _date_add_spark(unit: Any, count: Any, moment: Any) -> Any:
    return call("timestampadd", exp.Var(this=_unit(unit).upper()), cast(count, parse_type("integer"), "spark"), moment)


def _date_diff_duck(unit: Any, start: Any, end: Any) -> Any:
    return call("date_sub", unit, start, end)


def _date_diff_spark(unit: Any, start: Any, end: Any) -> Any:
    if _unit(unit) in ("month", "quarter", "year"):
        # As Joda counts: the last day of a month completes it, however long the month before was.
        last = binary(exp.EQ, call("day", end), call("day", call("last_day", end.copy())))
        later = exp.And(this=last, expression=binary(exp.GT, call("day", start), call("day", end.copy())))
        back = binary(exp.Sub, call("day", end.copy()), call("day", start.copy()))
        start = case([(later, call("timestampadd", exp.Var(this="DAY"), back, start.copy()))], start.copy())
    return call("timestampdiff", exp.Var(this=_unit(unit).upper()), start, end.copy())


def _day_of_week_duck(moment: Any) -> Any:
    return call("isodow", moment)


def _day_of_week_spark(moment: Any) -> Any:
    return binary(exp.Add, call("weekday", moment), number(1))


def _bit(symbol: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: binary(symbol, a, b)


def _mod(a: Any, b: Any) -> Any:
    return binary(exp.Mod, a, b)


def _element_at_duck(base: Any, key: Any) -> Any:
    return call("list_extract", base, key)


def _to_unixtime_spark(moment: Any) -> Any:
    return binary(
        exp.Div,
        cast(
            call("unix_micros", cast(moment, parse_type("timestamp with time zone"), "spark")),
            parse_type("double"),
            "spark",
        ),
        cast(text("1e6"), parse_type("double"), "spark"),
    )


def _json_duck(value: Any, path: Any) -> Any:
    return call("json_extract_string", value, path)


def _concat_arrays(function: str) -> Callable[..., Any]:
    def build(*arguments: Any) -> Any:
        result = arguments[0]
        for argument in arguments[1:]:
            result = call(function, result, argument)
        return result

    return build


def _join(function: str) -> Callable[..., Any]:
    def build(values: Any, separator: Any, null: Any = None) -> Any:
        return call(function, values, separator) if null is None else call(function, values, separator, null)

    return build


_SAME: dict[str, Template] = {n: n for n in _BOTH} | {n: _extreme(n) for n in ("greatest", "least")}
SCALARS: dict[str, dict[str, Template]] = {
    "duckdb": {
        **_SAME,
        "substr": _substr, "ceiling": "ceil", "truncate": _truncate_duck, "mod": _mod, "rand": "random",
        "random": "random", "pow": "power", "strpos": "strpos", "starts_with": "starts_with",
        "split": "string_split", "split_part": _split_part_duck, "chr": "chr", "codepoint": "unicode",
        "upper": "upper", "to_hex": "hex", "from_hex": "unhex", "to_base64": "to_base64", "from_base64": "from_base64",
        "to_utf8": "encode", "from_utf8": "decode", "regexp_like": "regexp_matches",
        "regexp_extract": lambda s, p, g=None: case(
            [(call("regexp_matches", s, p), call("regexp_extract", s.copy(), p.copy(), _group(g)))]),
        "regexp_replace": lambda s, p, r=None: call(
            "regexp_replace", s, p, call("replace", r, text("$"), text("\\")) if r is not None else text(""), text("g")),
        "array_sum": lambda a: call("coalesce", call("list_sum", a), number(0)),
        "any_match": lambda a, f: call("coalesce", call("list_bool_or", call("list_transform", a, f)), exp.Boolean(this=False)),
        "date_add": _date_add_duck, "date_diff": _date_diff_duck, "date_trunc": "date_trunc",
        "day_of_week": _day_of_week_duck, "dow": _day_of_week_duck, "day_of_month": "day", "day_of_year": "dayofyear",
        "doy": "dayofyear", "week": "week", "week_of_year": "week", "year_of_week": "isoyear", "yow": "isoyear",
        "to_unixtime": "epoch", "last_day_of_month": "last_day",
        "bitwise_and": _bit(exp.BitwiseAnd), "bitwise_or": _bit(exp.BitwiseOr),
        "bitwise_xor": lambda a, b: call("xor", a, b), "is_nan": "isnan", "is_finite": "isfinite",
        "is_infinite": "isinf", "nan": lambda: cast(text("NaN"), parse_type("double"), "duckdb"),
        "infinity": lambda: cast(text("Infinity"), parse_type("double"), "duckdb"), "e": lambda: call("exp", number(1)),
        "array_distinct": "list_distinct", "array_sort": "list_sort", "array_max": "list_max", "array_min": "list_min",
        "array_position": lambda a, v: call("coalesce", call("list_position", a, v), number(0)),
        "contains": "list_contains", "array_join": _array_join_duck, "flatten": "flatten",
        "cardinality": "len", "element_at": _element_at_duck, "slice": lambda a, s, n: call(
            "list_slice", a, s, binary(exp.Sub, binary(exp.Add, s, n), number(1))),
        "sequence": lambda a, b, s=None: call("generate_series", a, b) if s is None else call("generate_series", a, b, s),
        "array_intersect": "list_intersect", "arrays_overlap": "list_has_any", "map_keys": "map_keys",
        "map_values": "map_values", "map_entries": "map_entries", "map": "map", "transform": "list_transform",
        "filter": "list_filter", "json_extract_scalar": _json_duck, "json_parse": "json", "json_format": lambda j: j,
        "json_extract": lambda j, p: cast(call("json_extract", j, p), parse_type("varchar"), "duckdb"),
        "json_array_length": "json_array_length", "levenshtein_distance": "levenshtein",
        "hamming_distance": "hamming", "sha256": lambda v: call("unhex", call("sha256", v)),
        "md5": lambda v: call("unhex", call("md5", v)), "uuid": lambda: cast(call("uuid"), parse_type("varchar"), "duckdb"),
        "fail": lambda *m: call("error", m[-1]), "log": lambda b, x: call("log", b, x),
        "typeof": "typeof", "bit_count": lambda v, b: call("bit_count", v),
        "date": lambda v: cast(v, parse_type("date"), "duckdb"), "to_iso8601": lambda v: cast(v, parse_type("varchar"), "duckdb"),
        "from_unixtime": lambda v: call("to_timestamp", v),
        **{name: written(text, "duckdb") for name, text in DUCKDB.items()}, **DUCKDB_DATES,
        "replace": _replace,
    },
    "spark": {
        **_SAME,
        "substr": _substr, "ceiling": "ceil", "mod": _mod, "rand": "rand", "random": "rand", "pow": "power",
        "strpos": lambda s, t: call("locate", t, s), "starts_with": "startswith",
        "split": lambda s, d: call("split", s, call("concat", text("\\Q"), d, text("\\E"))),
        "split_part": "split_part", "chr": "char", "codepoint": "ascii", "to_hex": "hex", "from_hex": "unhex",
        "to_base64": "base64", "from_base64": "unbase64", "to_utf8": lambda s: call("encode", s, text("utf-8")),
        "from_utf8": lambda b: call("decode", b, text("utf-8")), "regexp_like": "regexp_like",
        "regexp_extract": lambda s, p, g=None: call("nullif", call("regexp_extract", s, p, _group(g)), text("")),
        "regexp_replace": lambda s, p, r=None: call("regexp_replace", s, p, r or text("")),
        "date_add": _date_add_spark, "date_diff": _date_diff_spark, "date_trunc": "date_trunc",
        "day_of_week": _day_of_week_spark, "dow": _day_of_week_spark, "day_of_month": "day", "day_of_year": "dayofyear",
        "doy": "dayofyear", "week": "weekofyear", "week_of_year": "weekofyear", "to_unixtime": _to_unixtime_spark,
        "last_day_of_month": "last_day", "bitwise_and": _bit(exp.BitwiseAnd), "bitwise_or": _bit(exp.BitwiseOr),
        "bitwise_xor": _bit(exp.BitwiseXor), "is_nan": "isnan",
        "nan": lambda: cast(text("NaN"), parse_type("double"), "spark"),
        "infinity": lambda: cast(text("Infinity"), parse_type("double"), "spark"), "e": "e",
        "array_distinct": "array_distinct", "array_sort": "array_sort", "array_max": "array_max",
        "array_min": "array_min", "array_position": "array_position", "contains": "array_contains",
        "array_join": _join("array_join"), "flatten": "flatten", "cardinality": "size",
        "element_at": lambda a, k: call("try_element_at", a, k), "slice": "slice", "sequence": "sequence",
        "array_intersect": "array_intersect", "array_union": "array_union", "array_except": "array_except",
        "arrays_overlap": "arrays_overlap", "array_remove": "array_remove", "map_keys": "map_keys",
        "map_values": "map_values", "map": "map_from_arrays", "transform": "transform", "filter": "filter",
        "any_match": "exists", "all_match": "forall", "reduce": "aggregate", "zip_with": "zip_with",
        "transform_keys": "transform_keys", "transform_values": "transform_values", "map_filter": "map_filter",
        "map_concat": "map_concat", "json_extract_scalar": "get_json_object", "json_extract": "get_json_object",
        "levenshtein_distance": "levenshtein", "sha256": lambda v: call("unhex", call("sha2", v, number(256))),
        "sha1": lambda v: call("unhex", call("sha1", v)), "md5": lambda v: call("unhex", call("md5", v)),
        "xxhash64": "xxhash64", "uuid": "uuid", "log": lambda b, x: call("log", b, x),
        "fail": lambda *m: call("raise_error", m[-1]), "soundex": "soundex", "date": lambda v: cast(v, parse_type("date"), "spark"),
        "url_encode": "url_encode", "url_decode": "url_decode", "width_bucket": "width_bucket",
        "from_unixtime": lambda v: call("timestamp_seconds", v), "shuffle": "shuffle", "translate": "translate",
        **{name: written(text, "spark") for name, text in SPARK.items()}, **SPARK_DATES,
        "replace": _replace, "bit_count": _bit_count_spark,
    },
}  # fmt: skip
_BOTH_BUILT: dict[str, Template] = {
    "geometric_mean": lambda v: call("exp", call("avg", call("ln", v))), "bitwise_xor_agg": "bit_xor",
    "max": lambda v: call("max", v), "min": lambda v: call("min", v),
    "max_by": lambda v, by: call("max_by", v, by), "min_by": lambda v, by: call("min_by", v, by),
}  # fmt: skip
AGGREGATES: dict[str, dict[str, Template]] = {
    "duckdb": {
        **{n: n for n in _AGGREGATES_BOTH if n not in ("checksum", "map_agg", "approx_percentile")},
        "approx_distinct": lambda v, _e=None: call("approx_count_distinct", v), "arbitrary": "any_value",
        "every": "bool_and", "array_agg": "list", "bitwise_and_agg": "bit_and", "bitwise_or_agg": "bit_or",
        "approx_percentile": lambda v, p: call("quantile_disc", v, p),
        "map_agg": lambda k, v: call("presto_map", call("list", k), call("list", v)),
        "set_agg": lambda v: call("list", v if isinstance(v, exp.Distinct) else exp.Distinct(expressions=[v])),
        **_BOTH_BUILT,
    },
    "spark": {
        **{n: n for n in _AGGREGATES_BOTH if n not in ("checksum", "map_agg", "histogram")},
        "approx_distinct": lambda v, e=None: call("approx_count_distinct", v) if e is None else call("approx_count_distinct", v, e),
        "arbitrary": "any_value", "bitwise_and_agg": "bit_and", "bitwise_or_agg": "bit_or",
        "array_agg": "array_agg", "map_agg": "map_agg", "set_agg": "set_agg", **_BOTH_BUILT,
        "approx_percentile": "approx_percentile",
    },
}  # fmt: skip


def apply(template: Template, arguments: Sequence[Any]) -> Any:
    """The engine's call of a template."""
    return call(template, *arguments) if isinstance(template, str) else template(*arguments)


def needs_cast(name: str, result: Type, dialect: str) -> bool:
    """Whether the engine's type of a function's result may differ from Presto's."""
    if result.base in ("boolean", "varchar", "unknown", "varbinary", "json", "array", "map", "row"):
        return False
    return not (dialect == "duckdb" and name in ("count", "row_number"))

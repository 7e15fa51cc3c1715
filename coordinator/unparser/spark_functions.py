# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Presto's scalar functions that Spark has with Presto's meaning; the Python kernels do the others.

An entry is a pattern of Spark's SQL, where ``{0}`` is the first argument, or a function of the argument trees. One that
raises TypeError leaves the call to the kernels: another number of arguments, a pattern that is no literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from coordinator.unparser.dates import SPARK_DATES
from coordinator.unparser.patterns_on_spark import has_group, may_be_empty, may_take_for_ever, with_all_letters
from coordinator.unparser.trees import binary, call, case, cast, is_null, number, text
from shared.plan.types import parse_type

Build = Callable[..., exp.Expr]
_PLACES = re.compile(r"\{(\d)\}")
_BLANK = "' \\t\\n\\u000b\\u000c\\r\\u001c\\u001d\\u001e\\u001f\\u1680\\u2000\\u2001\\u2002\\u2003\\u2004\\u2005\\u2006\\u2008\\u2009\\u200a\\u2028\\u2029\\u205f\\u3000'"
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = {"millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}


def written(pattern: str) -> Build:
    """A template of Spark's SQL; raises TypeError for another number of arguments."""
    width = 1 + max((int(place) for place in _PLACES.findall(pattern)), default=-1)

    def build(*arguments: exp.Expr) -> exp.Expr:
        if len(arguments) != width:
            raise TypeError(f"{len(arguments)} arguments")
        return exp.Var(this=pattern.format(*(a.sql(dialect="spark", comments=False) for a in arguments)))

    return build


def literal_of(value: exp.Expr) -> str:
    """The text of a literal; raises TypeError for anything computed."""
    inner = value.this if isinstance(value, exp.Cast | exp.Paren) else value
    if not isinstance(inner, exp.Literal):
        raise TypeError("not a literal")
    return str(inner.this)


def _unit(value: exp.Expr) -> str:
    unit = literal_of(value).lower()
    if unit not in _UNITS:
        raise TypeError(f"unit {unit}")
    return unit


_MOST = (1 << 31) - 1


def substr(value: exp.Expr, start: exp.Expr, length: exp.Expr | None = None) -> exp.Expr:
    """Presto gives '' for a start of 0 or beyond the beginning, where Spark counts on. Spark's places are integers."""
    first, size = _constant(start), None if length is None else _constant(length)
    if length is not None:
        bounded = case([(binary(exp.GT, length, number(_MOST)), number(_MOST))], length.copy())
        length = bounded if size is None else number(max(0, min(size, _MOST)))
    rest = () if length is None else (length,)
    if first is not None and 0 < first <= _MOST and (length is None or size is not None):
        return call("substr", value, number(first), *rest)
    characters = call("length", value)
    bad: exp.Expr = binary(exp.EQ, start, number(0))
    for beyond in (
        binary(exp.GT, start.copy(), characters),
        binary(exp.LT, start.copy(), exp.Neg(this=characters.copy())),
        *(binary(exp.LTE, each.copy(), number(0)) for each in rest),
    ):
        bad = exp.Or(this=bad, expression=beyond)
    part = call("substr", value.copy(), start.copy(), *rest)
    missing = [(is_null(each.copy()), exp.Null()) for each in (value, *rest)]
    return case([*missing, (bad, text(""))], part)


def _constant(value: exp.Expr) -> int | None:
    try:
        return int(literal_of(value))
    except (TypeError, ValueError):
        return None


_IOTA_BELOW = "\u1f80\u1f81\u1f82\u1f83\u1f84\u1f85\u1f86\u1f87\u1f90\u1f91\u1f92\u1f93\u1f94\u1f95\u1f96\u1f97\u1fa0\u1fa1\u1fa2\u1fa3\u1fa4\u1fa5\u1fa6\u1fa7\u1fb3\u1fc3\u1ff3"
"""Letters whose only form of one character is that of titles."""


def _each_letter(function: str, letter: str) -> Build:
    """As Presto, a code point for a code point, where Spark follows the rules of whole words: SS for a sharp s."""
    letters = f"array_join(transform(split({{0}}, ''), procession_x -> {letter}), '')"
    return written(f"CASE WHEN bit_length({{0}}) = 8 * length({{0}}) THEN {function}({{0}}) ELSE {letters} END")


_UPPER = _each_letter(
    "upper",
    f"CASE WHEN length(upper(procession_x)) = 1 THEN upper(procession_x) ELSE translate(procession_x, '{_IOTA_BELOW}', '{''.join(map(str.title, _IOTA_BELOW))}') END",
)
_LOWER = _each_letter("lower", "CASE WHEN procession_x = '\u0130' THEN 'i' ELSE lower(procession_x) END")


def _extreme(function: str) -> Build:
    """greatest and least: NULL as soon as one argument is. Spark's take no single one."""

    def build(*values: exp.Expr) -> exp.Expr:
        if len(values) == 1:
            return values[0]
        return case([(is_null(v), exp.Null()) for v in values], call(function, *(v.copy() for v in values)))

    return build


def _date_add(unit: exp.Expr, count: exp.Expr, instant: exp.Expr) -> exp.Expr:
    return call("timestampadd", exp.Var(this=_unit(unit).upper()), cast(count, parse_type("integer"), "spark"), instant)


def _date_diff(unit: exp.Expr, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    months = _MONTHS.get(_unit(unit))
    return (
        _months_between(months)(start, end)
        if months
        else call("timestampdiff", exp.Var(this=_unit(unit).upper()), start, end)
    )


def _months_between(step: int) -> Build:
    """Whole months, as Joda counts them: adding them to the earlier does not pass the later. The last day of a month completes it."""
    months = "((year({1}) - year({0})) * 12 + month({1}) - month({0}))"
    ahead = f"CAST(timestampadd(MONTH, {months}, {{0}}) > {{1}} AS INT)"
    back = f"CAST(timestampadd(MONTH, -{months}, {{1}}) > {{0}} AS INT)"
    return written(f"(({months} + CASE WHEN {{0}} <= {{1}} THEN -{ahead} ELSE {back} END) DIV {step})")


def _date_trunc(unit: exp.Expr, instant: exp.Expr) -> exp.Expr:
    return call("date_trunc", text(_unit(unit)), instant)


def _split(value: exp.Expr, delimiter: exp.Expr) -> exp.Expr:
    if not literal_of(delimiter):
        raise TypeError("an empty delimiter")
    return call("split", value, text(re.sub(r"([^\w\s])", r"\\\1", literal_of(delimiter))))


def _split_part(value: exp.Expr, delimiter: exp.Expr, index: exp.Expr) -> exp.Expr:
    if int(literal_of(index)) < 1:
        raise TypeError("an index below one")
    place = number(int(literal_of(index)))
    return case([(exp.Not(this=is_null(value)), call("try_element_at", _split(value.copy(), delimiter), place))])


def _pad(function: str) -> Build:
    def build(value: exp.Expr, size: exp.Expr, padding: exp.Expr) -> exp.Expr:
        if not literal_of(padding) or int(literal_of(size)) < 0:
            raise TypeError("padding that Presto refuses")
        return call(function, value, number(int(literal_of(size))), padding)

    return build


def _pattern(pattern: exp.Expr) -> exp.Expr:
    """Java's pattern; raises TypeError for one that differs by row, of which nothing is known, or takes for ever."""
    if may_take_for_ever(literal_of(pattern)):
        raise TypeError("a pattern that Java goes back over")
    return text(with_all_letters(literal_of(pattern)))


def _regexp_extract(value: exp.Expr, pattern: exp.Expr, group: exp.Expr | None = None) -> exp.Expr:
    index = 0 if group is None else int(literal_of(group))
    written, made = literal_of(pattern), _pattern(pattern)
    found = call("regexp_extract", value, made, number(index))
    if index and not has_group(written, index):
        # Spark gives '' for a group that took no part, where Presto gives NULL.
        return call("nullif", found, text(""))
    return case([(call("regexp_like", value.copy(), made.copy()), found)])


def _regexp_like(value: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    return call("regexp_like", value, _pattern(pattern))


def _regexp_extract_all(value: exp.Expr, pattern: exp.Expr) -> exp.Expr:
    if may_be_empty(literal_of(pattern)):
        raise TypeError("nothing stands between the halves of a character, too")
    return call("regexp_extract_all", value, _pattern(pattern), number(0))


def _regexp_replace(value: exp.Expr, pattern: exp.Expr, new: exp.Expr | None = None) -> exp.Expr:
    if isinstance(new, exp.Lambda):
        raise TypeError("a lambda")
    if may_be_empty(literal_of(pattern)) and new is not None and literal_of(new):
        raise TypeError("nothing stands between the halves of a character, too")
    return call("regexp_replace", value, _pattern(pattern), new if new is not None else text(""))


def _to_unixtime(instant: exp.Expr) -> exp.Expr:
    millis = call("unix_millis", cast(instant, parse_type("timestamp with time zone"), "spark"))
    return written("(CAST({0} AS DOUBLE) / 1e3D)")(millis)


def _replace(value: exp.Expr, search: exp.Expr, new: exp.Expr | None = None) -> exp.Expr:
    if not literal_of(search):
        raise TypeError("an empty text stands between all characters")
    return call("replace", value, search, new if new is not None else text(""))


def _trim(side: str) -> Build:
    def build(value: exp.Expr, characters: exp.Expr | None = None) -> exp.Expr:
        cut = exp.Var(this=_BLANK) if characters is None else characters
        if side == "both":
            return call("btrim", value, cut)
        return call("ltrim" if side == "left" else "rtrim", cut, value)

    return build


def _array_join(values: exp.Expr, separator: exp.Expr, null: exp.Expr | None = None) -> exp.Expr:
    return call("array_join", values, separator) if null is None else call("array_join", values, separator, null)


def _comparator(values: exp.Expr, function: exp.Expr | None = None) -> exp.Expr:
    if function is not None and len(function.expressions) != 2:
        raise TypeError("a key")
    return call("array_sort", values) if function is None else call("array_sort", values, function)


def _logarithm(function: str) -> Build:
    """-Infinity and NaN where Spark gives NULL."""
    return written(
        f"CASE WHEN {{0}} > 0 THEN {function}({{0}}) WHEN {{0}} = 0 THEN CAST('-Infinity' AS DOUBLE) WHEN {{0}} < 0 THEN CAST('NaN' AS DOUBLE) END"
    )


def _named(*names: str, count: int = 1) -> dict[str, Build]:
    places = ", ".join(f"{{{i}}}" for i in range(count))
    return {name: written(f"{name}({places})") for name in names}


_PATTERNS: dict[str, str] = {
    "ceiling": "ceil({0})", "pow": "power({0}, {1})", "e": "e()", "pi": "pi()", "rand": "rand()", "random": "rand()",
    "nan": "CAST('NaN' AS DOUBLE)", "infinity": "CAST('Infinity' AS DOUBLE)", "is_nan": "CASE WHEN {0} IS NOT NULL THEN isnan({0}) END",
    "is_finite": "(NOT isnan({0}) AND abs({0}) < CAST('Infinity' AS DOUBLE))", "is_infinite": "(abs({0}) = CAST('Infinity' AS DOUBLE))",
    "truncate": "CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END", "mod": "({0} % {1})",
    "bitwise_and": "(({0}) & ({1}))", "bitwise_or": "(({0}) | ({1}))", "bitwise_xor": "(({0}) ^ ({1}))", "bitwise_not": "(~ ({0}))",
    "strpos": "locate({1}, {0})", "starts_with": "startswith({0}, {1})", "ends_with": "endswith({0}, {1})", "bit_length": "bit_length({0})",
    "levenshtein_distance": "levenshtein({0}, {1})", "url_encode": "url_encode({0})", "url_decode": "url_decode({0})",
    "to_hex": "hex({0})", "to_base64": "base64({0})", "to_utf8": "encode({0}, 'utf-8')", "from_utf8": "make_valid_utf8(CAST({0} AS STRING))",
    "md5": "unhex(md5({0}))", "sha1": "unhex(sha1({0}))", "sha256": "unhex(sha2({0}, 256))", "sha512": "unhex(sha2({0}, 512))", "crc32": "crc32({0})", "uuid": "uuid()",
    "day_of_month": "day({0})", "day_of_year": "dayofyear({0})", "doy": "dayofyear({0})", "day_of_week": "(weekday({0}) + 1)", "dow": "(weekday({0}) + 1)",
    "week": "weekofyear({0})", "week_of_year": "weekofyear({0})", "year_of_week": "extract(YEAROFWEEK FROM {0})", "yow": "extract(YEAROFWEEK FROM {0})",
    "last_day_of_month": "last_day({0})", "millisecond": "(CAST(extract(SECOND FROM {0}) * 1000 AS BIGINT) % 1000)",
    "cardinality": "size({0})", "contains": "array_contains({0}, {1})", "element_at": "try_element_at({0}, {1})",
    "flatten": "flatten(filter({0}, procession_x -> procession_x IS NOT NULL))", "none_match": "NOT exists({0}, {1})", "any_match": "exists({0}, {1})", "all_match": "forall({0}, {1})",
    "reduce": "aggregate({0}, {1}, {2}, {3})", "zip_with": "zip_with({0}, {1}, {2})", "map_zip_with": "map_zip_with({0}, {1}, {2})",
    "array_max": "CASE WHEN NOT exists({0}, procession_x -> procession_x IS NULL) THEN array_max({0}) END",
    "array_min": "CASE WHEN NOT exists({0}, procession_x -> procession_x IS NULL) THEN array_min({0}) END",
    "map_entries": "transform(map_entries({0}), procession_x -> named_struct('field0', procession_x.key, 'field1', procession_x.value))",
    "json_array_length": "json_array_length({0})", "json_format": "{0}",
}  # fmt: skip
SPARK: dict[str, Build] = {
    **_named("abs", "sqrt", "cbrt", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh", "degrees", "radians",
             "sign", "floor", "ceil", "length", "reverse", "year", "month", "day", "hour", "minute", "second", "quarter",
             "array_distinct", "map_keys", "map_values"),
    **_named("power", "atan2", "array_position", "array_remove", "array_except", "array_intersect", "array_union", "arrays_overlap",
             "transform", "filter", "transform_values", "map_filter", "map_concat", count=2),
    **{name: written(pattern) for name, pattern in _PATTERNS.items()},
    **{name: _logarithm(name) for name in ("ln", "log2", "log10")},
    **{name: _extreme(name) for name in ("greatest", "least")},
    "round": lambda v, d=None: call("round", v) if d is None else call("round", v, number(int(literal_of(d)))),
    "lower": _LOWER, "upper": _UPPER, "substr": substr, "replace": _replace, "trim": _trim("both"), "ltrim": _trim("left"), "rtrim": _trim("right"), "lpad": _pad("lpad"), "rpad": _pad("rpad"),
    "split": _split, "split_part": _split_part, "concat": lambda *parts: call("concat", *parts),
    "regexp_like": _regexp_like, "regexp_extract_all": _regexp_extract_all, "regexp_extract": _regexp_extract, "regexp_replace": _regexp_replace,
    "date_add": _date_add, "date_diff": _date_diff, "date_trunc": _date_trunc, "to_unixtime": _to_unixtime, "date_format": SPARK_DATES["date_format"],
    "fail": lambda *parts: call("raise_error", parts[-1]), "array_join": _array_join, "array_sort": _comparator,
}  # fmt: skip

# ruff: noqa: E501
# A table: one form beside the other reads better than one below the other.
"""Expressions over the columns of ``tests.functions.vectorised_cases`` as a grammar: what each part may be, as data.

A part in braces is written out again, until it has been as often as it may; then forms without parts are taken.
"""

from __future__ import annotations

import re

from benchmarks.fuzz.choices import Choices

_PART = re.compile(r"\{(\w+)\}")
LETTERS = [*"abfz0192 .,|^$*+?()[]{}\\/'\"%_-#&~`@!:;<>=\t\nßé😀İıſK"]
_UNITS = ("millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
GRAMMAR: dict[str, tuple[str, ...]] = {
    "texts": (
        "{text}", "split({text}, {literal})", "split_part({text}, {literal}, {few})", "replace({text}, {literal}, {literal})", "replace({text}, {literal})",
        "strpos({text}, {literal})", "starts_with({text}, {literal})", "ends_with({text}, {literal})", "{text} LIKE {like}", "{text} LIKE {escaped} ESCAPE '#'",
        "lpad({text}, {few}, {literal})", "rpad({text}, {few}, {literal})", "trim({text}, {literal})", "ltrim({text}, {literal})", "rtrim({text}, {literal})",
        "trim({text})", "ltrim({text})", "rtrim({text})", "concat({literal}, {text}, {literal})", "regexp_like({text}, '{pattern}')", "regexp_extract({text}, '{pattern}')",
        "regexp_replace({text}, '{pattern}', '<>')", "regexp_extract_all({text}, '{pattern}')", "substr({text}, {index})", "substr({text}, {index}, {few})",
        "{text} = {literal}", "{text} < {literal}", "{text} IN ({literal}, {literal})", "CASE {text} WHEN {literal} THEN {literal} ELSE {text} END",
        "upper({text} || {literal})", "lower({literal} || {text})", "length({text} || {literal})", "contains(split({text}, ','), {literal})",
        "try_cast({text} AS {simple})", "CAST({text} AS char({few}))", "url_encode({text})", "to_hex(to_utf8({text}))", "json_extract_scalar(k, '$.a') = {literal}",
    ),
    "text": ("t", "u", "t || u", "reverse(t)", "trim({text})", "coalesce({text}, {literal})", "substr({text}, {few})", "upper({text})"),
    "like": ("'%a%'", "'f%'", "'_a%'", "'%1_0%'", "'%.%'", "'%'", "''", "'%a%f%'", "'%[%'", "'%\\%'"),
    "escaped": ("'a#%'", "'%#_%'", "'##%'", "'_#%_'"),
    "pattern": ("{piece}", "{piece}{piece}", "{piece}{piece}{piece}"),
    "piece": ("a", "f", "[a-f]", r"\d", ".", "[^0-9]", "0?", "1*", "[.]", r"\.", r"\$", "(a|f)", r"\\", "é", "x{0,2}", r"\S+?", "^", "$", "[A-Za-z]", r"\-", "[-+]"),
    "few": ("1", "2", "3", "5", "9"), "index": ("-3", "-1", "0", "1", "2", "7"),
    "simple": ("bigint", "integer", "double", "real", "decimal(12,2)", "boolean"),
    "numbers": (
        "{number}", "{number}", "{number} < {number}", "{number} = {number}", "{number} <> {number}", "greatest({number}, {number})",
        "CAST({whole} * 2 AS varchar)", "CAST({number} AS double)",
    ),
    "number": (
        "{whole}", "d", "r", "{figure}", "({number} + {number})", "({number} - {number})", "({number} * {number})", "({number} / {divisor})",
        "({number} % {divisor})", "round({number}, {index})", "round({number})", "abs({number})", "floor({number})", "ceil({number})", "sign({number})",
        "-({number})", "coalesce({number}, {number})", "try_cast({number} AS {numeric})",
    ),
    "whole": ("i", "j", "p", "q", "w", "s", "v"),
    "figure": ("0", "7", "100", "1.5", "0.05", "-0.333", "1e0", "2.5e0", "1e-3", "DECIMAL '12.34'", "REAL '1.5'", "1234567890123"),
    "divisor": ("2", "7", "3.0", "0.7", "2e0", "REAL '0.7'"),
    "numeric": ("bigint", "integer", "smallint", "double", "real", "decimal(18,4)", "decimal(38,6)", "decimal(10,1)"),
    "dates": (
        "{date}", "{time}", "{zoned}", "{part}({date})", "{part}({time})", "{part}({zoned})", "{clock}({time})", "{clock}({zoned})",
        "date_diff('{days}', {date}, {date})", "date_diff('{unit}', {time}, {time})", "date_diff('{unit}', {zoned}, {zoned})", "{date} < {date}",
        "{time} >= {time}", "{zoned} < {zoned}", "{date} = {time}", "{date} BETWEEN {date} AND {date}", "date_format({any}, '{mysql}')",
        "format_datetime({any}, '{joda}')", "CAST({any} AS varchar)", "to_unixtime({time})", "to_unixtime({zoned})", "to_iso8601({any})",
        "CAST({zoned} AS date)", "CAST({zoned} AS timestamp)", "greatest({date}, {date})", "least({time}, {time})", "date({zoned})", "IF({date} < {date}, {time}, {time})",
    ),
    "date": (
        "x", "y", "date_add('{days}', {count}, {date})", "date_trunc('{days}', {date})", "CAST({time} AS date)", "({date} + INTERVAL '3' MONTH)",
        "({date} - INTERVAL '1' DAY)", "last_day_of_month({date})",
    ),
    "time": (
        "m", "n", "date_add('{unit}', {count}, {time})", "date_trunc('{unit}', {time})", "CAST({date} AS timestamp)", "({time} + INTERVAL '90' MINUTE)",
        "({time} - INTERVAL '1' YEAR)", "from_unixtime(j * 3600.5e0)",
    ),
    "zoned": (
        "z", "(z AT TIME ZONE '{zone}')", "({zoned} AT TIME ZONE '{zone}')", "CAST({time} AS timestamp with time zone)", "date_trunc('{unit}', {zoned})",
        "date_add('{unit}', {count}, {zoned})", "({zoned} + INTERVAL '1' MONTH)", "from_iso8601_timestamp(CAST(x AS varchar) || 'T01:02:03.456Z')",
    ),
    "any": ("{date}", "{time}", "{zoned}"), "count": ("1", "-1", "30", "j", "-j"), "unit": _UNITS, "days": _UNITS[4:],
    "zone": ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC", "+05:30", "America/Havana"),
    "part": ("year", "quarter", "month", "day", "day_of_week", "day_of_year", "week", "year_of_week"), "clock": ("hour", "minute", "second", "millisecond"),
    "mysql": ("%Y-%m-%d", "%d/%m/%Y %H:%i:%s", "%b %e %Y", "%W", "%j", "%T", "%x-%v", "%Y%m%d%H", "%p %h", "%f"),
    "joda": ("yyyy-MM-dd", "dd.MM.yyyy HH:mm", "EEE", "yyyyMMddHHmmss", "hh:mm a", "D", "w", "HH:mm:ss.SSS"),
    "collections": (
        "{array}", "{list}", "{map}", "cardinality({array})", "cardinality({map})", "contains({array}, j)", "element_at({array}, {place})", "element_at({map}, 'a')",
        "array_join({list}, '-', 'N')", "any_match({array}, q -> {holds})", "all_match({array}, q -> {holds})", "none_match({list}, q -> {fits})",
        "reduce({array}, i, (o, q) -> o + coalesce(q, 1), o -> o)", "array_max({array})", "array_min({list})", "array_sum({array})", "array_position({array}, 3)", "{array} = {array}",
    ),
    "array": (
        "e", "ARRAY[i, j, NULL]", "sequence(1, 3)", "transform({array}, q -> {made})", "filter({array}, q -> {holds})", "array_sort({array})", "array_distinct({array})",
        "array_union({array}, {array})", "array_except({array}, {array})", "array_remove({array}, 3)", "slice({array}, {place}, 2)", "concat({array}, {array})",
        "reverse({array})", "zip_with({array}, {array}, (q, o) -> coalesce(q, 0) + coalesce(o, 1))", "transform({list}, q -> length(q))",
    ),
    "list": (
        "f", "ARRAY[t, u]", "split(u, ',')", "ARRAY['a', NULL, '']", "transform({list}, q -> {said})", "filter({list}, q -> {fits})", "array_sort({list})",
        "array_distinct({list})", "transform({array}, q -> CAST(q AS varchar))", "map_keys({map})",
    ),
    "map": ("g", "map(ARRAY['a', 'b'], ARRAY[i, NULL])", "map_filter({map}, (o, q) -> {holds})", "transform_values({map}, (o, q) -> {made})", "map_concat({map}, {map})"),
    "place": ("1", "2", "-1"), "made": ("q + 1", "q * j", "q % 3", "coalesce(q, 0)", "-q", "IF(q > 2, q, NULL)", "abs(q)"),
    "holds": ("q > 1", "q IS NULL", "q = j", "q BETWEEN 0 AND 5", "q IN (1, 3, NULL)", "NOT (q < 2)", "q % 2 = 0 OR q IS NULL"),
    "said": ("upper(q)", "q || t", "coalesce(q, '-')", "substr(q, 1, 1)", "replace(q, 'a', 'bb')", "trim(q)"), "fits": ("q = 'a'", "q > 'b'", "length(q) > 0", "q LIKE 'a%'", "q IS NULL"),
}  # fmt: skip
KINDS = ("texts", "numbers", "dates", "collections")


def written(choices: Choices, part: str, depth: int = 3) -> str:
    """A form of a part, with at most so many forms within each other."""
    if part == "literal":
        return "'" + "".join(choices.pick(LETTERS) for _ in range(1 + choices.below(3))).replace("'", "''") + "'"
    forms = GRAMMAR[part]
    plain = [form for form in forms if not any(p in GRAMMAR and _nests(p) for p in _PART.findall(form))]
    form = choices.pick(forms if depth > 0 or not plain else plain)
    return _PART.sub(lambda match: written(choices, match[1], depth - 1) if _is_part(match[1]) else match[0], form)


def _is_part(name: str) -> bool:
    return name == "literal" or name in GRAMMAR


def _nests(part: str) -> bool:
    """Whether some form of it has parts of its own."""
    return any(map(_is_part, _PART.findall(" ".join(GRAMMAR[part]))))

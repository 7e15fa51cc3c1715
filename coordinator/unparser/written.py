# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Presto functions written out in each engine's SQL; ``{0}`` is the first argument."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

_PLACES = re.compile(r"\{(\d)\}")

DUCKDB: dict[str, str] = {
    "all_match": "list_bool_and(list_transform({0}, {1}))",
    "none_match": "NOT list_bool_or(list_transform({0}, {1}))",
    "array_except": "list_filter(list_distinct({0}), lambda procession_x: NOT coalesce(list_contains({1}, procession_x), false))",
    "array_union": "list_distinct(list_concat({0}, {1}))",
    "array_remove": "list_filter({0}, lambda procession_x: procession_x <> {1})",
    "array_sort_desc": "list_sort({0}, 'DESC', 'NULLS LAST')",
    "array_average": "list_avg({0})",
    "array_has_duplicates": "(len({0}) <> len(list_distinct({0})))",
    "bitwise_not": "(~ ({0}))",
    "bitwise_left_shift": "(({0}) << ({1}))",
    "bitwise_arithmetic_shift_right": "(({0}) >> ({1}))",
    "bitwise_shift_left": "(({0}) << ({1}))",
    "ends_with": "ends_with({0}, {1})",
    "find_first": "list_extract(list_filter({0}, {1}), 1)",
    "from_base": "from_base_text({0}, {1})",
    "from_iso8601_date": "CAST({0} AS DATE)",
    "is_json_scalar": "(json_type({0}) NOT IN ('OBJECT', 'ARRAY'))",
    "json_array_contains": "coalesce(list_contains(json_extract_string({0}, '$[*]'), CAST({1} AS VARCHAR)), false)",
    "json_array_get": "CAST(json_extract({0}, CAST({1} AS BIGINT)) AS VARCHAR)",
    "json_extract_scalar": "CASE WHEN json_type(json_extract({0}, {1})) NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string({0}, {1}) END",
    "json_extract": "json_text(json_extract({0}, {1}))",
    "json_parse": "json_text({0})",
    "map_from_entries": "map_from_entries({0})",
    "map_concat": "map_concat({0}, {1})",
    "millisecond": "(millisecond({0}) % 1000)",
    "regexp_extract_all": "regexp_extract_all({0}, {1})",
    "regexp_split": "string_split_regex({0}, {1})",
    "regexp_position": "CASE WHEN {0} IS NOT NULL THEN coalesce(nullif(strpos({0}, regexp_extract({0}, {1})), 0), -1) END",
    "sha1": "unhex(sha1({0}))",
    "sign": "sign({0})",
    "strrpos": "CASE WHEN strpos(reverse({0}), reverse({1})) = 0 THEN 0 ELSE length({0}) - strpos(reverse({0}), reverse({1})) - length({1}) + 2 END",
    "to_base": "lower(to_base({0}, CAST({1} AS INTEGER)))",
    "translate": "translate({0}, {1}, {2})",
    "trail": "right({0}, {1})",
    "url_encode": "replace(url_encode({0}), '%20', '+')",
    "url_decode": "url_decode(replace({0}, '+', ' '))",
    "element_at": "list_extract({0}, {1})",
    "repeat": "list_transform(generate_series(1, {1}), lambda procession_i: {0})",
    "ngrams": "list_transform(generate_series(1, greatest(len({0}) - {1} + 1, 1)), lambda procession_i: list_slice({0}, procession_i, procession_i + {1} - 1))",
    "cosine_similarity": "list_cosine_similarity({0}, {1})",
    "bit_length": "bit_length({0})",
    "jarowinkler_similarity": "jaro_winkler_similarity({0}, {1})",
    "lpad": "lpad({0}, CAST({1} AS INTEGER), {2})",
    "rpad": "rpad({0}, CAST({1} AS INTEGER), {2})",
    "chr": "chr(CAST({0} AS INTEGER))",
    "contains": "CASE WHEN list_contains({0}, {1}) THEN true WHEN len({0}) <> list_count({0}) THEN NULL ELSE list_contains({0}, {1}) END",
    "array_max": "CASE WHEN len({0}) = list_count({0}) THEN list_max({0}) END",
    "array_min": "CASE WHEN len({0}) = list_count({0}) THEN list_min({0}) END",
}
SPARK: dict[str, str] = {
    "truncate": "CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END",
    "none_match": "NOT exists({0}, {1})",
    "array_sum": "aggregate({0}, CAST(0 AS DOUBLE), (procession_s, procession_x) -> procession_s + coalesce(procession_x, 0))",
    "array_average": "(aggregate({0}, CAST(0 AS DOUBLE), (procession_s, procession_x) -> procession_s + coalesce(procession_x, 0)) / nullif(size(filter({0}, procession_x -> procession_x IS NOT NULL)), 0))",
    "array_sort_desc": "array_sort({0}, (procession_x, procession_y) -> CASE WHEN procession_x IS NULL AND procession_y IS NULL THEN 0 WHEN procession_x IS NULL THEN 1 WHEN procession_y IS NULL THEN -1 WHEN procession_x > procession_y THEN -1 WHEN procession_x < procession_y THEN 1 ELSE 0 END)",
    "array_has_duplicates": "(size({0}) <> size(array_distinct({0})))",
    "array_frequency": "map_from_entries(transform(filter(array_distinct({0}), procession_x -> procession_x IS NOT NULL), procession_x -> struct(procession_x, size(filter({0}, procession_y -> procession_y = procession_x)))))",
    "bit_length": "bit_length({0})",
    "bitwise_not": "(~ ({0}))",
    "bitwise_left_shift": "shiftleft({0}, CAST({1} AS INT))",
    "bitwise_shift_left": "shiftleft({0}, CAST({1} AS INT))",
    "bitwise_arithmetic_shift_right": "shiftright({0}, CAST({1} AS INT))",
    "bitwise_logical_shift_right": "shiftrightunsigned({0}, CAST({1} AS INT))",
    "crc32": "crc32({0})",
    "ends_with": "endswith({0}, {1})",
    "factorial": "factorial(CAST({0} AS INT))",
    "find_first": "try_element_at(filter({0}, {1}), 1)",
    "from_base": "CAST(conv({0}, CAST({1} AS INT), 10) AS BIGINT)",
    "to_base": "lower(conv(CAST({0} AS STRING), 10, CAST({1} AS INT)))",
    "from_iso8601_date": "CAST({0} AS DATE)",
    "hamming_distance": "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN CASE WHEN length({0}) <> length({1}) THEN raise_error('The input strings to hamming_distance function must have the same length') ELSE size(filter(sequence(1, greatest(length({0}), 1)), procession_i -> substr({0}, procession_i, 1) <> substr({1}, procession_i, 1))) END END",
    "is_finite": "(NOT isnan({0}) AND abs({0}) < CAST('Infinity' AS DOUBLE))",
    "is_infinite": "(abs({0}) = CAST('Infinity' AS DOUBLE))",
    "is_json_scalar": "(schema_of_variant(try_parse_json({0})) NOT LIKE 'OBJECT%' AND schema_of_variant(try_parse_json({0})) NOT LIKE 'ARRAY%')",
    "json_array_length": "json_array_length({0})",
    "json_array_contains": "coalesce(array_contains(transform(CAST(try_parse_json({0}) AS ARRAY<VARIANT>), procession_x -> CAST(procession_x AS STRING)), CAST({1} AS STRING)), false)",
    "json_array_get": "to_json(try_element_at(CAST(try_parse_json({0}) AS ARRAY<VARIANT>), CAST({1} AS INT) + CASE WHEN {1} < 0 THEN 0 ELSE 1 END))",
    "json_extract_scalar": "CASE WHEN schema_of_variant(variant_get(try_parse_json({0}), {1})) NOT LIKE 'OBJECT%' AND schema_of_variant(variant_get(try_parse_json({0}), {1})) NOT LIKE 'ARRAY%' THEN get_json_object({0}, {1}) END",
    "json_extract": "to_json(variant_get(try_parse_json({0}), {1}))",
    "json_parse": "to_json(parse_json({0}))",
    "json_format": "{0}",
    "json_size": "CASE WHEN schema_of_variant(variant_get(try_parse_json({0}), {1})) LIKE 'ARRAY%' THEN json_array_length(get_json_object({0}, {1})) WHEN schema_of_variant(variant_get(try_parse_json({0}), {1})) LIKE 'OBJECT%' THEN size(json_object_keys(get_json_object({0}, {1}))) WHEN variant_get(try_parse_json({0}), {1}) IS NOT NULL THEN 0 END",
    "map_entries": "map_entries({0})",
    "map_from_entries": "map_from_entries({0})",
    "map_zip_with": "map_zip_with({0}, {1}, {2})",
    "millisecond": "(CAST(extract(SECOND FROM {0}) * 1000 AS BIGINT) % 1000)",
    "array_max": "CASE WHEN NOT exists({0}, procession_x -> procession_x IS NULL) THEN array_max({0}) END",
    "array_min": "CASE WHEN NOT exists({0}, procession_x -> procession_x IS NULL) THEN array_min({0}) END",
    "multimap_from_entries": "map_from_entries(transform(array_distinct(transform({0}, procession_e -> procession_e.field0)), procession_k -> struct(procession_k, transform(filter({0}, procession_e -> procession_e.field0 = procession_k), procession_e -> procession_e.field1))))",
    "regexp_extract_all": "regexp_extract_all({0}, {1}, 0)",
    "regexp_split": "split({0}, {1})",
    "regexp_position": "CASE WHEN {0} IS NOT NULL THEN coalesce(nullif(regexp_instr({0}, {1}), 0), -1) END",
    "reverse": "reverse({0})",
    "repeat": "array_repeat({0}, CAST({1} AS INT))",
    "split_to_map": "str_to_map({0}, concat('\\\\Q', {1}, '\\\\E'), concat('\\\\Q', {2}, '\\\\E'))",
    "strrpos": "CASE WHEN locate(reverse({1}), reverse({0})) = 0 THEN 0 ELSE length({0}) - locate(reverse({1}), reverse({0})) - length({1}) + 2 END",
    "trail": "right({0}, {1})",
    "typeof": "typeof({0})",
    "year_of_week": "extract(YEAROFWEEK FROM {0})",
    "yow": "extract(YEAROFWEEK FROM {0})",
    "zip": "arrays_zip({0}, {1})",
    "current_timezone": "current_timezone()",
    "split_part": "CASE WHEN {0} IS NOT NULL THEN try_element_at(split({0}, concat('\\\\Q', {1}, '\\\\E')), CAST({2} AS INT)) END",
    "slice": "slice({0}, CAST({1} AS INT), CAST({2} AS INT))",
    "lpad": "lpad({0}, CAST({1} AS INT), {2})",
    "rpad": "rpad({0}, CAST({1} AS INT), {2})",
    "chr": "chr({0})",
    "from_hex": "unhex({0})",
    "ngrams": "transform(sequence(1, greatest(size({0}) - CAST({1} AS INT) + 1, 1)), procession_i -> slice({0}, procession_i, CAST({1} AS INT)))",
}


def written(pattern: str, dialect: str) -> Callable[..., Any]:
    """A template of the engine's SQL; raises TypeError for another number of arguments."""
    width = 1 + max((int(place) for place in _PLACES.findall(pattern)), default=-1)

    def build(*arguments: Any) -> Any:
        if len(arguments) != width:
            raise TypeError(f"{len(arguments)} arguments")
        return exp.Var(this=pattern.format(*(a.sql(dialect=dialect, comments=False) for a in arguments)))

    return build

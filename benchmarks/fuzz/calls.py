"""What expressions are made of: calls and operators by their result, as data."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.fuzz.both import SAME

BOOLEAN, BIGINT, INTEGER, DOUBLE = "boolean", "bigint", "integer", "double"
DECIMAL, VARCHAR, DATE, TIMESTAMP = "decimal(12,2)", "varchar", "date", "timestamp"
ARRAY, TEXTS, MAP, ROW = "array(bigint)", "array(varchar)", "map(varchar, bigint)", "row(x bigint, y varchar)"
SCALARS = (BIGINT, INTEGER, VARCHAR, DOUBLE, BOOLEAN, DATE, DECIMAL, TIMESTAMP)
NESTED = (ARRAY, TEXTS, MAP, ROW)
ODD = (
    "real",
    "smallint",
    "tinyint",
    "varbinary",
    "char(3)",
    "decimal(38,10)",
    "json",
    "time",
    "timestamp with time zone",
    "interval day to second",
    "interval year to month",
    "varchar(4)",
    "array(array(double))",
    "map(bigint, array(varchar))",
    "row(a date, b row(c boolean))",
)
"""Types that only our side is asked about."""


@dataclass(frozen=True)
class Call:
    """``duck``: how DuckDB says it; None where it means something else."""

    result: str
    text: str
    arguments: tuple[str, ...]
    duck: str | None = SAME


def _calls() -> tuple[Call, ...]:
    found = [Call(BOOLEAN, f"({{0}} {sign} {{1}})", (t, t)) for t in SCALARS for sign in ("=", "<", ">=", "<>")]
    found += [Call(BOOLEAN, "({0} IS NULL)", (t,)) for t in (*SCALARS, *NESTED)]
    found += [Call(BOOLEAN, "({0} IS DISTINCT FROM {1})", (t, t)) for t in SCALARS]
    found += [Call(BOOLEAN, "({0} BETWEEN {1} AND {2})", (t, t, t)) for t in SCALARS]
    found += [Call(BOOLEAN, "({0} IN ({1}, {2}))", (t, t, t)) for t in SCALARS]
    found += [Call(BOOLEAN, "({0} NOT IN ({1}, {2}, NULL))", (t, t, t)) for t in (BIGINT, VARCHAR)]
    for t in (*SCALARS, *NESTED):
        found.append(Call(t, "CASE WHEN {0} THEN {1} ELSE {2} END", (BOOLEAN, t, t)))
        found.append(Call(t, "IF({0}, {1}, {2})", (BOOLEAN, t, t), "CASE WHEN {0} THEN {1} ELSE {2} END"))
        found.append(Call(t, "coalesce({0}, {1})", (t, t)))
        found.append(Call(t, "TRY({0})", (t,), None))
    for t in SCALARS:
        found.append(Call(t, "nullif({0}, {1})", (t, t)))
        found.append(Call(t, "CASE {0} WHEN {1} THEN {2} END", (BIGINT, BIGINT, t)))
        none = "CASE WHEN ({0}) IS NULL OR ({1}) IS NULL THEN NULL ELSE %s({0}, {1}) END"
        found += [Call(t, f"{f}({{0}}, {{1}})", (t, t), none % f) for f in ("greatest", "least")]
    return tuple(found)


OF_ANY = _calls()
PLAIN = (
    Call(BOOLEAN, "({0} AND {1})", (BOOLEAN, BOOLEAN)),
    Call(BOOLEAN, "({0} OR {1})", (BOOLEAN, BOOLEAN)),
    Call(BOOLEAN, "(NOT {0})", (BOOLEAN,)),
    Call(BOOLEAN, "({0} LIKE '%a%')", (VARCHAR,)),
    Call(BOOLEAN, "({0} LIKE 'b_%')", (VARCHAR,)),
    Call(BOOLEAN, "({0} LIKE {1} ESCAPE '#')", (VARCHAR, VARCHAR), None),
    Call(BOOLEAN, "starts_with({0}, {1})", (VARCHAR, VARCHAR)),
    Call(BOOLEAN, "contains({0}, {1})", (ARRAY, BIGINT), None),
    Call(BOOLEAN, "regexp_like({0}, '[a-c]+')", (VARCHAR,), "regexp_matches({0}, '[a-c]+')"),
    Call(BOOLEAN, "({0} = ANY (VALUES {1}, {2}))", (BIGINT, BIGINT, BIGINT), "({0} IN ({1}, {2}))"),
    Call(BOOLEAN, "any_match({0}, e -> e > {1})", (ARRAY, BIGINT), None),
    Call(BIGINT, "({0} + {1})", (BIGINT, BIGINT)),
    Call(BIGINT, "({0} - {1})", (BIGINT, INTEGER)),
    Call(BIGINT, "({0} * {1})", (BIGINT, INTEGER)),
    Call(BIGINT, "(- {0})", (BIGINT,)),
    Call(BIGINT, "({0} / {1})", (BIGINT, BIGINT), "({0} // {1})"),
    Call(BIGINT, "({0} % {1})", (BIGINT, BIGINT)),
    Call(BIGINT, "abs({0})", (BIGINT,)),
    Call(BIGINT, "sign({0})", (BIGINT,)),
    Call(BIGINT, "length({0})", (VARCHAR,)),
    Call(BIGINT, "strpos({0}, {1})", (VARCHAR, VARCHAR)),
    Call(BIGINT, "cardinality({0})", (ARRAY,), "len({0})"),
    Call(BIGINT, "cardinality({0})", (MAP,), None),
    Call(BIGINT, "element_at({0}, 1)", (ARRAY,), "list_extract({0}, 1)"),
    Call(BIGINT, "element_at({0}, -1)", (ARRAY,), "list_extract({0}, -1)"),
    Call(BIGINT, "element_at({0}, {1})", (MAP, VARCHAR), None),
    Call(BIGINT, "{0}.x", (ROW,), None),
    Call(BIGINT, "reduce({0}, {1}, (s, e) -> s + e, s -> s)", (ARRAY, BIGINT), None),
    Call(BIGINT, "year({0})", (DATE,)),
    Call(BIGINT, "month({0})", (TIMESTAMP,)),
    Call(BIGINT, "day_of_week({0})", (DATE,), "isodow({0})"),
    Call(BIGINT, "day_of_year({0})", (TIMESTAMP,), "dayofyear({0})"),
    Call(BIGINT, "date_diff('day', {0}, {1})", (DATE, DATE)),
    Call(BIGINT, "date_diff('hour', {0}, {1})", (TIMESTAMP, TIMESTAMP), None),
    Call(BIGINT, "CAST({0} AS bigint)", (INTEGER,)),
    Call(BIGINT, "CAST({0} AS bigint)", (BOOLEAN,)),
    Call(BIGINT, "CAST({0} AS bigint)", (VARCHAR,), None),
    Call(BIGINT, "TRY_CAST({0} AS bigint)", (VARCHAR,), None),
    Call(BIGINT, "CAST({0} AS bigint)", (DOUBLE,), None),
    Call(BIGINT, "CAST({0} AS bigint)", (DECIMAL,), None),
    Call(BIGINT, "bitwise_and({0}, {1})", (BIGINT, BIGINT), "({0} & {1})"),
    Call(INTEGER, "({0} + {1})", (INTEGER, INTEGER)),
    Call(INTEGER, "({0} - {1})", (INTEGER, INTEGER)),
    Call(INTEGER, "abs({0})", (INTEGER,)),
    Call(INTEGER, "CAST({0} AS integer)", (BIGINT,)),
    Call(INTEGER, "CAST({0} AS integer)", (BOOLEAN,)),
    Call(DOUBLE, "({0} + {1})", (DOUBLE, DOUBLE)),
    Call(DOUBLE, "({0} * {1})", (DOUBLE, INTEGER)),
    Call(DOUBLE, "({0} / nullif({1}, 0))", (DOUBLE, DOUBLE)),
    Call(DOUBLE, "abs({0})", (DOUBLE,)),
    Call(DOUBLE, "floor({0})", (DOUBLE,)),
    Call(DOUBLE, "ceil({0})", (DOUBLE,)),
    Call(DOUBLE, "round({0})", (DOUBLE,), None),
    Call(DOUBLE, "sqrt(abs({0}))", (DOUBLE,)),
    Call(DOUBLE, "power({0}, 2)", (DOUBLE,)),
    Call(DOUBLE, "CAST({0} AS double)", (BIGINT,)),
    Call(DOUBLE, "CAST({0} AS double)", (DECIMAL,)),
    Call(DOUBLE, "CAST({0} AS double)", (VARCHAR,), None),
    Call(DOUBLE, "infinity() * {0}", (DOUBLE,), None),
    Call(DECIMAL, "CAST({0} AS decimal(12,2))", (INTEGER,)),
    Call(DECIMAL, "CAST({0} + {1} AS decimal(12,2))", (DECIMAL, DECIMAL)),
    Call(DECIMAL, "CAST({0} * {1} AS decimal(12,2))", (DECIMAL, DECIMAL), None),
    Call(DECIMAL, "CAST({0} / {1} AS decimal(12,2))", (DECIMAL, DECIMAL), None),
    Call(DECIMAL, "(- {0})", (DECIMAL,)),
    Call(DECIMAL, "abs({0})", (DECIMAL,)),
    Call(VARCHAR, "({0} || {1})", (VARCHAR, VARCHAR)),
    Call(VARCHAR, "lower({0})", (VARCHAR,)),
    Call(VARCHAR, "upper({0})", (VARCHAR,)),
    Call(VARCHAR, "reverse({0})", (VARCHAR,), None),
    Call(VARCHAR, "trim({0})", (VARCHAR,)),
    Call(VARCHAR, "substr({0}, 2)", (VARCHAR,)),
    Call(VARCHAR, "substr({0}, 1, 3)", (VARCHAR,)),
    Call(VARCHAR, "substr({0}, {1})", (VARCHAR, BIGINT), None),
    Call(VARCHAR, "replace({0}, 'a', 'xy')", (VARCHAR,)),
    Call(VARCHAR, "concat({0}, '-', {1})", (VARCHAR, VARCHAR), "({0} || '-' || {1})"),
    Call(VARCHAR, "lpad({0}, 5, '*')", (VARCHAR,)),
    Call(VARCHAR, "split_part({0}, 'a', 1)", (VARCHAR,), None),
    Call(VARCHAR, "CAST({0} AS varchar)", (BIGINT,)),
    Call(VARCHAR, "CAST({0} AS varchar)", (DATE,)),
    Call(VARCHAR, "CAST({0} AS varchar)", (DECIMAL,)),
    Call(VARCHAR, "CAST({0} AS varchar)", (DOUBLE,), None),
    Call(VARCHAR, "CAST({0} AS varchar)", (TIMESTAMP,), None),
    Call(VARCHAR, "CAST({0} AS varchar)", (BOOLEAN,)),
    Call(VARCHAR, "json_format(CAST({0} AS json))", (ARRAY,), None),
    Call(VARCHAR, "json_format(CAST({0} AS json))", (MAP,), None),
    Call(VARCHAR, "json_format(CAST({0} AS json))", (ROW,), None),
    Call(VARCHAR, "json_extract_scalar({0}, '$.a')", (VARCHAR,), None),
    Call(VARCHAR, "array_join({0}, ',')", (TEXTS,), None),
    Call(VARCHAR, "date_format({0}, '%Y-%m')", (TIMESTAMP,), "strftime({0}, '%Y-%m')"),
    Call(VARCHAR, "{0}.y", (ROW,), None),
    Call(VARCHAR, "typeof({0})", (DECIMAL,), None),
    Call(DATE, "date_add('day', {0}, {1})", (BIGINT, DATE), None),
    Call(DATE, "date_add('month', 1, {0})", (DATE,), "({0} + INTERVAL 1 MONTH)::DATE"),
    Call(DATE, "date_trunc('month', {0})", (DATE,), "date_trunc('month', {0})::DATE"),
    Call(DATE, "CAST({0} AS date)", (TIMESTAMP,)),
    Call(DATE, "({0} + INTERVAL '3' DAY)", (DATE,), "({0} + INTERVAL 3 DAY)::DATE"),
    Call(TIMESTAMP, "CAST({0} AS timestamp)", (DATE,)),
    Call(TIMESTAMP, "date_trunc('hour', {0})", (TIMESTAMP,)),
    Call(TIMESTAMP, "({0} + INTERVAL '2' HOUR)", (TIMESTAMP,), "({0} + INTERVAL 2 HOUR)"),
    Call(TIMESTAMP, "from_unixtime({0})", (DOUBLE,), None),
    Call(ARRAY, "ARRAY[{0}, {1}]", (BIGINT, BIGINT), "[{0}, {1}]"),
    Call(ARRAY, "({0} || {1})", (ARRAY, ARRAY), None),
    Call(ARRAY, "filter({0}, e -> e > {1})", (ARRAY, BIGINT), None),
    Call(ARRAY, "transform({0}, e -> e + {1})", (ARRAY, BIGINT), None),
    Call(ARRAY, "array_distinct({0})", (ARRAY,), None),
    Call(ARRAY, "array_sort({0})", (ARRAY,), None),
    Call(ARRAY, "slice({0}, 1, 2)", (ARRAY,), None),
    Call(ARRAY, "sequence(1, {0} % 9 + 1)", (BIGINT,), None),
    Call(ARRAY, "map_values({0})", (MAP,), None),
    Call(TEXTS, "split({0}, 'a')", (VARCHAR,), None),
    Call(TEXTS, "ARRAY[{0}, {1}]", (VARCHAR, VARCHAR), "[{0}, {1}]"),
    Call(TEXTS, "map_keys({0})", (MAP,), None),
    Call(TEXTS, "transform({0}, e -> CAST(e AS varchar))", (ARRAY,), None),
    Call(MAP, "map(ARRAY['a', 'b'], ARRAY[{0}, {1}])", (BIGINT, BIGINT), None),
    Call(MAP, "map_filter({0}, (k, v) -> v > {1})", (MAP, BIGINT), None),
    Call(MAP, "map_concat({0}, {1})", (MAP, MAP), None),
    Call(ROW, "CAST(ROW({0}, {1}) AS row(x bigint, y varchar))", (BIGINT, VARCHAR), None),
)
AGGREGATES = (
    Call(BIGINT, "count({0})", (BIGINT,)),
    Call(BIGINT, "count(DISTINCT {0})", (VARCHAR,)),
    Call(BIGINT, "count(DISTINCT {0})", (DATE,)),
    Call(BIGINT, "sum({0})", (BIGINT,)),
    Call(BIGINT, "sum(DISTINCT {0})", (INTEGER,)),
    Call(BIGINT, "min({0})", (BIGINT,)),
    Call(BIGINT, "count_if({0})", (BOOLEAN,)),
    Call(BIGINT, "approx_distinct({0})", (VARCHAR,), None),
    Call(BIGINT, "max_by({0}, {1})", (BIGINT, BIGINT), None),
    Call(INTEGER, "max({0})", (INTEGER,)),
    Call(DOUBLE, "sum({0})", (DOUBLE,)),
    Call(DOUBLE, "avg({0})", (BIGINT,)),
    Call(DOUBLE, "avg({0})", (DOUBLE,)),
    Call(DOUBLE, "approx_percentile({0}, 0.5)", (DOUBLE,), None),
    Call(DOUBLE, "stddev({0})", (BIGINT,), None),
    Call(DOUBLE, "corr({0}, {1})", (DOUBLE, DOUBLE), None),
    Call(DECIMAL, "max({0})", (DECIMAL,)),
    Call(DECIMAL, "CAST(avg({0}) AS decimal(12,2))", (DECIMAL,), None),
    Call(VARCHAR, "min({0})", (VARCHAR,)),
    Call(VARCHAR, "max({0})", (VARCHAR,)),
    Call(VARCHAR, "arbitrary({0})", (VARCHAR,), None),
    Call(BOOLEAN, "bool_and({0})", (BOOLEAN,)),
    Call(BOOLEAN, "every({0})", (BOOLEAN,), "bool_and({0})"),
    Call(DATE, "max({0})", (DATE,)),
    Call(TIMESTAMP, "min({0})", (TIMESTAMP,)),
    Call(ARRAY, "array_agg({0} ORDER BY {0})", (BIGINT,)),
    Call(ARRAY, "array_agg(DISTINCT {0})", (BIGINT,), None),
    Call(TEXTS, "array_agg({0} ORDER BY {0} DESC)", (VARCHAR,)),
    Call(MAP, "map_agg({0}, {1})", (VARCHAR, BIGINT), None),
    Call(MAP, "histogram({0})", (VARCHAR,), None),
)
WINDOWS = (
    Call(BIGINT, "rank() OVER (PARTITION BY {0} ORDER BY {1})", (BOOLEAN, BIGINT)),
    Call(BIGINT, "dense_rank() OVER (ORDER BY {0} DESC, {1})", (VARCHAR, DATE)),
    Call(BIGINT, "count(*) OVER (PARTITION BY {0})", (VARCHAR,)),
    Call(BIGINT, "sum({0}) OVER (PARTITION BY {1} ORDER BY {2})", (BIGINT, INTEGER, DATE)),
    Call(BIGINT, "max({0}) OVER (ORDER BY {1} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", (BIGINT, VARCHAR)),
    Call(BIGINT, "row_number() OVER (PARTITION BY {0} ORDER BY {1})", (DATE, BIGINT), None),
    Call(BIGINT, "ntile(3) OVER (ORDER BY {0})", (BIGINT,), None),
    Call(BIGINT, "lag({0}, 2, {1}) OVER (PARTITION BY {2} ORDER BY {0})", (BIGINT, BIGINT, VARCHAR), None),
    Call(VARCHAR, "first_value({0}) IGNORE NULLS OVER (PARTITION BY {1} ORDER BY {2})", (VARCHAR, DATE, BIGINT), None),
    Call(DOUBLE, "percent_rank() OVER (ORDER BY {0})", (DOUBLE,)),
    Call(DOUBLE, "cume_dist() OVER (PARTITION BY {0} ORDER BY {1})", (BOOLEAN, DECIMAL)),
    Call(
        DOUBLE,
        "avg({0}) OVER (ORDER BY {1} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
        (DOUBLE, BIGINT),
        None,
    ),
)
CALLS = (*PLAIN, *OF_ANY)
LITERALS: dict[str, tuple[str, ...]] = {
    BIGINT: ("BIGINT '1'", "BIGINT '0'", "BIGINT '-3'", "CAST(NULL AS bigint)", "BIGINT '7'"),
    INTEGER: ("2", "0", "-1", "CAST(NULL AS integer)", "40"),
    DOUBLE: ("1.5E0", "0E0", "-2.25E0", "CAST(NULL AS double)"),
    DECIMAL: ("CAST(1.50 AS decimal(12,2))", "CAST(0 AS decimal(12,2))", "CAST(-7.25 AS decimal(12,2))"),
    VARCHAR: ("'a'", "''", "'bcab'", "CAST(NULL AS varchar)", "'Ünï'"),
    BOOLEAN: ("true", "false", "CAST(NULL AS boolean)"),
    DATE: ("DATE '2020-02-29'", "DATE '1969-12-31'", "CAST(NULL AS date)"),
    TIMESTAMP: ("TIMESTAMP '2020-02-29 12:30:15.250'", "TIMESTAMP '1970-01-01 00:00:00.000'"),
    ARRAY: ("ARRAY[BIGINT '1', 2]", "CAST(ARRAY[] AS array(bigint))", "CAST(NULL AS array(bigint))"),
    TEXTS: ("ARRAY['a', 'b', NULL]", "CAST(ARRAY[] AS array(varchar))"),
    MAP: ("map(ARRAY['a'], ARRAY[BIGINT '1'])", "CAST(NULL AS map(varchar, bigint))"),
    ROW: ("CAST(ROW(1, 'a') AS row(x bigint, y varchar))", "CAST(NULL AS row(x bigint, y varchar))"),
}
NO_DUCK = ("map(", "ROW(", "row(", "ARRAY[", "array(")
"""Literals with these words are ours alone."""
HOSTILE = (
    "NULL",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "nan()",
    "-infinity()",
    "''",
    "'\x01'",
    "'(['",
    "'%'",
    "DECIMAL '99999999999999999999999999999999999999'",
    "DATE '9999-12-31'",
    "DATE '-0001-01-01'",
    "TIMESTAMP '0001-01-01 00:00:00.000 +14:00'",
    "INTERVAL '2' YEAR",
    "INTERVAL '1000000000' DAY",
    "TIME '23:59:59.999'",
    "X'00ff'",
    "ARRAY[]",
    "ARRAY[NULL]",
    "MAP()",
    "ROW(NULL, 1)",
    "JSON 'null'",
    "JSON '{\"a\": [1, null]}'",
    "x -> x",
    "(x, y) -> x",
    "CHAR 'ab '",
    "IPADDRESS '::1'",
    "REAL '1.5'",
    "TINYINT '-128'",
    "ST_Point(0, nan())",
    "approx_set(1)",
    "current_timestamp",
)
"""Arguments with which calls of any function are tried."""

"""Expressions that the embedded engine computes by itself, and columns with plain and odd values for them."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

_ODD_TEXTS = (
    "", " ", "0", "-0", "+7", " 12 ", "007", "1e3", "1E400", ".5", "5.", "-1.50", "1_000", "0x10",
    "9223372036854775807",
    "9223372036854775808", "99999999999999999999", "NaN", "Infinity", "inf", "1.0f", "true", "T", "yes", "2024-02-29",
    "2023-02-29", "2024-2-9", " 2024-01-01 ", "0000-01-01", "12345-01-01", "2024-01-01 24:00:00", "2024-13-01",
    "2024-01-01 10:20:30", "2024-01-01T10:20:30.1234567", "2024-01-01 10:20:30.123", "2024-01-01 10:20:60",
    "2023-05-06 07:08:09", "2022-12-31 23:59:59", "2024-01-01T10:20:30.123Z", "2024-02-30T10:20:30Z",
    "2024-02-29T10:20:30Z", "2024-02-29T10:20+01:00", "2024-060", "2024-02-29T10:20:30.123456+02:00",
    "1969-12-31T23:59:59.999999Z", "2024-02-29T10:20:30.123456+00:00", "2024-02-29T10:20:30.1-00:00",
    "1969-12-31T23:59:59.999999-05:30", "2024-02-29T10:20:30.1+14:00", "2024-02-29T10:20:30.1-18:00",
    "2024-01-01 00:00:00 UTC", "\u00e9t\u00e9 a,b,,c", "stra\u00dfe", "e\u0301a,e\u0301", "\U0001f600,x", "\t tab\n",
    "a,b,c", "\u2003wide\u3000",
    "\u06f3\u06f4", "1\n", "aXbXc", "foo bar", "2024-01-01\n", "a\x0bb 7", "x\x1cy", "a\rb+7", "\x00a.b", "12\r",
)  # fmt: skip
_ODD_DOUBLES = (
    0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -2.5, 1e-3, 9.99e-4, 1e7, 9999999.999, 1.005, 2.675, 1e15, 1e22, 1e300, -1e300,
    5e-324,
    float("nan"), float("inf"), float("-inf"), 2147483647.5, -2147483648.5, 9.223372036854775e18, 9.3e18,
    0.49999999999999994,
    123456789.125, 3.5e38, 127.5, 32767.49, 4503599627370497.5,
)  # fmt: skip
_INTEGERS = (0, 1, -1, 7, -7, 99, 100, 12345, -(1 << 31), (1 << 31) - 1, (1 << 63) - 1, -(1 << 63), 999_999, -(10**12))
_DAYS = (
    date(200, 1, 1),
    date(1969, 12, 31),
    date(2024, 1, 31),
    date(2024, 2, 29),
    date(2023, 12, 31),
    date(2024, 12, 30),
)
_ODD_REALS = (0.0, 0.1, 1.5, 3e38, float("nan"), 415164.625, 40190.8125)
_ODD_SUMS = (*map(Decimal, ("0", "0.01", "-0.03", "1", "-2.5", f"{10**31}", f"-{10**31 - 1}", f"{10**29}.99")),)
_MONEY = pa.decimal128(12, 2)
_START = datetime(2000, 1, 1)


_ODD_JSON = (
    "", "null", "[]", "{}", "[1,2]", "nan", '{"a":1,}', '{"a":NaN}', '{"b":-Infinity,"a":1}', '{"a":-0}', '{"a":1e2}',
    '{"a":1.50}', '{"a":12345678901234567890123}', '{"a":18446744073709551615}', '{"a":-9223372036854775808}',
    '{"a":1} x',
    '{"a":"\\u0000b"}', '{"a":"\\ud800"}', "{'a':1}", '{"a":1/*c*/}', '{"a":"\u00e9\\n\\/\\t\\b"}', '{"a":"x\ty"}',
    '{"a":01}', '\ufeff{"a":1}', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a":{"b":1,"b":2}}', '{"a":{"0":"zero"}}',
    '{"a":[{"b":"x"},null]}', '{"a":{"b":[1,[2]]}}', '{"a":null}', '{"a":"inf, ]"}', '{"a":[1, 2 ,3.0]}',
    '[{"a":{"b":1}}]',
    "[" * 1200 + "]" * 1200, '{"a":{"b":"deep"},"c":' + "[" * 1100 + "]" * 1100 + "}", '{"a":' + "7" * 5000 + "}",
    '{"a":"\x7f\\u001f"}', '{"a":+1}', '{"a":.5}', '{"a":tru}', ' {"a" : true , "c" : "x"}\n', '{"a":"true"}',
    '{"A":1}', '[]', ' [ 1 , -2,"x", null ] ', '[true,[1]]', '{"b":1,"a":[1, 2],"ab":null}', '{"b":2,"a":1,"b":3}',
    '"text"', ' 17 ', '-0', '{"z":"{","y":0}', '["{"]', '[1.0]', '["a\\\\"]', '{"b":{"c":1},"a":2}', '[{"b":1,"a":2}]',
    '[01]', '{"a":["x]y","}"],"B":-0.001,"C":1.5}', '[0.0001]', '[123456.5, -1.0, 0.05, 1.10, 1234567.5, 0.0]',
    '{"a":"\U0001f600","c":1}', '["\U0001f600"]', '["\\ud83d\\ude00","\\u001f\\\\u001f"]',
    '{"\u00e9":1,"a":2}', '["\u00e9","x\x7f"]', '[1,]', '[1 2]',
    '{"a":"' + "long " * 1000 + '","c":1}',
    '{"a": {"b": [1, {"c": "2024-01-02 -0", "d": 0.5}], "e": -0}}',
    '{"a": [1.50, -0, 1e2]}', '{"a": {"b": {"c": [ ]}}}',
    '{"a": {"x": 12345678901234567890, "y": "3.14"}}',
    '{"a": [{"k": "v\\/w"}, {"k": true}]}', '{"a": [-0.0, 1.0]}',
    '{"a": {"p": "a,-0", "q": ":1.5", "r": [0]}}', '{"a": {"b": "é😀"}}', '{"a": [123456789012345678]}',
    '{"a": [[["x"], {}], {"f": 0.000001, "g": 1e-7}]}', '{"a": {"n": 1, "n": 2, "m": {"n": 3}}}', '{"a": [0, -1, 10]}',
)  # fmt: skip


_ODD_URLS = (
    "", "http:", "http://", "http://h", "//h/p", "/p?q", "mailto:a@b", "http://a b/c", "http://h:80", "http://h:/p",
    "http://h:99999999999/p", "http://user@h/p", "http://h/p?k=1&k=2", "http://h/p?kk=1&k=2#f", "http://h/p?k&b=+x%20y",
    "http://h/%41?k=%C3%A9#%zz", "HTTP://H.COM?k=a+b#?x", "http://h#f#g", "http://h/p?#", "http://[::1]:8080/p?k=v",
    "ftp://h/p?a=k=2&k=", "http://h/\u00e9?k=\u00e9", "http://h?k=1?2&x#k=9", "http://h/p?x=1#a?k=3", "a%2", "100%25",
    "a+b%20c%C3%A9", "%41%7e%0a", "~*-_. !", "http://h_x/p", "http://h/p\n", "urn:isbn:1", "x://h/a|b", "http://-/?k=",
)  # fmt: skip


_VALUES = (
    "null", "true", "false", "0", "-0", "1.5", "-0.25", "1e3", "1.0E10", "127", "128", "-129", "32768", "2147483648",
    "999999999999999999", "9223372036854775807", "9223372036854775808", '""', '"text"', '"17"', '" 8 "', '"1.5"', '"t"',
    '"a\\"b"', '"\\u001F"', '"null"', "[]", "[1,2,null]", '["a","b c",null]', '[1,"2",true]', "[1.5,2]", "[[1]]", "{}",
    '{"a":1}', '[ "x" , 1 ]', '["\\n"]', "[128,-129]", "[true,false,null]", '["]"]', "[0.1,-0.0]",
    "123456789012345678901",
)  # fmt: skip


def _address(by: random.Random) -> str:
    query = "&".join(f"{by.choice('kbx')}={by.randrange(99)}" for _ in range(by.randrange(4)))
    port = by.choice(("", "", ":8080"))
    return f"https://www.host{by.randrange(9)}.com{port}/a/{by.randrange(99)}{'?' * bool(query)}{query}" + by.choice(
        ("", "#top")
    )


def _document(by: random.Random) -> str:
    value = by.choice(
        ['"text"', "17", "-3", "true", "false", "null", '{"b":"inner"}', '{"b":5}', '[1,"two",null]', "2.5"]
    )
    return f'{{"id":{by.randrange(999)}, "a":{value}, "c":"word{by.randrange(9)}"}}'


def _several(by: random.Random, values: Any) -> list[Any]:
    return [by.choice([*values, None]) if by.random() < 0.2 else by.choice(values) for _ in range(by.randrange(5))]


def table(rows: int = 2000, seed: int = 7) -> pa.Table:
    """Columns of every kind that the expressions read, with NULLs."""
    by = random.Random(seed)

    def chosen(odd: tuple[Any, ...], plain: Any) -> list[Any]:
        kinds = [by.random() for _ in range(rows)]
        return [None if k < 0.03 else by.choice(odd) if k < 0.4 else plain() for k in kinds]

    def moment() -> datetime:
        return _START + timedelta(microseconds=by.randrange(-(10**15), 10**15))

    def digits(precision: int, scale: int) -> Decimal:
        return Decimal(by.randrange(-(10 ** by.randint(1, precision)) + 1, 10**precision)).scaleb(-scale)

    texts = (lambda: str(by.randrange(10**6)), lambda: f"{by.random() * 100:.3f}", lambda: f"{moment():%Y-%m-%d}")
    moments = chosen((datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29), _START), moment)
    doubles = (lambda: by.random() * 10 ** by.randint(-4, 18), lambda: by.randrange(-(10**5), 10**5) / 1000)
    return pa.table(
        {
            "t": pa.array(chosen(_ODD_TEXTS, lambda: by.choice(texts)()), pa.string()),
            "u": pa.array(chosen(_ODD_TEXTS, lambda: f"word{by.randrange(99)} foo,bar"), pa.string()),
            "i": pa.array(chosen(_INTEGERS, lambda: by.randrange(-1000, 1000)), pa.int64()),
            "j": pa.array(chosen((0, 1, -1, 2, 3), lambda: by.randrange(1, 20)), pa.int64()),
            "d": pa.array(chosen(_ODD_DOUBLES, lambda: by.choice(doubles)()), pa.float64()),
            "r": pa.array(chosen(_ODD_REALS, lambda: by.random() * 1000), pa.float32()),
            "p": pa.array(chosen((Decimal("0.00"), Decimal("2.50"), Decimal("-0.05")), lambda: digits(9, 2)), _MONEY),
            "q": pa.array(chosen((Decimal("0.0000"), Decimal("-0.5000")), lambda: digits(6, 4)), pa.decimal128(6, 4)),
            "w": pa.array(chosen((Decimal("0.5"),), lambda: digits(30, 4)), pa.decimal128(30, 4)),
            "s": pa.array(chosen(_ODD_SUMS, lambda: digits(by.choice((9, 20, 37)), 2)), pa.decimal128(38, 2)),
            "v": pa.array(chosen(_ODD_SUMS, lambda: digits(by.choice((12, 25, 38)), 6)), pa.decimal128(38, 6)),
            "x": pa.array(chosen(_DAYS, lambda: moment().date()), pa.date32()),
            "y": pa.array(chosen(_DAYS, lambda: moment().date()), pa.date32()),
            "m": pa.array(moments, pa.timestamp("us")),
            "n": pa.array(chosen((datetime(2024, 1, 31), datetime(2024, 2, 29, 12)), moment), pa.timestamp("us")),
            "z": pa.array([v and v.replace(tzinfo=UTC) for v in moments], pa.timestamp("us", "UTC")),
            "b": pa.array(chosen((True, False), lambda: True), pa.bool_()),
            "k": pa.array(chosen(_ODD_JSON, lambda: _document(by)), pa.string()),
            "o": pa.array(chosen(_VALUES, lambda: str(by.randrange(-99, 999))), pa.string()),
            "g": pa.array(
                chosen(
                    ({}, {"a": None}), lambda: {c: by.choice((None, by.randrange(9))) for c in by.sample("abcd", 2)}
                ),
                pa.map_(pa.string(), pa.int64()),
            ),
            "h": pa.array(chosen(_ODD_URLS, lambda: _address(by)), pa.string()),
            "e": pa.array(
                chosen(([], [None], [1, None], [3, 3]), lambda: _several(by, range(-3, 9))), pa.list_(pa.int64())
            ),
            "f": pa.array(chosen(([], [None], ["", None]), lambda: _several(by, "abc,")), pa.list_(pa.string())),
        }
    )  # fmt: skip


TYPES = {
    "t": "varchar", "u": "varchar", "i": "bigint", "j": "bigint", "d": "double", "r": "real", "p": "decimal(12,2)",
    "q": "decimal(6,4)", "s": "decimal(38,2)", "v": "decimal(38,6)", "w": "decimal(30,4)", "x": "date", "y": "date",
    "m": "timestamp", "n": "timestamp", "z": "timestamp with time zone", "b": "boolean", "k": "varchar",
    "o": "json", "g": "map(varchar,bigint)", "h": "varchar", "e": "array(bigint)", "f": "array(varchar)",
}  # fmt: skip

CASTS = (
    *(f"try_cast(t AS {kind})" for kind in (
        "tinyint", "smallint", "integer", "bigint", "double", "real", "decimal(10,2)", "decimal(38,0)", "boolean",
        "date",
        "timestamp",
    )),
    *(f"try_cast({v} AS {kind})" for v in ("d", "r", "p", "w") for kind in ("integer", "bigint", "smallint",
    "varchar", "double")),
    *(f"try_cast(i AS {kind})" for kind in ("varchar", "decimal(10,0)", "decimal(18,2)", "boolean", "double",
    "varchar(25)")),
    "try_cast(d AS decimal(12,2))", "try_cast(d AS decimal(38,10))", "try_cast(r AS decimal(12,3))",
    "try_cast(d AS real)", "CAST(try_cast(d AS decimal(12,2)) AS double)",
    "try_cast(q AS varchar)", "try_cast(b AS varchar)", "try_cast(b AS integer)", "try_cast(b AS double)",
    "CAST(x AS varchar)",
    "CAST(m AS varchar)", "CAST(z AS varchar)", "CAST(m AS date)", "CAST(x AS timestamp)", "CAST(z AS date)",
    "CAST(z AS timestamp)",
    "CAST(x AS timestamp with time zone)", "CAST(m AS timestamp with time zone)",
)  # fmt: skip
TEXTS = (
    "length(t)", "upper(t)", "reverse(t)", "substr(t, 2)", "substr(t, 2, 3)", "substr(u, j, j)", "trim(t)", "ltrim(t)",
    "rtrim(t)", "replace(t, '-', '/')", "replace(t, 'e')", "replace(u, t, '_')", "split_part(u, ',', 2)",
    "split_part(t, '-', 1)",
    "strpos(u, ',')", "strpos(u, t)", "ends_with(u, 'bar')", "lpad(t, 12, '0')", "rpad(t, 5, 'xy')",
    "regexp_like(u, 'foo|b')",
    "split_part(u, ',', j)", "concat(t, '-', u)", "CAST(i AS varchar) || t", "try_cast(substr(t, 1, 4) AS bigint)",
    "upper(trim(t))", "lower(substr(u, 1, 5))", "coalesce(try_cast(t AS double), 0e0)", "length(replace(u, ',', ''))",
)  # fmt: skip
MATHS = (
    "CAST(r / REAL '0.7' AS double)", "CAST(r * r / 3 AS double)", "(r / 3.0) + d", "round(r / 0.7, 3)",
    "abs(d)", "abs(p)", "abs(i)", "floor(d)", "ceil(d)", "floor(p)", "ceiling(q)", "round(d)", "round(d, 2)",
    "round(d, 6)",
    "round(r, 1)", "round(p)", "round(p, 1)", "round(w, 2)", "round(i)", "round(i, -3)",
    "sign(d)", "sign(i)", "mod(i, 7)", "mod(i, j)",
    "mod(d, 3e0)", "mod(p, q)", "sqrt(d)", "exp(d)", "ln(d)", "log2(d)", "log10(d)", "power(d, 2)", "is_nan(d)",
    "is_finite(d)", "is_infinite(d)", "greatest(i, j)", "least(d, 1e0)", "greatest(t, u)", "least(x, y)",
    "bitwise_and(i, j)",
    "bitwise_or(i, j)", "bitwise_xor(i, j)", "p / q", "q / p", "w / q",
    "s / s", "s / v", "v / s", "s / p", "p / s", "s / DECIMAL '3'", "v / q", "(s * DECIMAL '1.0000') / s",
    "round(s)", "round(s, 1)", "round(v, 2)", "round(s / v, 2)", "round(v, 7)",
    "try_cast(round(s / DECIMAL '50') AS integer)", "try_cast(s AS integer)", "try_cast(v AS bigint)",
    "CASE WHEN s > 0 THEN v / s ELSE NULL END", "p / DECIMAL '3.0'", "p % q",
    "round(p / q, 2)", "CAST(p AS double) / 3e0", "round(CAST(p AS double), 1)", "floor(d / 10e0)",
)  # fmt: skip
DATES = (
    *(f"{f}({v})" for f in ("year", "quarter", "month", "day", "week", "year_of_week", "day_of_week", "day_of_year",
                            "last_day_of_month") for v in ("x", "m", "z")),
    *(f"{f}({v})" for f in ("hour", "minute", "second", "millisecond") for v in ("m", "z")),
    *(f"date_trunc('{u}', {v})" for u in ("day", "week", "month", "quarter", "year") for v in ("x", "m", "z")),
    *(f"date_trunc('{u}', m)" for u in ("millisecond", "second", "minute", "hour")), "date(m)", "date(t)",
    *(f"date_add('{u}', j, {v})" for u in ("day", "week", "month", "quarter", "year") for v in ("x", "m", "z")),
    *(f"date_add('{u}', -3, m)" for u in ("millisecond", "second", "minute", "hour")),
    *(f"date_add('{u}', {n}, x)" for u in ("day", "week", "month", "quarter", "year") for n in (7, -13)),
    *(f"date_diff('{u}', x, y)" for u in ("day", "week", "month", "quarter", "year")),
    *(f"date_diff('{u}', m, n)" for u in ("millisecond", "second", "minute", "hour", "day", "week", "month", "year")),
    "x + INTERVAL '1' DAY", "x - INTERVAL '3' MONTH", "m + INTERVAL '90' MINUTE", "m - INTERVAL '1' YEAR",
    "z + INTERVAL '2' DAY",
    "date_format(m, '%Y-%m-%d')", "date_format(x, '%Y-%m')", "date_format(m, '%Y-%m-%d %H:%i:%s')",
    "date_format(m, '%d.%c.%y %k:%i')",
    "date_format(m, '%W %M %e, %j %r %f %h%p %a %b %l %T %%')", "date_format(z, '%H')",
    "format_datetime(m, 'yyyy-MM-dd HH:mm:ss.SSS')",
    "format_datetime(m, 'EEE d MMMM yy, h a')", "date_parse(t, '%Y-%m-%d')", "date_parse(t, '%Y-%m-%d %H:%i:%s')",
    "to_unixtime(m)", "to_unixtime(z)", "from_unixtime(j)", "from_unixtime(d / 1e12)",
    "from_iso8601_timestamp(t)", "from_iso8601_date(t)",
    "from_unixtime(d / 1e3)", "from_unixtime(j / 7e0)", "from_unixtime(j / 2000e0)",
    "from_unixtime(j / 1e3, 'UTC')",
    "from_unixtime(j / 1e3, 'Asia/Tokyo')",
    "date_format(m, '%x-%v %Y')", "date_format(z, '%v/%x')", "date_format(x, '%x%v')", "month(date_trunc('year', m))",
    "year(CAST(m AS date))", "date_diff('day', CAST(m AS date), x)",
)  # fmt: skip
NESTED = (
    "CAST(sqrt(d) AS varchar)",
    "try_cast(ln(d) AS bigint)",
    "try_cast(log10(sqrt(d)) AS decimal(12,2))",
    "upper(substr(t, i))",
    "upper(substr(t, i, i))",
    "try_cast(substr(trim(t), 1, 4) AS smallint)",
    "CAST(abs(CAST(mod(i, j) AS double)) AS varchar)",
    "sqrt(abs(round(p / q, 1)))",
    "date_add('day', try_cast(t AS bigint), x)",
)
JSONS = (
    *(f"json_extract_scalar(k, '{path}')" for path in (
        "$.a", "$.a.b", '$["a"]', "$.c", "$[1]", "$.a[1]", "$.a[0].b", "$.id",
    )),
    *(f"json_extract(k, '{path}')" for path in ("$.a", "$.a.b", "$.id", "$.a[0]")),
    "try_cast(json_extract_scalar(k, '$.id') AS bigint)", "json_extract_scalar(t, '$.a')",
    "upper(json_extract_scalar(k, '$.c'))",
    "json_parse(k)", "try(json_parse(k))", "json_array_length(k)", *(f"json_array_get(k, {i})" for i in (0, 1, 2, -1)),
)  # fmt: skip
ARRAYS = (
    "cardinality(e)", "cardinality(f)", "contains(e, 3)", "contains(e, j)", "contains(f, 'a')", "contains(f, t)",
    "element_at(e, 1)", "element_at(e, -1)", "element_at(f, 9)", "element_at(e, i)", "array_join(f, ',')",
    "array_join(e, '-')"
)  # fmt: skip
JSON_CASTS = (
    *(f"try_cast(o AS {kind})" for kind in ("varchar", "bigint", "integer", "tinyint", "double", "boolean")),
    *(f"try_cast(o AS array({kind}))" for kind in ("varchar", "bigint", "tinyint", "double", "boolean")),
    "try_cast(json_extract(k, '$.id') AS bigint)", "try_cast(json_extract(k, '$.a') AS varchar)",
    "try(CAST(json_parse(k) AS array(bigint)))", "try(CAST(o AS bigint))",
)  # fmt: skip
COLLECTIONS = (
    *(f"{f}({v})" for f in ("array_max", "array_min", "array_sort", "array_distinct") for v in "ef"),
    "array_union(e, e)", "array_union(e, ARRAY[i, NULL, 3])", "array_except(f, split(u, ' '))", "array_except(e, e)",
    "array_except(e, ARRAY[3, NULL])", "arrays_overlap(e, ARRAY[3, i])", "arrays_overlap(f, ARRAY['a', NULL])",
    "e || ARRAY[j]", "concat(f, f, split(t, '-'))", "array_position(e, 3)", "array_position(f, t)",
    "array_remove(e, 3)",
    "array_remove(f, t)", "slice(e, 2, 2)", "slice(f, 1, 9)", "slice(e, 3, 0)", "flatten(ARRAY[e, NULL, e])",
    "sequence(j, j + 5)", "sequence(j, -3)", "sequence(i, j)", "array_sum(e)", "split(t, '-')", "split(u, ' foo')",
    "cardinality(split(t, ','))", "element_at(split(u, ','), 2)",
    "array_sum(ARRAY[i, i])", "array_join(array_sort(f), ',')",
)  # fmt: skip
BINARY = (
    "to_utf8(t)", "to_hex(to_utf8(t))", "lower(to_hex(md5(to_utf8(t))))", "sha1(to_utf8(u))",
    "to_hex(sha256(to_utf8(u)))",
    "to_base64(to_utf8(t))", "json_format(o)",
)  # fmt: skip
LAMBDAS = (
    "transform(e, x -> x + 1)", "transform(e, x -> x * j)", "transform(e, x -> i + x)", "transform(e, x -> d)",
    "transform(f, x -> upper(x))", "transform(f, x -> x || t)", "transform(f, x -> length(x) > 0)",
    "transform(e, x -> CAST(x AS varchar))", "transform(e, x -> CASE WHEN x > 3 THEN 'high' ELSE 'low' END)",
    "transform(f, x -> coalesce(x, t, 'none'))", "transform(e, x -> transform(e, y -> x + y))",
    "transform(f, e -> length(e))", "transform(e, x -> 100 / x)", "transform(e, x -> x / 2e0)",
    "transform(f, x -> x)", "transform(e, x -> x BETWEEN 1 AND j)",
    "transform(f, x -> regexp_replace(x, '[ab]', '-'))", "transform(transform(e, x -> x + 1), x -> x * 2)",
    "transform(e, x -> date_add('day', x, y))", "transform(e, x -> round(x / 3e0, 2))", "transform(e, x -> p * x)",
    "filter(e, x -> x > 2)", "filter(e, x -> x IS NOT NULL)", "filter(f, x -> x LIKE 'a%')", "filter(e, x -> x <> i)",
    "filter(f, x -> x IN ('a', 'b', t))", "filter(e, x -> NULL)", "filter(e, x -> b)", "filter(e, x -> mod(i, x) = 0)",
    "filter(transform(e, x -> CAST(x AS varchar)), x -> x > '2')", "cardinality(filter(e, x -> x > j))",
    "reduce(e, 0, (s, x) -> s + x, s -> s)", "reduce(e, 0, (s, x) -> s + coalesce(x, 0), s -> s)",
    "reduce(e, i, (s, x) -> s + x, s -> s)", "reduce(f, 0, (s, x) -> s + 1, s -> CAST(s AS varchar))",
    "reduce(e, 0e0, (s, x) -> s + x * d, s -> s / 2e0)", "reduce(f, 0, (s, x) -> s + length(x), s -> coalesce(s, -1))",
    "reduce(e, CAST(NULL AS bigint), (s, x) -> coalesce(s, 0) + j, s -> s)",
    "reduce(e, true, (s, x) -> s AND x > 0, s -> NOT s)",
    "zip_with(e, f, (x, y) -> y || CAST(x AS varchar))", "zip_with(e, e, (x, y) -> coalesce(x, 0) + i)",
    "map_filter(g, (k, v) -> v > 2)", "map_filter(g, (k, v) -> k <> t AND v IS NULL)",
    "cardinality(map_filter(g, (k, v) -> b))",
    "transform_values(g, (k, v) -> v * 2 + j)", "transform_values(g, (k, v) -> k || t)",
    "transform_values(map_filter(g, (k, v) -> v > 2), (k, v) -> v - 1)", "filter(map_values(g), v -> v > 1)",
    "map_keys(g)", "element_at(g, t)", "element_at(g, 'a')", "element_at(g, h)", "element_at(g, 'a') + 1",
    *(f"{function}(e, x -> x > 0)" for function in ("all_match", "any_match", "none_match")),
    *(f"{function}(f, x -> x = u OR length(x) = j)" for function in ("all_match", "any_match", "none_match")),
)  # fmt: skip
URLS = (
    *(f"url_extract_{part}(h)" for part in ("protocol", "host", "port", "path", "query", "fragment")),
    *(f"url_extract_parameter(h, '{name}')" for name in ("k", "b", "x", "kk")), "url_encode(h)", "url_encode(t)",
    "url_decode(h)", "url_decode(t)", "upper(url_extract_host(h))", "try_cast(url_extract_parameter(h, 'k') AS bigint)",
)  # fmt: skip
TRIED = (
    "try(CAST(t AS bigint))", "try(CAST(t AS date))", "try(CAST(t AS double))", "try(CAST(substr(t, 1, 4) AS integer))",
    "try(p / q)", "try(round(d, 2))", "try(CAST(d AS decimal(12,2)))",
    "coalesce(try(CAST(t AS decimal(10,2))), 0)",
)  # fmt: skip
TURNS = (
    *(f"{name}(d)" for name in ("sin", "cos", "tan", "atan", "asin", "acos", "cbrt", "degrees", "radians")),
    "sin(radians(d))",
)
PATTERNS = (
    *(f"regexp_like(t, '{pattern}')" for pattern in (
        r"^\d+$", r"\d{4}-\d\d-\d\d", r"^[a-z ]+,?", r"(?i)^INF|nan$", r"\s\S", r"^-?[0-9]*\.[0-9]+$", r"a.b|\+7$",
        "^$", "x*",
        r"[^0-9a-z]", r"\w+\W\w+$", r"[1-9-]0{2,}?",
    )),
    *(f"regexp_extract(u, '{pattern}')" for pattern in (
        r"\d+", r"[a-z]+ (foo|bar)", r"o*", r"^w.*?\d", r"a|ab", r"(?:,|b).*",
    )),
    r"regexp_extract(t, '(\d+)-(\d+)', 2)", r"regexp_extract(u, 'word(\d*) ', 1)",
    r"regexp_extract(t, '^(.+)\.(.*)$', 1)",
    r"regexp_replace(u, '\d+', '#')", r"regexp_replace(u, '[aeiou]')", r"regexp_replace(t, '0+?', '00')",
    r"regexp_replace(u, '(o|oo),?', 'x')",
)  # fmt: skip
EXPRESSIONS = (
    *CASTS,
    *TEXTS,
    *MATHS,
    *DATES,
    *NESTED,
    *JSONS,
    *JSON_CASTS,
    *ARRAYS,
    *COLLECTIONS,
    *BINARY,
    *LAMBDAS,
    *URLS,
    *TRIED,
    *TURNS,
    *PATTERNS,
)

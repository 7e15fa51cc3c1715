# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Programs that Spark's JVM computes by our classes, beside the kernels' own results of the same program."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from coordinator.analyzer.context import Context as Analysis
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.engine import SparkEngine
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.program import evaluate_row
from coordinator.sql.parser import parse_expression
from coordinator.unparser.expressions import expression
from coordinator.unparser.programs import row_program
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.spi.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TYPES = {
    "j": ("varchar", pa.string()), "s": ("varchar", pa.string()), "u": ("varchar", pa.string()),
    "i": ("bigint", pa.int64()), "d": ("double", pa.float64()), "m": ("timestamp", pa.timestamp("us")),
    "z": ("timestamp with time zone", pa.timestamp("us", "UTC")), "x": ("date", pa.date32()),
}  # fmt: skip
JSON_TEXTS = (
    '{"a": 1, "b": {"c": [1, 2.50, "x"]}}', '{"a": "t\\u00e9xt\\n", "b": null}', '{"a": true, "a": false}', "[]",
    '{"b": {"c": 1, "c": 2}, "b": 3}', "[1, 2, 3]", "[true, 1.0, null, {}, [], -0, 12345678901234567890]", "{}",
    '["\\ud83d\\ude00", "\\ud800", "😀", "\\u007f\\u001f"]', '{"😀": 1, "\uffee": 2, "z": 3, "a": 4}', "null", " 1 ", "",
    '{"a": 1} x', '{"a": 1', '{"a": tru}', "{'a': 1}", '{"a": NaN}', "1 2", "01", "1.", "-", "-0", "-0.0", "1e400", "2E-3",
    "1.0E23", "5.684341886080802E-14", '"a"', '"\x01"', '"\\x"', "\ufeff1", '[1, [2, [3, {"a": [4]}]]]', "true", "tru",
    '{"a": {"0": 5}, "b": [[7, 8], 9]}', "[" * 100 + "]" * 100, '{"a":9223372036854775807}', '{"a":9223372036854775808}',
    '{"a":2.5}', '{"a":-2.5}', '{"a":" 12 "}', '{"a":"12x"}', '{"a":"-0012"}', '{"a":"1e3"}', '{"a":"TRUE"}', '{"a":[1]}',
    '{"a":"NaN"}', '{"a":3000000000}', '{"a":0}', '{"a":0.0}', '{"a b":{"c.d":[0,{"e":"f"}]}}', "1\x00", '"é\u2028"', None,
)  # fmt: skip
MOMENT_TEXTS = (
    "2024-02-29", "2023-02-29", "2024-2-9", "2024-13-01", "2024-00-10", "2024-01-32", " 2024-01-01", "2024-01-01 ", "",
    "99-01-01", "69-12-31", "+2024-01-01", "-0001-01-01", "0000-01-01", "2024-01-01x", "2024", "x", "2024/01/01", "24:00:00",
    "2024-02-29 23:59:59.123456789", "2024-02-29 12:00:00 PM", "2024-02-29 12:00:00 am", "2024-02-29 13:00:00 am",
    "29 February 2024", "29 feb 2024", "31 sept 2024", "Thu Feb 29 2024", "366 2024", "366 2023", "0 2024", "2020-53", "2021-53",
    "2024-00", "2024-01", "23:59:60", "12:60:00", "٢024-01-01", "2024-01-01 and a text of more than thirty-five letters",
    "9999-12-31", "2024-02-29T10:11:12", "2024-02-29t10:11:12", "😀😀2024-01-01", "20240229", "2024-02-29 1:2:3", None,
)  # fmt: skip
URLS = (
    "https://user:pw@host.example.com:8080/a/b%20c?q=1&r=%C3%A9+x&q=2#frag%21", "http://h", "mailto:a@b", "http:", "//h/p",
    "/p?x", "?", "#", "", "a b", "http://[::1]:80/x", "http://[zz]/x", "http://h:/", "http://h:123456789012345678901/", "%zz",
    "http://h/%", "http://h/%C3", "http://h/%C3é%A9", "http://hé/ü?ö=ä", "http://h/a?=b&&c=&d", "1a:b", "a+b.c-d:e", "x:\u00a0y",
    "http://a@b@c/", "http://h?q", "http://h?a=%2B+%26", "HTTP://H/%e4%bd%a0", "http://h/😀", "http://h:٣/", "a_b:c", None,
    "http://h/%F0%9F%98", "http://h/%ED%A0%80", "http://h/%ff%fe", "http://h/%e4%bd",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 7, 1_700_000_000, 253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801, 2**63 - 1, -(2**63), None,
)  # fmt: skip
DOUBLES = (
    0.0, 1.5, 0.0005, 0.0015, -0.0005, 1_700_000_000.1235, 1_700_000_000.4995, 253_402_300_799.9994, 253_402_300_799.9996,
    float("nan"), float("inf"), -1e300, 1.0049999999999999, 2.0005, None,
)  # fmt: skip
MOMENTS = (
    datetime(2024, 2, 29, 23, 59, 59, 123_456), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1),
    datetime(2020, 12, 31, 12, 0), datetime(2021, 1, 3, 0, 30), datetime(1969, 12, 31, 13, 5, 7, 1), datetime(2024, 3, 31, 2, 30), None,
)  # fmt: skip
LIMITS = (MOMENTS[1], MOMENTS[2], date(1, 1, 1), date(9999, 12, 31), 253_402_300_799, -62_135_596_800, *DOUBLES[7:9])
GIVEN: dict[str, Sequence[object]] = {
    "j": JSON_TEXTS, "s": MOMENT_TEXTS, "u": URLS, "i": NUMBERS, "d": DOUBLES, "m": MOMENTS,
    "z": [None if m is None else m.replace(tzinfo=UTC) for m in MOMENTS],
    "x": [None if m is None else m.date() for m in MOMENTS] + [date(1582, 10, 15)],
}  # fmt: skip
CASES = (
    "json_extract_scalar(j, '$')", "json_extract_scalar(j, '$.a')", "json_extract_scalar(j, '$.b.c')", "json_extract_scalar(j, 'a')",
    "json_extract_scalar(j, '$.b.c[1]')", "json_extract_scalar(j, '$[0]')", "json_extract_scalar(j, '$.a.0')",
    "json_extract_scalar(j, '$[\"a b\"][\"c.d\"][1].e')", "json_extract_scalar(j, '$.b[0][1]')", "json_extract(j, '$')",
    "json_extract(j, '$.a')", "json_extract(j, '$.b')", "json_extract(j, '$[3]')", "json_extract(j, '$[1][1]')", "json_size(j, '$')",
    "json_size(j, '$.b')", "json_size(j, '$.b.c')", "json_parse(j)", "is_json_scalar(j)", "json_array_get(j, 0)", "json_array_get(j, -1)",
    "json_array_get(j, 3)", "json_array_get(j, -9)", "json_array_contains(j, 2)", "json_array_contains(j, true)",
    "json_array_contains(j, 1e0)", "json_array_contains(j, 'x')", "json_extract_scalar(json_parse(j), '$.b')",
    "CAST(json_extract(j, '$.a') AS varchar)", "CAST(json_extract(j, '$.a') AS bigint)", "CAST(json_extract(j, '$.a') AS integer)",
    "CAST(json_extract(j, '$.a') AS double)", "CAST(json_extract(j, '$.a') AS boolean)", "CAST(json_parse(j) AS double)",
    "try_cast(json_extract(j, '$.a') AS bigint)", "TRY(CAST(json_parse(j) AS bigint))", "try_cast(json_parse(j) AS varchar)",
    *(f"CAST(json_parse(j) AS array({t}))" for t in ("json", "varchar", "bigint", "double")),
    *(f"CAST(json_extract(j, '$.a') AS array({t}))" for t in ("json", "varchar", "bigint", "double")),
    "CAST(json_parse(j) AS map(varchar, json))", "CAST(json_parse(j) AS map(varchar, varchar))",
    "try_cast(json_parse(j) AS array(bigint))", "TRY(CAST(json_extract(j, '$.b') AS map(varchar, varchar)))",
    "TRY(json_array_get(j, 1))",
    *(f"date_parse(s, '{p}')" for p in (
        "%Y-%m-%d", "%y-%m-%d", "%Y-%m-%d %H:%i:%s.%f", "%Y-%m-%d %r", "%d %M %Y", "%d %b %Y", "%a %b %d %Y", "%j %Y", "%x-%v",
        "%T", "%Y-%m-%dT%H:%i:%S", "%Y%m%d", "%Y-%m-%d %k:%i:%s", "%Y", "😀😀%Y-%m-%d", "%Y-%m-%d and a text of more than %%",
    )),
    "TRY(date_parse(s, '%Y-%m-%d'))",
    *(f"format_datetime({c}, '{p}')" for c in "mzx" for p in (
        "yyyy-MM-dd HH:mm:ss.SSS", "yy M d H m s S SSSSSS", "EEEE EEE MMM MMMM a", "xxxx-ww-e", "DDD h K k C", "''''yyyy''T''''''",
        "YYYY/MM",
    )),
    *(f"date_format({c}, '%x-%v %Y')" for c in "mzx"), "date_format(m, '%a%b%c%d%e%f%H%h%I%i%j%k%l%M%m%p%r%S%s%T%v%W%x%Y%y%%%q')",
    "from_unixtime(i)", "from_unixtime(d)", "from_unixtime(i, 'Europe/Berlin')", "from_unixtime(d, 'UTC')", "TRY(from_unixtime(d))",
    *(f"url_extract_{p}(u)" for p in ("protocol", "host", "port", "path", "query", "fragment")),
    "url_extract_parameter(u, 'q')", "url_extract_parameter(u, 'r')", "url_extract_parameter(u, 'a')", "url_extract_parameter(u, '')",
)  # fmt: skip


def unparsed(text: str, zone: str) -> str:
    """Spark's SQL, in a session of that zone."""
    fields = tuple(ScopeField(name, Variable(name=name, type=kind)) for name, (kind, _) in TYPES.items())
    node = analyze_expression(parse_expression(text), Analysis(Session(user="test"), Scope(fields)))
    return str(expression(node, "spark").sql(dialect="spark")).replace('"zone":"UTC"', f'"zone":"{zone}"')


def program_of(sql: str) -> str:
    """The text of the only program."""
    [found] = re.findall(r"PROCESSION_EVAL_\w+\('((?:[^'\\]|\\.|'')*)'", sql)
    made = re.sub(r"\\(.)|''", lambda m: m[1] or "'", found)
    assert isinstance(json.loads(made), dict), made
    return made


def run(engine: SparkEngine, execution: Any, sql: str, values: ArrowInput) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.Table.from_batches(engine.run(sql, execution, (values,))).to_pylist()
    return found


def by_kernels(program: str, *row: object) -> object:
    """The kernels' result, or their error as a pair."""
    try:
        return evaluate_row(program, *row)
    except KernelError as error:
        return ErrorCode[error.name], error.message


def plain(value: object) -> object:
    """Moments as instants, and NaN as what is equal to itself."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return "NaN" if value != value else value


@pytest.mark.parametrize("text", CASES)
def test_as_the_kernels(engine: SparkEngine, execution: Any, text: str) -> None:
    check(engine, execution, text, "UTC")


@pytest.mark.parametrize("text", [c for c in CASES if "format" in c or "from_unixtime" in c])
def test_in_the_zone_of_a_session(engine: SparkEngine, execution: Any, text: str) -> None:
    check(engine, execution, text, "Europe/Berlin")


def check(engine: SparkEngine, execution: Any, text: str, zone: str) -> None:
    [column] = [c for c in TYPES if re.search(rf"\b{c}\b", re.sub("'[^']*'", "", text))]
    sql, given = unparsed(text, zone), GIVEN[column]
    if zone != "UTC" or "Berlin" in text:  # whose first and last hours Python's moments do not have
        given = [value for value in given if value not in LIMITS]
    program = program_of(sql)
    wanted = [by_kernels(program, value) for value in given]
    numbers = pa.array(range(len(given)), pa.int64())
    values = ArrowInput("procession_java_0", pa.table({"n": numbers, column: pa.array(given, TYPES[column][1])}))
    failing = [n for n, value in enumerate(wanted) if isinstance(value, tuple)]
    kept = f"n NOT IN ({', '.join(map(str, failing))})" if failing else "true"

    def query(condition: str) -> str:
        return f"SELECT n, {sql} AS r FROM procession_java_0 WHERE {condition} ORDER BY n"

    [plan] = run(engine, execution, f"EXPLAIN {query(kept)}", values)
    assert "Python" not in plan["plan"] and "ArrowEval" not in plan["plan"]
    mine = {row["n"]: row["r"] for row in run(engine, execution, query(kept), values)}
    for n, (value, expected) in enumerate(zip(given, wanted, strict=True)):
        if not isinstance(expected, tuple):
            assert plain(mine[n]) == plain(expected), (text, value)
    for n in failing[:12]:
        with pytest.raises(ProcessionError) as failed:
            run(engine, execution, query(f"n = {n}"), values)
        code, message = wanted[n]  # type: ignore[misc]
        assert (failed.value.code, failed.value.message) == (code, message.rstrip()), (text, given[n])


BRANCHES = (
    "IF(n % 2 = 0, date_parse(s, '%Y-%m-%d'))",
    "CASE WHEN s LIKE '2024%' THEN date_parse(substr(s, 1, 10), '%Y-%m-%d') WHEN n = 0 THEN date_parse(s, '%Y') END",
    "CASE json_extract_scalar(j, '$.k') WHEN 'a' THEN CAST(json_extract(j, '$.v') AS bigint) ELSE n END",
    "IF(json_extract_scalar(j, '$.k') IS NOT NULL AND n > 1, json_format(json_array_get(json_parse(j), 0)), url_extract_host(s))",
    "COALESCE(TRY(date_parse(s, '%d.%m.%Y')), TRY(date_parse(s, '%Y-%m-%d')))",
    "IF(n = 2, CAST(json_extract(json_parse(j), '$.v') AS double), n)",
    "CASE WHEN n > 3 THEN json_extract_scalar(j, '$.k') IS NULL ELSE coalesce(json_extract_scalar(j, '$.v'), 'x') = '7' END",
    "COALESCE(json_extract_scalar(j, '$.v'), json_extract_scalar(j, '$.k'), CAST(n AS varchar))",
)
LAZY = (
    "IF(n < 4 AND CAST(json_extract(j, '$.v') AS varchar) = '7', n, -n)",
    "IF(n > 0, date_parse(CAST(8096 / n AS varchar), '%Y'), CAST(parse_datetime('2024', 'yyyy') AS timestamp))",
    "IF(n <> 4, from_iso8601_timestamp(json_extract_scalar(json_format(json_parse(j)), '$.t')), parse_datetime('2024', 'yyyy'))",
    "IF(json_array_length(j) > 0 AND date_parse(s, '%Y-%m-%d') > TIMESTAMP '2024-01-01 00:00:00', 1, 2)",
)
"""Spark would compute the second part for all rows, were it Python."""
ROWS = (
    (0, "2024-02-29", '{"k": "a", "v": 7}'), (1, "no date", '{"k": "b", "v": "none"}'), (2, "1.2.2024", '{"k": "c"}'),
    (3, "2024-01-01 tail", "{}"), (4, "2023-12-31", "[1"), (5, None, None), (6, "2024-03-01", '{"v": [1]}'),
)  # fmt: skip
_RULE = "spark.sql.optimizer.excludedRules"


@pytest.mark.parametrize("by_python", [False, True])
@pytest.mark.parametrize("text", BRANCHES + LAZY)
def test_a_branch_is_computed_for_its_rows(engine: SparkEngine, execution: Any, text: str, by_python: bool) -> None:
    """By programs, too, as a Spark without our classes would: where a branch is not taken nothing fails."""
    numbers, texts, jsons = zip(*ROWS, strict=True)
    table = pa.table({"n": pa.array(numbers, pa.int64()), "s": pa.array(texts), "j": pa.array(jsons)})
    values = ArrowInput("procession_java_0", table)
    fields = tuple(
        ScopeField(c, Variable(name=c, type=k)) for c, k in (("n", "bigint"), ("s", "varchar"), ("j", "varchar"))
    )
    node = analyze_expression(parse_expression(text), Analysis(Session(user="test"), Scope(fields)))
    sql = str(expression(node, "spark").sql(dialect="spark"))
    whole = row_program(node)
    assert whole is not None
    places = {"n": 0, "s": 1, "j": 2}
    wanted = [by_kernels(json.dumps(whole.program), *(row[places[c.name]] for c in whole.columns)) for row in ROWS]
    kept = [n for n, value in enumerate(wanted) if not isinstance(value, tuple)]
    assert len(kept) > 3
    query = f"SELECT n, {sql} AS r FROM procession_java_0 WHERE n IN ({', '.join(map(str, kept))}) ORDER BY n"
    run(engine, execution, f"SET {_RULE}={'procession.spark.Programs' if by_python else ''}", values)
    try:
        [plan] = run(engine, execution, f"EXPLAIN {query}", values)
        assert ("ArrowEvalPython" in plan["plan"]) is (by_python or text in LAZY)
        found = run(engine, execution, query, values)
    finally:
        run(engine, execution, f"SET {_RULE}=", values)
    assert [plain(row["r"]) for row in found] == [plain(wanted[n]) for n in kept]

"""Values that a stranger chooses take a function time that grows with their length, or are refused."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from time import thread_time

import pytest

from coordinator.analyzer.literals import parse_interval
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.bounds import watched
from coordinator.kernels.functions.casts import caster
from coordinator.kernels.functions.library import LIBRARY
from coordinator.kernels.functions.like_patterns import like_pattern_of
from coordinator.kernels.functions.regexp import pattern_of
from coordinator.kernels.functions.sketches.khyperloglog import KHyperLogLog
from coordinator.kernels.functions.zones import zone_of
from coordinator.unparser.patterns_on_spark import may_take_for_ever, steady_like
from shared.plan.types import parse_type

pytestmark = pytest.mark.slow

LONG = 200_000
QUICK = 20.0
"""Seconds of CPU time, of which each takes less than one; what is quadratic takes minutes."""
A = "a" * LONG
KHYPERLOGLOG = KHyperLogLog(1, 256, {}).to_bytes()
CALLS = [
    ("date_parse", "1" * LONG, "%Y" * (LONG // 2)),
    ("date_parse", "1" * LONG, "%c" * 40 + "x"),
    ("date_parse", "Jan" * 60, "%M" * 60 + "x"),
    ("like", A, "%a" * (LONG // 2) + "b"),
    ("like", A, "%" + "a_" * (LONG // 4) + "b%"),
    ("regexp_like", A, "(a*)*" * 20_000 + "b"),
    ("regexp_like", A, "(a*)*" * 900 + "b"),
    ("regexp_like", A, "[ab]" * 20_000 + "c"),
    ("regexp_like", A, "[ab]+c"),
    ("regexp_like", A[:60], "a?" * 40 + "a" * 70),
    ("regexp_like", A[:200], "(a{1,9})" * 20 + "b"),
    ("regexp_like", A, "(" * 5_000 + "a" + ")*" * 5_000),
    ("regexp_replace", A, "(b)?a", "$1" * 50_000),
    ("regexp_extract_all", A, "a|" * 8_000),
    ("regexp_split", " " * LONG + "x", r"\s+$"),
    ("strrpos", A, "a" + "b" + "a" * (LONG // 2)),
    ("strpos", A, "a" * (LONG // 2), LONG // 2),
    ("trim", A, "".join(map(chr, range(0x4E00, 0x9000))) + "a"),
    ("split_to_multimap", "k=v," * (LONG // 4), ",", "="),
    ("json_extract", '{"a":' * 300 + "[" + "1," * 1_000 + "1]" + "}" * 300, "$" + "..*" * 5),
    ("json_extract", "{}", "$" + "..a" * (LONG // 3)),
    ("json_extract_scalar", "1e" + "9" * 100, "$"),
    ("json_presto_query_plan_ids", '{"0":{"id":"1","children":[' + ",".join(['{"id":"2"}'] * 20_000) + "]}}"),
    ("jarowinkler_similarity", A, A + "b"),
    ("google_polyline_decode", "~" * LONG),
    ("st_geometryfromtext", "GEOMETRYCOLLECTION (" * 5_000 + "POINT (1 1)" + ")" * 5_000),
    ("normalize", "e" + "\u0301" * LONG + "\u0316" * LONG, "NFKD"),
    ("word_stem", "ay" * (LONG // 2)),
    ("parse_duration", "1" * LONG + "d"),
    ("parse_presto_data_size", "1" * LONG + "kB"),
    ("uniqueness_distribution", KHYPERLOGLOG, 1 << 62),
    ("sketch_kll_quantile", zlib.compress(b'{"pairs":[' + b"0," * (20 << 20) + b"0]}", 1), 0.5),
    ("inverse_poisson_cdf", 1e308, 0.5),
    ("inverse_chi_squared_cdf", 1e-308, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{str(call[-1])[:8]}")
def test_functions_take_no_more_than_their_share(call: tuple[object, ...]) -> None:
    name, *arguments = call
    begun = thread_time()
    try:
        LIBRARY[str(name)].call(*watched(str(name), arguments))
    except KernelError as error:
        assert error.name in ("INVALID_FUNCTION_ARGUMENT", "NOT_SUPPORTED", "NUMERIC_VALUE_OUT_OF_RANGE"), error
    assert thread_time() - begun < QUICK


@pytest.mark.parametrize("target", ["double", "bigint", "decimal(10,2)", "date", "timestamp", "uuid", "ipaddress"])
@pytest.mark.parametrize("text", ["1" * LONG + "x", "1e" + "9" * LONG, " " * LONG + "x", "0." + "0" * LONG + "x"])
def test_casts_take_no_more_than_their_share(text: str, target: str) -> None:
    convert = caster(parse_type("varchar"), parse_type(target), zone_of("UTC"))
    begun = thread_time()
    if target == "double" and text.startswith("1e"):
        assert convert(text) == float("inf")
    else:
        with pytest.raises(KernelError, match="INVALID_CAST_ARGUMENT"):
            convert(text)
    assert thread_time() - begun < QUICK


@pytest.mark.parametrize(("start", "end"), [("day", None), ("second", None), ("year", None), ("day", "second")])
def test_intervals_of_many_digits_are_refused(start: str, end: str | None) -> None:
    for text in ("1" * LONG, "1 " * LONG, "0" * LONG + "1" * 30):
        begun = thread_time()
        with pytest.raises(ValueError, match="Invalid INTERVAL"):
            parse_interval(text, 1, start, end)
        assert thread_time() - begun < QUICK
    assert parse_interval("0" * LONG + "7", 1, "month", None) == ("interval year to month", 7)


def _wanted(pattern: str) -> Callable[[str], bool]:
    made = re.compile("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    return lambda text: made.fullmatch(text) is not None


def test_like_is_what_a_regular_expression_says() -> None:
    chosen = random.Random(20261127)
    for _ in range(5_000):
        text = "".join(chosen.choice("ab\n") for _ in range(chosen.randrange(9)))
        pattern = "".join(chosen.choice("ab%_%") for _ in range(chosen.randrange(8)))
        wanted = _wanted(pattern)(text)
        assert like_pattern_of(pattern, None).matches(text) is wanted, (text, pattern)
        steady = steady_like(pattern)
        if steady is not None:
            assert (re.search(steady.pattern.replace(r"\z", r"\Z"), text) is not None) is wanted, (text, steady)
            assert not wanted or all(piece in text for piece in steady.pieces), (text, steady)


_LONG_TEXT = "".join(random.Random(5).choices("ab1 -\n", k=20_000))


@pytest.mark.parametrize(
    "pattern", [r"(\d+)-(\d+)", r"\b\w+\b", r"a+b+ ", r"(a)|(b)1", r"\s*-\s*1", r"(?m)^[ab]+$", r"(a+)(b)?(1)"]
)
def test_long_texts_are_matched_as_python_matches_them(pattern: str) -> None:
    bounded = pattern_of(pattern)
    wanted = list(re.finditer(pattern, _LONG_TEXT))
    found = list(bounded._by_re2(_LONG_TEXT))
    assert [(m.start(), m.end(), m[0]) for m in found] == [(m.start(), m.end(), m[0]) for m in wanted]
    if not bounded._shape.looks_back:
        assert [m.groups() for m in found] == [m.groups() for m in wanted]
    assert len(found) > 10


def test_only_patterns_that_are_quick_stay_with_java() -> None:
    for pattern in (r"(a+)+b", r"(\w+\s?)+$", r"(a|ab)*c", "a?" * 40 + "b", r"(.*)(.*)(.*)(.*)x"):
        assert may_take_for_ever(pattern), pattern
    for pattern in (r"\d+-\d+", "^foo|bar$", r"[a-z]+@[a-z]+\.com", r"(\w+) (\w+)", "a{2,5}b", r"^\s+|\s+$"):
        assert not may_take_for_ever(pattern), pattern

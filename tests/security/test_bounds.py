"""One line of SQL takes neither the memory nor the time of the service."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.registry import Catalogs
from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions import patience
from coordinator.kernels.functions.like_patterns import like_pattern_of
from coordinator.kernels.functions.linear_regexp import BoundedPattern
from coordinator.kernels.functions.program import Program
from coordinator.kernels.functions.regexp import pattern_of
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session

ROOT = Path(__file__).parents[2]
MEMORY = 3 << 30
TOO_LARGE = [
    "length(rpad('a', 2000000000, 'b'))",
    "length(lpad('a', 2000000000, 'bc'))",
    "length(lpad(X'00', 2000000000, X'01'))",
    "length(array_join(repeat(rpad('a', 1000000, 'b'), 9999), 'x'))",
    "length(replace(rpad('a', 1000000, 'a'), 'a', rpad('b', 100000, 'b')))",
    "length(replace(rpad('a', 100000, 'a'), '', rpad('b', 100000, 'b')))",
    "length(regexp_replace(rpad('a', 1000000, 'a'), 'a', rpad('b', 100000, 'b')))",
    "length(reduce(sequence(1, 40), 'ab', (s, x) -> s || s, s -> s))",
    "length(reduce(sequence(1, 40), 'ab', (s, x) -> concat(s, s, s), s -> s))",
    "cardinality(reduce(sequence(1, 40), ARRAY[1, 2], (s, x) -> s || s, s -> s))",
    "cardinality(transform(sequence(1, 9999), x -> rpad('a', 1000000, 'b')))",
    "cardinality(flatten(repeat(repeat(1, 9999), 9999)))",
    "levenshtein_distance(rpad('a', 100000, 'a'), rpad('b', 100000, 'b'))",
]
SLOW = {
    "regexp_like(rpad('a', 40, 'a') || 'b', '(a+)+$')": "False",
    "regexp_extract(rpad('a', 40, 'a') || 'b', '(a+)+$')": "None",
    "regexp_replace(rpad('a', 40, 'a') || 'b', '(a|a)*$', 'x')": "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabx'",
    "cardinality(regexp_split(rpad('a', 40, 'a') || 'b', '(a*)*c'))": "1",
    "rpad('a', 100000, 'a') LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'": "False",
    "regexp_like(rpad('a', 100000, 'a'), 'a*a*a*a*b')": "False",
}
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
from coordinator.connectors.registry import Catalogs
from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ProcessionError
from shared.spi.session import Session
for line in sys.stdin:
    try:
        work = plan_statement(line, Session(user="test"), Catalogs([]), PlanCheckers()).work
        print(repr(work.rows[0][0]) if hasattr(work, "rows") else work, flush=True)
    except ProcessionError as error:
        print(error.code.name, error.message, flush=True)
"""


def planned(expressions: list[str]) -> list[str]:
    """What a planner of its own says of each, in little memory."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(MEMORY)],
        input="".join(f"SELECT {e}\n" for e in expressions),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


STEP_BY_STEP = "length(reduce(sequence(1, 9999), '', (s, x) -> s || '0123456789', s -> s))"


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """Of all of these, by one planner."""
    asked = [STEP_BY_STEP, *SLOW, *TOO_LARGE]
    return dict(zip(asked, planned(asked), strict=True))


@pytest.mark.slow
def test_constants_that_would_be_too_large_are_refused(said: dict[str, str]) -> None:
    for expression in TOO_LARGE:
        told = said[expression]
        assert told.startswith(("INVALID_FUNCTION_ARGUMENT ", "EXCEEDED_LOCAL_MEMORY_LIMIT ")), (expression, told)
        assert "too large" in told or "memory limit of 256MB" in told, (expression, told)


@pytest.mark.slow
def test_patterns_do_not_take_exponential_time(said: dict[str, str]) -> None:
    assert {expression: said[expression] for expression in SLOW} == SLOW


PATTERNS = [
    r"(a+)+b", r"(\w+\s?)+x", r"([a-z]+\.)*com", r"((a|ab)(c|bcd)(d*))+", r"(?:(x)|(y))+z", r"(?P<n>a*)*b", r"(a*)*",
    r"[(](a+)+[)]", r"\((a+)+\)", r"(?i)(A+)+b", r"(é+)+", r"a+?(b+)*?c", r"(.+)+;",
]  # fmt: skip
TEXTS = [
    "",
    "aab",
    "aaab aab",
    "foo bar x y",
    "www.example.com com",
    "abcd",
    "xyz yxz",
    "(aa) (a)",
    "éé é",
    "a;b;",
    "aac",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_linear_matches_are_those_of_python(pattern: str) -> None:
    bounded = BoundedPattern(re.compile(pattern))
    for text in TEXTS:
        expected = [(m.start(), m.end(), m.groups()) for m in re.finditer(pattern, text)]
        found = [(m.start(), m.end(), m.groups()) for m in bounded._by_re2(text)]
        spans = [each[:2] for each in expected]
        if "*)*" in pattern:  # what an empty round leaves in a group, and beside a match, is told differently
            assert {s for s in spans if s[0] < s[1]} == {f[:2] for f in found if f[0] < f[1]}
        else:
            assert (found, text) == (expected, text)


@pytest.mark.parametrize("pattern", [r"a+b", r"\d+-\d+", "x{3}(y{2})+", r"(a)(b)?c", r"^(foo|bar)$", r"(a{1,3})+b|c"])
def test_plain_patterns_stay_with_python(pattern: str) -> None:
    assert pattern_of(pattern)._is_quick(100) or "{1,3}" in pattern


def test_what_only_python_can_do_is_refused_where_it_may_take_for_ever() -> None:
    text = "a" * 40 + "b"
    for pattern in (r"(a+)+\1$", r"(a+)+(?=c)", r"(?<=x)(a+)+$"):
        with pytest.raises(KernelError, match="may take exponential time"):
            pattern_of(pattern).search(text)
    assert pattern_of(r"(a+)+\1$").search("aaaa") is not None


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        *(
            ("a", "%a%a", False),
            ("aa", "%a%a", True),
            ("abcb", "%b", True),
            ("abc", "a%c", True),
            ("ac", "a%_%c", False),
        ),
        *(("abxc", "a%_%c", True), ("", "%", True), ("", "", True), ("a", "", False), ("a\nb", "a%b", True)),
        *(("xayb", "_a%", True), ("a.*b", "a.*b", True), ("axxb", "a.*b", False), ("abab", "%ab", True)),
        *(("abcabc", "abc%abc", True), ("abc", "abc%abc", False), ("abcd", "%%b%%", True), ("ab", "__", True)),
    ],
)
def test_like(value: str, pattern: str, expected: bool) -> None:
    assert like_pattern_of(pattern, None).matches(value) is expected


@pytest.mark.slow
def test_reduce_may_build_a_text_step_by_step(said: dict[str, str]) -> None:
    """What is thrown away does not count."""
    assert said[STEP_BY_STEP] == "99990"


LOOPS = "reduce(sequence(1, 9999), 0, (s, x) -> s + reduce(sequence(1, 9999), 0, (a, b) -> a + b, a -> a), s -> s)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {LOOPS}",
        f"SELECT TRY({LOOPS})",
        f"SELECT * FROM (VALUES 1, 2) t(x) WHERE x < {LOOPS}",
        f"SELECT cardinality(filter(sequence(1, 9999), x -> {LOOPS} > x))",
        f"SET SESSION query_max_run_time = CAST({LOOPS} AS varchar)",
    ],
)
def test_a_constant_does_not_hold_a_planner(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "CONSTANT_SECONDS", 0.05)
    with pytest.raises(ProcessionError, match=r"takes longer than 0\.05s of CPU time to compute") as told:
        plan_statement(sql, Session(user="test"), Catalogs([]), PlanCheckers())
    assert told.value.code is ErrorCode.EXCEEDED_TIME_LIMIT


def test_rows_are_not_constants_but_end_with_their_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "CONSTANT_SECONDS", -1.0)
    row = ["call", "transform", "array(bigint)", ["array(bigint)", "function(bigint,bigint)"]]
    program = json.dumps(
        {
            "zone": "UTC",
            "columns": ["array(bigint)"],
            "result": "array(bigint)",
            "expression": [*row, [["column", 0], ["lambda", ["x"], ["parameter", "x"]]]],
        }
    )
    values = pa.array([list(range(64))])
    assert Program(program).run([values], 1).to_pylist() == values.to_pylist()

    def ended() -> None:
        raise ProcessionError(ErrorCode.USER_CANCELED, "ended")

    with patience.interruptible(ended), pytest.raises(ProcessionError, match="ended"):
        Program(program).run([values], 1)
    assert Program(program).run([values], 1).to_pylist() == values.to_pylist()

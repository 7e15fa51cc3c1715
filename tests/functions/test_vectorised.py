"""What the embedded engine computes by itself is what the programs say, for plain values and odd ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from coordinator.analyzer.context import Context
from coordinator.analyzer.expressions import analyze_expression
from coordinator.analyzer.scope import Scope, ScopeField
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput
from coordinator.sql.parser import parse_expression
from coordinator.unparser import vectorised
from coordinator.unparser.expressions import expression
from coordinator.unparser.vectorised import lambdas
from coordinator.values.python_functions import runs_programs
from shared.errors import ProcessionError
from shared.plan.expressions import Variable
from shared.spi.session import Session
from tests.execution import FakeExecution as Execution
from tests.functions.vectorised_cases import EXPRESSIONS, TYPES, table

pytestmark = pytest.mark.slow

_ROWS = table()


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def embedded_sql(text: str) -> str:
    fields = tuple(ScopeField(name, Variable(name=name, type=kind)) for name, kind in TYPES.items())
    node = analyze_expression(parse_expression(text), Context(Session(user="test"), Scope(fields)))
    return str(expression(node, "duckdb").sql(dialect="duckdb"))


def program(text: str, *, tried: bool = True) -> str:
    with patch.object(vectorised, "RULES", {}), patch.object(lambdas, "LAMBDAS", {}):
        return embedded_sql(f"try({text})" if tried else text)


def _cells(engine: LocalEngine, text: str, rows: Any) -> list[Any]:
    batches = engine.run(f"SELECT {text} AS c FROM rows", Execution(), [ArrowInput("rows", rows)])
    return [cell for batch in batches for cell in batch.column(0).to_pylist()]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        # To the last bit, and the sign of zero.
        return repr(a) == repr(b) or (math.isclose(a, b, rel_tol=1e-15) and a != 0)
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_row_is_as_the_program_says(engine: LocalEngine, text: str) -> None:
    own = embedded_sql(text)
    assert not runs_programs(own), own
    wanted = _cells(engine, program(text), _ROWS)
    rows = _ROWS
    try:
        found = _cells(engine, own, rows)
    except ProcessionError:
        # Some row fails, as it should: those that do not are left.
        kept = [i for i, cell in enumerate(wanted) if cell is not None]
        rows, wanted = rows.take(kept), [wanted[i] for i in kept]
        found = _cells(engine, own, rows)
    assert len(wanted) > 15
    pairs = enumerate(zip(found, wanted, strict=True))
    read = rows.select([name for name in rows.column_names if name in text])
    wrong = [(read.slice(i, 1).to_pylist(), ours, cell) for i, (ours, cell) in pairs if not _same(ours, cell)]
    assert not wrong, f"{len(wrong)} of {len(wanted)}: {wrong[:8]}"


@pytest.mark.parametrize(
    "pattern",
    [
        "foo(?=bar)",
        "^(?!foo).*$",
        "(?<!a)b",
        "a++b",
        "a*+",
        "a{2}+",
        "(?>a)b",
        "(?x)a b",
        "(?#x)a",
        "(?a)b",
        "a**",
        "(?P<n>a)",
    ],
)
def test_patterns_that_one_library_refuses_are_left_to_programs(pattern: str) -> None:
    """The program says whether Presto takes them, and what they find."""
    assert runs_programs(embedded_sql(f"regexp_like(t, '{pattern}')"))


@pytest.mark.parametrize(
    "text",
    [
        "transform(e, x -> regexp_replace(t, '[ab]', u))",
        "any_match(e, x -> 1 / x > 0)",
        "reduce(f, '', (s, x) -> s || s || x, s -> s)",
    ],
)
def test_bodies_that_are_programs_may_fail_or_grow_are_left_to_one_program(text: str) -> None:
    assert runs_programs(embedded_sql(text))


def test_elements_that_are_rows(engine: LocalEngine) -> None:
    rows = "transform(e, x -> CAST(ROW(x, t) AS ROW(a bigint, b varchar)))"
    own = embedded_sql(f"transform(filter({rows}, r -> r.a > 1), r -> r.b || CAST(r.a AS varchar))")
    assert not runs_programs(own)
    wanted = program("transform(filter(e, x -> x > 1), x -> t || CAST(x AS varchar))")
    assert _cells(engine, own, _ROWS) == _cells(engine, wanted, _ROWS)


def test_groups_that_are_repeated_are_left_to_programs() -> None:
    assert runs_programs(embedded_sql("regexp_extract(u, '(o*)+', 1)"))

"""Plans of hundreds of nodes within one another: planned in a process, read back, or refused without losing it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from coordinator.planner_factory import PlannerFactory
from coordinator.validation.pool import ValidationPool
from coordinator.vocabulary.nesting import RECURSION_LIMIT
from shared.errors import ErrorCode, ProcessionError
from shared.plan.traversal import sources
from shared.spi.session import Session

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
_T, _S = "(VALUES (1, 2)) t(x, y)", "(VALUES (1, 2)) s(a, b)"


def _of(start: str, count: int, part: Callable[[int], str], end: str = "") -> str:
    return start + "".join(part(i) for i in range(count)) + end


def _chain(count: int, body: Callable[[int], str]) -> str:
    first = f"WITH c0 AS (SELECT * FROM {_T})"
    return _of(first, count, lambda i: f", c{i + 1} AS (SELECT {body(i)})", f" SELECT * FROM c{count}")


def _joins(kind: str) -> str:
    part = " {0} JOIN (VALUES (1, 2)) t{2}(x, y) ON t{2}.x = t{1}.x"
    return _of("SELECT count(*) FROM (VALUES 1) t0(x)", 300, lambda i: part.format(kind, i, i + 1))


def _sets(kind: str, count: int) -> str:
    return _of(f"SELECT x FROM {_T}", count, lambda i: f" {kind} SELECT x + {i} FROM {_T}")


def _conditions(part: str) -> str:
    return _of(f"SELECT x FROM {_T} WHERE true", 150, lambda i: part.format(i))


DEEP: dict[str, str] = {
    "inner joins": _joins("INNER"),
    "outer joins": _joins("LEFT"),
    "INTERSECT": _sets("INTERSECT", 300),
    "EXCEPT": _sets("EXCEPT", 300),
    "IN": _conditions(f" AND x IN (SELECT a + {{}} FROM {_S})"),
    "EXISTS": _conditions(f" AND EXISTS (SELECT 1 FROM {_S} WHERE a = x + {{}})"),
    "windows": _of("SELECT x", 100, lambda i: f", sum(x) OVER (PARTITION BY x + {i} ORDER BY y)", f" FROM {_T}"),
    "UNNEST": _of(f"SELECT count(*) FROM {_T}", 300, lambda i: f" CROSS JOIN UNNEST(ARRAY[x, y]) AS u{i}(z{i})"),
    "limits": _chain(300, lambda i: f"x, y FROM c{i} ORDER BY y LIMIT {i + 1}"),
    "groups": _chain(300, lambda i: f"x, sum(y) AS y FROM c{i} GROUP BY x"),
    "operators": "SELECT x" + " + 1" * 900 + f" FROM {_T}",
}
_TOO_DEEP = _sets("EXCEPT", 900)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ValidationPool]:
    none: Path = tmp_path_factory.mktemp("checkers")
    made = ValidationPool(PlannerFactory((), none, {}), size=1, timeout_seconds=120)
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture
def as_served() -> Iterator[None]:
    """The limit of a coordinator that serves."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("kind", DEEP)
async def test_hundreds_of_nodes_are_planned(kind: str, pool: ValidationPool, as_served: None) -> None:
    planned = await pool.plan(DEEP[kind], Session(user="t"))
    assert planned.subplan is not None
    assert sources(planned.subplan.fragment.root)


@pytest.mark.parametrize("text", [_TOO_DEEP, DEEP["INTERSECT"]], ids=["to plan", "to read"])
async def test_what_is_too_deep_has_a_clear_error_and_costs_no_process(text: str, pool: ValidationPool) -> None:
    """The second one is planned, but too deep for a reader with Python's own limit: two processes were lost to it."""
    before = pool.stats()
    with pytest.raises(ProcessionError) as refused:
        await pool.plan(text, Session(user="t"))
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    assert refused.value.message == "statement is too large (stack overflow during analysis)"
    assert (pool.stats().crashed, pool.stats().restarted) == (before.crashed, before.restarted)

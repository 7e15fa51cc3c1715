"""Which plans are kept for the same statement asked again, and that their rows are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coordinator.connectors.registry import read_catalogs
from coordinator.planner_factory import PlannerFactory
from coordinator.validation.kept_plans import KeptPlans
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ProcessionError
from shared.spi.session import Session

pytestmark = pytest.mark.anyio
SESSION = Session(user="u", catalog="tpch", schema="tiny", start=datetime(2026, 1, 1, tzinfo=UTC))


class Planner:
    """The line in this process; ``planned`` counts its statements."""

    def __init__(self, catalogs: Path) -> None:
        self.plan_now = PlannerFactory(read_catalogs(catalogs), catalogs / "none", {})()
        self.planned = 0

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        self.planned += 1
        return self.plan_now(text, session)


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    (tmp_path / "tpch.properties").write_text("connector.name=tpch\n")
    return Planner(tmp_path)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM system.jdbc.columns WHERE table_cat = 'tpch' AND table_name LIKE 'nation' ORDER BY 1, 2",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema",
        "SELECT count(*) FROM system.runtime.queries q JOIN system.runtime.tasks t ON q.query_id = t.query_id",
        "EXECUTE known USING 'tiny'",
    ],
)
async def test_kept(planner: Planner, sql: str) -> None:
    session = replace(SESSION, prepared_statements={"known": "SELECT * FROM system.jdbc.tables WHERE table_schem = ?"})
    kept = KeptPlans(planner)
    first = await kept.plan(sql, session)
    again = await kept.plan(sql, replace(session, query_id="other", start=datetime(2026, 2, 2, tzinfo=UTC)))
    assert planner.planned == 1
    assert (again.work, again.columns, again.subplan) == (first.work, first.columns, first.subplan)
    assert set(again.verb_seconds.values()) == {0.0}
    for other in ({"schema": "sf1"}, {"user": "v"}, {"time_zone": "Asia/Tokyo"}, {"properties": {"x": "1"}}):
        before = planner.planned
        try:
            await kept.plan(sql, replace(session, **other))
        except ProcessionError as error:
            assert "x" in error.message
        assert planner.planned == before + 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT query_id FROM system.runtime.queries WHERE created > current_timestamp - INTERVAL '1' HOUR",
        "SELECT now(), node_id FROM system.runtime.nodes",
        "SELECT table_name FROM system.jdbc.tables, nation",
        "SELECT * FROM nation",
        "SHOW TABLES",
        "SELECT 1",
    ],
)
async def test_not_kept(planner: Planner, sql: str) -> None:
    kept = KeptPlans(planner)
    await kept.plan(sql, SESSION)
    await kept.plan(sql, SESSION)
    assert planner.planned == 2


async def test_the_oldest_plan_goes_first(planner: Planner) -> None:
    kept = KeptPlans(planner, max_plans=2)
    first, second, third = (f"SELECT * FROM system.jdbc.types WHERE type_name = '{n}'" for n in "abc")
    for sql in (first, second, first, third, first):
        await kept.plan(sql, SESSION)
    assert planner.planned == 3
    await kept.plan(second, SESSION)
    assert planner.planned == 4


async def test_other_catalogs_are_other_plans(planner: Planner) -> None:
    version = 0
    plans = KeptPlans(planner, catalogs=lambda: version)
    sql = "SELECT * FROM system.metadata.catalogs"
    for _ in range(2):
        await plans.plan(sql, SESSION)
    assert planner.planned == 1
    version = 1
    await plans.plan(sql, SESSION)
    assert planner.planned == 2

"""Calls of catalogs and stores as spans of the statement that makes them; REST servers get the context of its trace."""

from __future__ import annotations

import pickle
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.registry import read_catalogs
from coordinator.planner_factory import PlannerFactory
from coordinator.vocabulary.trace_context import begin_tracing, trace_of
from coordinator.vocabulary.traced_calls import TracedCall, TracedCalls, collecting
from shared.errors import ProcessionError
from shared.spi.session import Session
from tests.iceberg.rest_habits import Habits
from tests.iceberg.test_rest_protocol import over
from tests.iceberg.test_rewrite import numbers

TRACE, CLIENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{CLIENT}-01"


def names(calls: tuple[TracedCall, ...]) -> list[str]:
    return [each.name for each in calls]


def test_a_rest_server_gets_the_span_of_the_call(lake: Any) -> None:
    lake.create("t", [numbers(0)])
    habits, calls = Habits(), TracedCalls()
    with over(lake, habits):
        lake.connector.tables_of.schemas()  # connects, outside of any statement
        assert {each for _, each in habits.traces} == {None}
        habits.traces.clear()

        def statement() -> None:
            begin_tracing("q1", SAMPLED)
            with collecting(calls, "dispatch"), lake.connector.tables_of.open("db", "t").transaction() as change:
                change.set_properties(owner="b")
            lake.connector.tables_of.tables("db")

        copy_context().run(statement)
        own = trace_of("q1", SAMPLED).traceparent
    load, commit = calls.calls
    assert names(calls.calls) == ["catalog.load_table", "catalog.commit_table"]
    assert (commit.about, commit.verb) == ({"catalog": "lab", "object": "db.t"}, "dispatch")
    path = "/v1/namespaces/db/tables/t"
    assert habits.traces == [
        (path, f"00-{TRACE}-{load.span_id}-01"),
        (path, f"00-{TRACE}-{commit.span_id}-01"),
        ("/v1/namespaces/db/tables", own),
    ], "what nobody collects belongs to the query itself"


def test_a_commit_of_a_sql_catalog_has_its_files(lake: Any) -> None:
    table = lake.create("t", [numbers(0), numbers(50)])
    calls = TracedCalls()
    with collecting(calls, "dispatch"):
        lake.call("rewrite_data_files", table_name="t", options={"rewrite-all": "true"})
    commits = [each for each in calls.calls if each.name == "catalog.commit_table"]
    assert commits
    written = [each for each in calls.calls if each.name == "store.write" and each.parent == commits[0].span_id]
    assert [each.about["file"] for each in written] == [lake.table("t").metadata_location.rpartition("/")[2]]
    read = {each.about["file"] for each in calls.calls if each.name == "store.read"}
    manifests = {each.manifest_path.rpartition("/")[2] for each in table.current_snapshot().manifests(table.io)}
    assert manifests <= read


def test_a_planner_tells_its_calls_with_the_plan(lake: Any, tmp_path: Path) -> None:
    lake.create("t", [numbers(0)])
    (tmp_path / "lab.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.uri={lake.uri}\niceberg.catalog.warehouse=file://{lake.home}/wh\n"
    )
    catalogs = read_catalogs(tmp_path)
    session = Session(user="u", catalog="lab", schema="db", query_id="q1")
    plan = partial(copy_context().run, PlannerFactory(catalogs, tmp_path / "none", {}, traced=True)())
    planned = plan("SELECT * FROM t", session)
    found = names(planned.calls)
    assert found[:2] == ["catalog.locate_table", "catalog.load_table"]
    assert {each.verb for each in planned.calls} == {"plan"}
    assert plan("SELECT * FROM t", replace(session, traceparent=SAMPLED[:-1] + "0")).calls == (), "not sampled"
    untraced = PlannerFactory(catalogs, tmp_path / "none", {})()
    assert copy_context().run(untraced, "SELECT * FROM t", session).calls == ()


def test_a_planner_tells_its_calls_with_the_error_too(lake: Any, tmp_path: Path) -> None:
    (tmp_path / "lab.properties").write_text(
        f"connector.name=iceberg\niceberg.catalog.uri={lake.uri}\niceberg.catalog.warehouse=file://{lake.home}/wh\n"
    )
    session = Session(user="u", catalog="lab", schema="db", query_id="q1")
    plan = PlannerFactory(read_catalogs(tmp_path), tmp_path / "none", {}, traced=True)()
    with pytest.raises(ProcessionError) as failed:
        copy_context().run(plan, "SELECT * FROM missing", session)
    sent = pickle.loads(pickle.dumps(failed.value))
    assert sent.message == failed.value.message
    assert "catalog.locate_table" in names(sent.calls)

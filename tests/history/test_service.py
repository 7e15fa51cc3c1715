"""The history of a whole service: what statements did is found again through HTTP and SQL."""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

import httpx
import prestodb
import pyarrow as pa
import pytest

from tests.e2e.service import Service

_PLACE = re.compile(r" \(\d+:\d+\)")


def settled(service: Service, path: str, count: int) -> list[Any]:
    """What ``path`` lists once it has so many that have ended; the history is written half a second later."""
    limit = time.monotonic() + 60
    while True:
        found: list[Any] = service.get(path)["queries"]
        if sum(each["state"] in {"FINISHED", "FAILED"} for each in found) >= count:
            return found
        assert time.monotonic() < limit, found
        time.sleep(0.1)


def test_statements_are_told_with_tables_plan_and_error(quiet_service: Service) -> None:
    source = f"test-{uuid.uuid4().hex}"
    ask = quiet_service.cursor(source=source, catalog="tpch", schema="tiny")
    ask.execute("SELECT r.name, count(*) FROM nation n JOIN region r ON n.regionkey = r.regionkey GROUP BY r.name")
    assert len(ask.fetchall()) == 5
    with pytest.raises(prestodb.exceptions.PrestoUserError):
        quiet_service.execute("SELECT\n nope FROM tpch.tiny.nation", source=source)
    failed, finished = settled(quiet_service, f"/v1/history?source={source}", 2)
    assert (failed["state"], failed["errorCode"]["name"]) == ("FAILED", "SYNTAX_ERROR")
    assert (failed["errorLine"], failed["errorColumn"]) == (2, 2)
    assert (finished["state"], finished["outputRows"], finished["engine"]) == ("FINISHED", 5, "coordinator")
    verdicts = {each["verdict"] for each in finished["verdicts"]}
    assert "accepted" in verdicts
    assert verdicts <= {"accepted", "not_checked"}  # what the coordinator runs itself goes to no worker
    assert list(finished["timeline"]) == sorted(finished["timeline"], key=_order)
    whole = quiet_service.get(f"/v1/history/{finished['queryId']}")
    read = {table["table"]: (table["access"], table["columns"]) for table in whole["tables"]}
    assert read == {"nation": ("READ", ["regionkey"]), "region": ("READ", ["regionkey", "name"])}
    explained = quiet_service.execute(f"EXPLAIN (TYPE LOGICAL) {whole['query']}", catalog="tpch", schema="tiny")[0][0]
    # The places of names in the text are others behind EXPLAIN.
    assert _PLACE.sub("", explained).startswith(_PLACE.sub("", whole["plan"]))
    assert whole["jsonPlan"]["name"] == "Output"
    for wanted in ("state=failed", "error=SYNTAX_ERROR", "text=NOPE", f"table=nation&from={finished['endTime']}"):
        listed = quiet_service.get(f"/v1/history?source={source}&{wanted}")["queries"]
        assert [query["queryId"] for query in listed] in ([failed["queryId"]], []), wanted
    assert quiet_service.get(f"/v1/history?source={source}&table=tiny.region")["queries"][0]["state"] == "FINISHED"


def _order(verb: str) -> int:
    verbs = ["receive", "parse", "analyze", "plan", "optimize", "fragment", "check", "queue", "dispatch", "deliver"]
    return verbs.index(verb)


def test_system_history_is_sql_over_the_same(quiet_service: Service) -> None:
    name, source = f"history_{uuid.uuid4().hex}", f"test-{uuid.uuid4().hex}"
    table = quiet_service.create(name, [pa.table({"id": pa.array([1, 2], pa.int64())})])
    quiet_service.execute(f"SELECT id FROM iceberg.db.{name}", source=source)
    quiet_service.execute(f"CALL iceberg.system.expire_snapshots('db', '{name}')", source=source)
    call, read = settled(quiet_service, f"/v1/history?source={source}", 2)
    rows = quiet_service.execute(
        'SELECT q.query_id, q.state, q.engine, t."table", t.columns, t.snapshot_id FROM system.history.queries q '
        f"JOIN system.history.tables_read t ON q.query_id = t.query_id WHERE q.source = '{source}' "
        f"AND t.\"table\" = '{name}' ORDER BY q.created"
    )
    snapshot = table.metadata.current_snapshot_id
    assert rows[0] == [read["queryId"], "FINISHED", "embedded", name, ["id"], snapshot]
    assert rows[1][:1] == [call["queryId"]]
    written = quiet_service.execute(
        f"SELECT query_id, operation FROM system.history.tables_written WHERE \"table\" = '{name}'"
    )
    assert written == [[call["queryId"], "CALL expire_snapshots"]]
    calls = quiet_service.execute(
        f"SELECT procedure, state, \"table\" FROM system.history.procedures WHERE query_id = '{call['queryId']}'"
    )
    assert calls == [["expire_snapshots", "FINISHED", f"iceberg.db.{name}"]]
    plans = quiet_service.execute(f"SELECT plan FROM system.history.plans WHERE query_id = '{read['queryId']}'")
    assert "TableScan" in plans[0][0]


def test_a_commit_is_told_with_its_snapshot(quiet_service: Service) -> None:
    name, source = f"committed_{uuid.uuid4().hex}", f"test-{uuid.uuid4().hex}"
    table = quiet_service.create(name, [pa.table({"id": pa.array([1, 2], pa.int64())})] * 3)
    before = table.metadata.current_snapshot_id
    quiet_service.execute(f"CALL iceberg.system.rewrite_manifests('db', '{name}')", source=source)
    quiet_service.execute(f"CALL iceberg.system.expire_snapshots('db', '{name}')", source=source)
    settled(quiet_service, f"/v1/history?source={source}", 2)
    after = quiet_service.lake().load_table(f"db.{name}").metadata.current_snapshot_id
    assert after != before
    written = quiet_service.execute(
        "SELECT operation, committed_snapshot_id FROM system.history.tables_written "
        f"WHERE \"table\" = '{name}' ORDER BY created"
    )
    assert written == [["CALL rewrite_manifests", after], ["CALL expire_snapshots", None]]


def test_wrong_questions_are_refused(quiet_service: Service) -> None:
    for query, problem in (
        ("limit=0", "limit"),
        ("limit=100000", "limit"),
        ("page=nonsense", "Invalid page"),
        ("from=yesterday", "ISO 8601"),
    ):
        answer = httpx.get(f"{quiet_service.url}/v1/history?{query}", timeout=60)
        assert (answer.status_code, problem in answer.text) == (400, True), answer.text
    assert httpx.get(f"{quiet_service.url}/v1/history/nobody", timeout=60).status_code == 404
    assert httpx.get(f"{quiet_service.url}/v1/history?user=%27%20OR%201%3D1%20--&table=%00", timeout=60).json() == {
        "queries": []
    }


def test_delivery_is_counted(quiet_service: Service) -> None:
    lines = httpx.get(f"{quiet_service.url}/metrics", timeout=60).text.splitlines()
    dropped = [
        line for line in lines if line.startswith('procession_events_total{listener="history",outcome="dropped"}')
    ]
    assert dropped == ['procession_events_total{listener="history",outcome="dropped"} 0.0']


@pytest.mark.slow
def test_a_statement_that_runs_is_listed_as_running(quiet_service: Service) -> None:
    source = f"test-{uuid.uuid4().hex}"
    long = "SELECT count(*) FROM tpch.tiny.lineitem a, tpch.tiny.lineitem b WHERE a.comment < b.comment"
    headers = {"X-Presto-User": "tester", "X-Presto-Source": source}
    answer = httpx.post(f"{quiet_service.url}/v1/statement", content=long, headers=headers, timeout=60).json()
    try:
        limit = time.monotonic() + 60
        while True:
            answer = httpx.get(answer["nextUri"], headers=headers, timeout=60).json()
            found = quiet_service.get(f"/v1/history?source={source}&state=running")["queries"]
            if found:
                break
            assert time.monotonic() < limit, answer["stats"]
            time.sleep(0.1)
        assert (found[0]["queryId"], found[0]["state"]) == (answer["id"], "RUNNING")
        assert answer["stats"]["state"] == "RUNNING"
        rows = quiet_service.execute(f"SELECT state FROM system.history.queries WHERE source = '{source}'")
        assert rows == [["RUNNING"]]
    finally:
        httpx.delete(answer["nextUri"], headers=headers, timeout=60)
    (ended,) = settled(quiet_service, f"/v1/history?source={source}", 1)
    assert ended["state"] == "FAILED"

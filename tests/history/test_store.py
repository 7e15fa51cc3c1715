"""The history's database, SQLite and a real PostgreSQL: what is written is found again, by filters and page by page."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.history.reader import ORDERS, HistoryFilter, HistoryReader, Order, WrongPageError
from coordinator.history.recorder import HistoryRecorder
from coordinator.history.schema import MIGRATIONS
from coordinator.history.settings import HistorySettings
from coordinator.history.store import LOST, HistoryStore, sqlite_address
from shared.properties import ConfigurationError
from shared.spi.access_control import Identity
from shared.spi.event_listener import InputColumn
from tests.databases import new_database
from tests.event_samples import CREATED, DAY, FAILURE, IO, PRICE, completed, created, progress, started

SETTINGS = HistorySettings.model_validate({})


def everybody(_owner: Identity) -> bool:
    return True


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_address(tmp_path / "history.db")
    return new_database(
        request.getfixturevalue("postgres").replace("postgresql:", "postgresql+psycopg2:", 1), "history"
    )


@pytest.fixture
def store(address: str) -> Iterator[HistoryStore]:
    opened = HistoryStore(address)
    yield opened
    opened.close()


@pytest.fixture
def recorder(store: HistoryStore) -> HistoryRecorder:
    return HistoryRecorder(store, SETTINGS, "node-1")


@pytest.fixture
def reader(store: HistoryStore) -> HistoryReader:
    return HistoryReader(store.engine)


def ids(reader: HistoryReader, **wanted: Any) -> list[str]:
    return [record["query_id"] for record in reader.records(HistoryFilter(**wanted), everybody)]


def test_a_statement_that_runs_is_told_as_running(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive([created("before"), created("gone")])
    recorder.receive([started("before"), started("gone"), completed("gone")])
    recorder.receive([created("together"), started("together")])
    recorder.receive([started("gone"), started("never written")])
    found = {record["query_id"]: record for record in reader.records(HistoryFilter(), everybody)}
    assert {name: record["state"] for name, record in found.items()} == {
        "before": "RUNNING",
        "together": "RUNNING",
        "gone": "FINISHED",
    }
    for name in ("before", "together"):
        record = found[name]
        assert (record["resource_group"], record["query_type"]) == ("global.ann", "INSERT")
        assert record["started"] - record["created"] == 1_000_000
    assert sorted(ids(reader, state="RUNNING")) == ["before", "together"]
    recorder.receive([completed("before"), completed("together")])
    assert ids(reader, state="RUNNING") == []


def test_a_statement_is_found_again_whole(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive([created()])
    assert [record["state"] for record in reader.records(HistoryFilter(), everybody)] == ["QUEUED"]
    recorder.receive([completed(failure_info=FAILURE)])
    found = reader.one("q1", everybody)
    assert found is not None
    expected = {
        "state": "FAILED",
        "user_name": "ann",
        "groups": '["dev","ops"]',
        "resource_group": "global.ann",
        "elapsed_ms": 3000,
        "verbs": '{"plan":0.5}',
        "engine": "spark",
        "error_name": "DIVISION_BY_ZERO",
        "error_column": 8,
        "written_rows": 7,
        "plan": "- Output",
        "json_plan": '{"id":"1"}',
        "created": int(CREATED.timestamp()) * 1_000_000 + 123_456,
    }
    assert {name: found[name] for name in expected} == expected
    read, written = found["tables"]
    assert (read["access"], read["table_name"], read["columns"]) == ("READ", "orders", '["price","day"]')
    assert read["snapshot_id"] == IO.inputs[0].snapshot_id
    assert (written["access"], written["operation"], written["table_name"]) == ("WRITE", "INSERT", "totals")
    assert reader.one("other", everybody) is None
    assert (PRICE.table, DAY.table) == ("orders", "orders")


def test_a_statement_that_ended_at_once_is_one_row(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive([created(), completed()])
    recorder.receive([completed()])  # told twice
    assert ids(reader) == ["q1"]


def test_filters(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive(
        [
            completed("a", text="SELECT '100%_sure' FROM t"),
            completed("b", "SELECT", after=60, context={"user": "bob", "source": "cli"}, failure_info=FAILURE),
            completed("c", after=120, context={"resource_group_id": ("global", "annex")}),
        ]
    )
    assert ids(reader) == ["c", "b", "a"]
    assert ids(reader, state="failed") == ["b"]
    assert ids(reader, user="bob") == ids(reader, source="cli") == ids(reader, query_type="select") == ["b"]
    assert ids(reader, error="division_by_zero") == ["b"]
    assert ids(reader, group="global.ann") == ["b", "a"]
    assert ids(reader, group="global") == ["c", "b", "a"]
    assert ids(reader, engine="SPARK", user="ann") == ["c", "a"]
    assert ids(reader, text="100%_SURE") == ["a"]
    assert ids(reader, text="%sure") == []
    assert ids(reader, table="orders") == ids(reader, table="lake.db.totals") == ["c", "b", "a"]
    assert ids(reader, table="other.orders") == ids(reader, table="x' OR 1=1 --") == []
    later = CREATED + timedelta(seconds=60)
    assert ids(reader, created_from=later) == ["c", "b"]
    assert ids(reader, created_before=later) == ["a"]
    assert ids(reader, query_ids=frozenset({"a", "c", "z"})) == ["c", "a"]


def test_others_statements_are_seen_as_the_rules_say(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive(
        [completed("a"), completed("b", context={"user": "bob"}), progress("a"), progress("x", user="bob")]
    )

    def own(owner: Identity) -> bool:
        asked.append(owner)
        return owner.user == "ann"

    asked: list[Identity] = []
    assert [record["query_id"] for record in reader.records(HistoryFilter(), own)] == ["a"]
    assert Identity("ann", "ann@example.com", ("dev", "ops")) in asked
    assert reader.one("b", own) is None
    assert {record["query_id"] for record in reader.tables(HistoryFilter(), own)} == {"a"}
    assert [record["query_id"] for record in reader.procedures(own)] == ["a"]


def test_pages_meet_at_the_same_moment(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive([completed(f"q{number:03}", after=number // 7) for number in range(50)])
    seen: list[str] = []
    after: str | None = None
    while True:
        page = reader.page(HistoryFilter(), everybody, 4, after)
        seen += [record["query_id"] for record in page.records]
        after = page.next
        if after is None:
            break
        # What comes meanwhile changes no page.
        recorder.receive([completed(f"new{len(seen)}", after=1000)])
    assert seen == [f"q{number:03}" for number in reversed(range(50))]
    for wrong in ("%%%", "AAAA", "é", ""):
        with pytest.raises(WrongPageError):
            reader.page(HistoryFilter(), everybody, 4, wrong)


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("by", sorted(ORDERS))
def test_pages_in_other_orders(recorder: HistoryRecorder, reader: HistoryReader, by: str, ascending: bool) -> None:
    """Beside Python's order of the same records; those that are alike come by their ids, and none twice."""
    recorder.receive(
        [completed(f"q{n:02}", context={"user": f"u{n % 3}"}, after=n % 7) for n in range(30)] + [created("running")]
    )
    columns = {"created": "created", "elapsed": "elapsed_ms", "queued": "queued_ms", "rows": "output_rows"}
    column = {**columns, "read": "input_rows", "user": "user_name", "state": "state"}[by]
    empty = "" if by in ("user", "state") else 0
    all_of = list(reader.records(HistoryFilter(), everybody))
    expected = sorted(all_of, key=lambda r: (r[column] or empty, r["query_id"]), reverse=not ascending)
    seen: list[str] = []
    after: str | None = None
    while True:
        page = reader.page(HistoryFilter(), everybody, 4, after, Order(by, ascending))
        seen += [record["query_id"] for record in page.records]
        after = page.next
        if after is None:
            break
    assert seen == [record["query_id"] for record in expected]
    assert len(seen) == 31
    other = reader.page(HistoryFilter(), everybody, 4, None, Order("user" if empty == 0 else "rows"))
    with pytest.raises(WrongPageError):
        reader.page(HistoryFilter(), everybody, 4, other.next, Order(by))


def test_pages_of_who_sees_little(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    recorder.receive([completed(f"o{number:04}", context={"user": "other"}, after=number) for number in range(1200)])
    recorder.receive([completed("mine", after=-5)])
    page = reader.page(HistoryFilter(), lambda owner: owner.user == "ann", 10)
    assert [record["query_id"] for record in page.records] == ["mine"]
    assert page.next is None


def test_what_a_crash_left_open_is_told_as_failed(store: HistoryStore, reader: HistoryReader) -> None:
    first = HistoryRecorder(store, SETTINGS, "node-1")
    first.receive([created("running"), created("ended"), completed("ended"), progress("running")])
    first.settle("node-1", "_bbbbb")  # nor does the end of another start
    first.settle("node-2")  # another node's start settles nothing of this one's
    assert [record["state"] for record in reader.records(HistoryFilter(), everybody)] == ["QUEUED", "FINISHED"]
    first.settle("node-1", "ning")
    lost = reader.one("running", everybody)
    assert lost is not None
    assert (lost["state"], lost["error_message"], lost["ended"] is not None) == ("FAILED", LOST, True)
    assert [record["state"] for record in reader.procedures(everybody)] == ["LOST"]
    assert reader.one("ended", everybody)["state"] == "FINISHED"  # type: ignore[index]


def test_the_old_is_forgotten_by_age_and_size(
    store: HistoryStore, recorder: HistoryRecorder, reader: HistoryReader
) -> None:
    recorder.receive([created("running"), progress("q0")])
    recorder.receive([completed(f"q{number}", after=number, text="x" * 1000) for number in range(10)])
    assert store.forget(CREATED + timedelta(seconds=3), 1 << 30) == 3
    assert ids(reader)[-2:] == ["q3", "running"]  # what runs is not forgotten
    assert list(reader.procedures(everybody)) == []
    size = store.size()
    assert store.forget(CREATED, size * 2 // 3) > 0
    assert size // 3 < store.size() <= size * 2 // 3
    assert ids(reader)[0] == "q9"
    assert {record["query_id"] for record in reader.tables(HistoryFilter(), everybody)} == set(ids(reader)) - {
        "running"
    }


def test_odd_and_long_texts(store: HistoryStore, reader: HistoryReader) -> None:
    recorder = HistoryRecorder(store, SETTINGS.model_copy(update={"max_text": 1024}), "node-1")
    recorder.receive([completed("nul", text="SELECT 'a\0b'; \U0001f600 '' \\ --"), completed("long", text="é" * 5000)])
    odd, long = reader.one("nul", everybody), reader.one("long", everybody)
    assert odd is not None
    assert long is not None
    assert odd["query"] == "SELECT 'a\N{SYMBOL FOR NULL}b'; \U0001f600 '' \\ --"
    assert (len(long["query"]), long["query_truncated"]) == (1024 + len("… (cut off)"), True)


ODD = "a\0b\ud800"
KEPT = "a\N{SYMBOL FOR NULL}b?"


def test_texts_that_a_database_does_not_take_hide_nothing(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    """In any field: the rows of a batch are written together."""
    context = dict.fromkeys(("user", "principal", "source", "client_info", "catalog", "schema", "trace_token"), ODD)
    table = replace(IO.inputs[0], table=ODD, columns=(InputColumn(name=ODD, type="double"),))
    failure = replace(FAILURE, failure_message=ODD)
    many: dict[str, Any] = {"client_tags": (ODD,), "groups": (ODD,), "resource_group_id": (ODD, "x")}
    about = {
        "failure_info": failure,
        "io_metadata": replace(IO, inputs=(table,)),
        "text": ODD,
        "context": context | many,
    }
    recorder.receive([completed("before"), completed("odd", **about), progress("odd", table=ODD, error=ODD)])
    recorder.receive([created("running"), progress("other", phase=ODD)])
    assert {*ids(reader)} == {"before", "odd", "running"}
    found = reader.one("odd", everybody)
    assert found is not None
    told = {name: found[name] for name in ("user_name", "source", "catalog", "error_message", "query", "trace_token")}
    assert set(told.values()) == {KEPT}
    assert [found["tables"][0][name] for name in ("table_name", "columns")] == [KEPT, f'["{KEPT}"]']
    for wanted in ({"user": ODD}, {"text": ODD}, {"source": ODD}, {"group": ODD}):
        assert ids(reader, **wanted) == ["odd"]
    assert ids(reader, state="\0") == []


def test_a_statement_that_the_database_refuses_is_lost_alone(recorder: HistoryRecorder, reader: HistoryReader) -> None:
    numbers = replace(completed().statistics, written_rows=2**70)
    recorder.receive([completed("one"), completed("beyond", statistics=numbers), progress("one"), completed("two")])
    assert {*ids(reader)} == {"one", "two"}
    assert len(list(reader.tables(HistoryFilter(), everybody))) == 4


def test_migrations_run_once_and_a_newer_database_is_refused(address: str) -> None:
    for _ in range(2):
        HistoryStore(address).close()
    engine = sa.create_engine(address)
    with engine.begin() as connection:
        numbers = connection.exec_driver_sql("SELECT number FROM history_migrations").scalars().all()
        assert numbers == list(range(1, len(MIGRATIONS) + 1))
        connection.exec_driver_sql("INSERT INTO history_migrations VALUES (998, 0)")
    HistoryStore(address).close()  # a newer version has only added something
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO history_migrations_breaking VALUES (999, 0)")
    engine.dispose()
    with pytest.raises(ConfigurationError, match="schema 999, of a newer version"):
        HistoryStore(address)


def test_a_database_of_the_first_version_gets_what_came_later(address: str) -> None:
    HistoryStore(address).close()
    engine = sa.create_engine(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE history_tables DROP COLUMN committed_snapshot_id")
        for column in ("spark_operations", "spark_jobs"):
            connection.exec_driver_sql(f"ALTER TABLE history_queries DROP COLUMN {column}")
        connection.exec_driver_sql("DELETE FROM history_migrations WHERE number > 1")
    engine.dispose()
    store = HistoryStore(address)
    HistoryRecorder(store, SETTINGS, "node-1").receive([completed("writes")])
    found = HistoryReader(store.engine).one("writes", everybody)
    assert found is not None
    assert [table["committed_snapshot_id"] for table in found["tables"]][-1] == 7_654_321_098_765_432_109
    assert (found["spark_operations"], found["spark_jobs"]) == ('["c4a1","c4a2"]', "[7,8]")
    store.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), max_size=12), st.integers(1, 5))
def test_pages_are_the_sorted_list(tmp_path: Path, drawn: list[tuple[int, str]], limit: int) -> None:
    file = tmp_path / f"{uuid.uuid4().hex}.db"
    store = HistoryStore(sqlite_address(file))
    reader = HistoryReader(store.engine)
    events = [completed(f"q{at}", after=after, context={"user": user}) for at, (after, user) in enumerate(drawn)]
    if events:
        HistoryRecorder(store, SETTINGS, "n").receive(events)
    seen, after = [], None
    while True:
        page = reader.page(HistoryFilter(user="a"), everybody, limit, after)
        assert len(page.records) <= limit
        seen += [record["query_id"] for record in page.records]
        after = page.next
        if after is None:
            break
    oracle = sqlite3.connect(file)
    expected = oracle.execute(
        "SELECT query_id FROM history_queries WHERE user_name = 'a' ORDER BY created DESC, query_id DESC"
    ).fetchall()
    oracle.close()
    store.close()
    assert seen == [row[0] for row in expected]

"""Whether stored rows are read, by what became of the tables below; DuckDB is what says which rows are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo

from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import WriteRows
from shared.errors import ProcessionError
from tests.materialized.kept import Kept
from tests.security.access.conftest import PEOPLE

pytestmark = pytest.mark.lake

SUMS = "SELECT salary > 15 AS rich, count(*) AS n, sum(salary) AS total FROM people GROUP BY 1"
FRESH = "its stored rows are read, they are up to date"
MORE = pa.table(
    {
        "id": pa.array([5], pa.int64()),
        "name": ["eve"],
        "salary": pa.array([50], pa.int64()),
        "day": PEOPLE["day"][:1],
    }
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.local.close()


def right(lab: Kept, sql: str = SUMS) -> list[tuple[object, ...]]:
    people = lab.lake.table("people").scan().to_arrow()  # noqa: F841 - DuckDB finds it
    return sorted(duckdb.sql(sql).fetchall())


def read(lab: Kept, user: str = "bob", **options: object) -> list[tuple[object, ...]]:
    return sorted(lab.rows(user, "SELECT * FROM mv", **options))


def test_stored_rows_are_read_while_nothing_changes(lab: Kept) -> None:
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    assert lab.note("bob", "mv") == "its query is run, it was never refreshed"
    assert read(lab) == right(lab)
    assert lab.refresh("alice", "mv") == 2
    assert lab.note("bob", "mv") == FRESH
    assert read(lab) == right(lab)
    # What is read is the storage table, not the one below.
    assert "people" not in lab.rows("bob", "EXPLAIN SELECT * FROM mv")[0][0]


def test_rows_that_came_since_are_seen(lab: Kept) -> None:
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.refresh("alice", "mv")
    lab.lake.table("people").append(MORE)
    assert lab.note("bob", "mv") == "its query is run, rows were added to db.people"
    assert read(lab) == right(lab)
    lab.lake.table("people").delete(EqualTo("id", 1))
    assert lab.note("bob", "mv") == "its query is run, rows of db.people were changed"
    assert read(lab) == right(lab)
    lab.refresh("alice", "mv")
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab))


def test_a_compaction_changes_no_rows(lab: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.lake.table("people").append(MORE)
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.refresh("alice", "mv")
    before = lab.lake.table("people").current_snapshot()
    lab.lake.call("rewrite_data_files", schema="db", table_name="people", options={"rewrite-all": "true"})
    after = lab.lake.table("people").current_snapshot()
    assert before is not None
    assert after is not None
    assert before.snapshot_id != after.snapshot_id
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab))
    monkeypatch.setattr(lab.lake.connector, "table", lab.lake.connector.storage)
    # Neither does one of the storage table, whose newest snapshot is read then.
    lab.lake.call("rewrite_data_files", schema="db", table_name="__mv_storage__mv", options={"rewrite-all": "true"})
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab))


def test_a_rollback_below_what_was_read(lab: Kept) -> None:
    first = lab.lake.table("people").current_snapshot()
    assert first is not None
    lab.lake.table("people").append(MORE)
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.refresh("alice", "mv")
    lab.lake.call("rollback_to_snapshot", schema="db", table_name="people", snapshot_id=first.snapshot_id)
    assert "is not in its history" in lab.note("bob", "mv")
    assert read(lab) == right(lab)


def test_windows_and_behaviors(lab: Kept) -> None:
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.refresh("alice", "mv")
    old = right(lab)
    lab.lake.table("people").append(MORE)
    hour = {"materialized_view_staleness_window": "1h"}
    assert "within the staleness window of 1.00h" in lab.note("bob", "mv", properties=hour)
    lab.do("alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (staleness_window = '2h')")
    assert read(lab) == old
    lab.do("alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (staleness_window = '0s', stale_read_behavior = 'FAIL')")
    with pytest.raises(ProcessionError, match=r"'lab\.db\.mv' is stale: rows were added to db\.people"):
        read(lab)
    lab.do(
        "alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES stale_read_behavior = DEFAULT, staleness_window = DEFAULT"
    )
    assert read(lab) == right(lab)
    lab.refresh("alice", "mv")
    force = {"materialized_view_force_stale": "true"}
    assert lab.note("bob", "mv", properties=force).startswith("its query is run")


def test_what_is_below_may_be_a_view(lab: Kept) -> None:
    lab.do("alice", "CREATE VIEW below AS SELECT salary FROM people WHERE id < 4")
    query = "SELECT sum(salary) AS total FROM below"
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {query}")
    lab.refresh("alice", "mv")
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, [(60,)])
    lab.do("alice", "CREATE OR REPLACE VIEW below AS SELECT salary FROM people WHERE id < 3")
    assert "means something else now" in lab.note("bob", "mv")
    assert read(lab) == [(30,)]
    # Another materialized view stands for its query.
    lab.do("alice", "CREATE MATERIALIZED VIEW upper AS SELECT total * 2 AS twice FROM mv")
    lab.refresh("alice", "upper")
    assert (lab.note("bob", "upper"), lab.rows("bob", "SELECT * FROM upper")) == (FRESH, [(60,)])


def test_time_zones_count_where_they_matter(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT cast(day AS timestamp with time zone) AS at FROM people")
    lab.refresh("alice", "mv")
    assert lab.note("bob", "mv") == FRESH
    assert "the session differ" in lab.note("bob", "mv", time_zone="Asia/Tokyo")
    for number, function in enumerate(("from_unixtime(id)", "to_iso8601(from_unixtime(id))", "to_unixtime(now_)")):
        source = "people" if number < 2 else "(SELECT cast(day AS timestamp) AS now_ FROM people) p"
        lab.do("alice", f"CREATE MATERIALIZED VIEW zoned{number} AS SELECT {function} AS x FROM {source}")
        lab.refresh("alice", f"zoned{number}")
        assert "the session differ" in lab.note("bob", f"zoned{number}", time_zone="Asia/Tokyo")
    lab.do("alice", f"CREATE MATERIALIZED VIEW plain AS {SUMS}")
    lab.refresh("alice", "plain")
    assert lab.note("bob", "plain", time_zone="Asia/Tokyo") == FRESH


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT id, now() AS at FROM people", "cannot depend on the time"),
        ("SELECT id FROM people WHERE day < current_date", "cannot depend on the time"),
        ("SELECT id, random() AS r FROM people", "cannot depend on the time, on chance"),
        ("SELECT id FROM people TABLESAMPLE SYSTEM (10)", "on chance"),
        ("SELECT id FROM people TABLESAMPLE BERNOULLI (10)", "on chance"),
        ('SELECT "$path" AS p FROM people', "or its files"),
        ("SELECT id FROM people FOR VERSION AS OF 'main'", "on a version of a table"),
        ("SELECT id FROM people WHERE name = current_user", "cannot depend on who asks"),
        ("SELECT name FROM tpch.tiny.nation", "read tables of their own catalog alone"),
        ('SELECT committed_at FROM "people$snapshots"', "read tables of their own catalog alone"),
        ("SELECT id, id FROM people", "specified more than once"),
        ("SELECT 1", "Column name not specified"),
        ("SELECT * FROM mv", "does not exist"),
    ],
)
def test_queries_that_cannot_be_kept(lab: Kept, query: str, why: str) -> None:
    assert why in lab.refused("alice", f"CREATE MATERIALIZED VIEW mv AS {query}")


def test_refreshes_that_overlap(lab: Kept) -> None:
    """The rows and what is known of them are of one refresh, whichever it was."""
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv WITH (refresh_type = 'FULL') AS {SUMS}")
    lab.refresh("alice", "mv")

    def other() -> None:
        lab.between = None
        lab.lake.table("people").append(MORE)
        assert lab.refresh("alice", "mv") == 2

    lab.lake.table("people").append(MORE)
    lab.between = other
    lab.refresh("alice", "mv")
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab))


def test_what_another_refresh_was_faster_with_is_not_added_again(lab: Kept) -> None:
    query = "SELECT id, salary * 2 AS twice FROM people WHERE id <> 2"
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {query}")
    lab.refresh("alice", "mv")
    lab.lake.table("people").append(MORE)
    planned = lab.planned(lab.session("alice", query_id="slow"), "REFRESH MATERIALIZED VIEW mv")
    new = "SELECT id, salary * 2 AS twice FROM people WHERE id = 5"
    assert lab.refresh("alice", "mv", new) == 1
    with pytest.raises(ProcessionError, match="was refreshed while it was refreshed"):
        lab.carry_out(planned, lab.session("alice", query_id="slow"), new)
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab, query))

    def faster() -> None:
        lab.between = None
        lab.refresh("alice", "mv")

    lab.lake.table("people").append(MORE)
    planned = lab.planned(lab.session("alice", query_id="overtaken"), "REFRESH MATERIALIZED VIEW mv")
    lab.between = faster
    with pytest.raises(ProcessionError, match="was refreshed while it was refreshed"):
        lab.carry_out(planned, lab.session("alice", query_id="overtaken"), new)
    # The rows that the slower one had added already were not those of the view: the faster one replaced them all.
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab, query))


def test_settings_that_change_in_the_middle_stay(lab: Kept) -> None:
    """The refresh counts as well, and the next one goes on where it ended."""
    query = "SELECT id, salary FROM people"
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {query}")

    def change() -> None:
        lab.between = None
        lab.do("alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (staleness_window = '1d')")

    lab.between = change
    assert lab.refresh("alice", "mv") == 4
    assert "staleness_window = '1.00d'" in lab.rows("alice", "SHOW CREATE MATERIALIZED VIEW mv")[0][0]
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab, query))
    lab.lake.table("people").append(MORE)
    assert lab.refresh("alice", "mv", "SELECT id, salary FROM people WHERE id = 5") == 1
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab, query))

    def replace() -> None:
        lab.between = None
        lab.do("alice", "CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT id FROM people")

    lab.between = replace
    lab.lake.table("people").append(MORE)
    with pytest.raises(ProcessionError, match="was dropped or replaced"):
        lab.refresh("alice", "mv", "SELECT id, salary FROM people WHERE id = 5")
    assert lab.note("bob", "mv") == "its query is run, it was never refreshed"


def test_a_commit_below_in_the_middle_is_not_lost(lab: Kept) -> None:
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.between = lambda: lab.lake.table("people").append(MORE)
    lab.refresh("alice", "mv")
    lab.between = None
    assert lab.note("bob", "mv") == "its query is run, rows were added to db.people"
    assert read(lab) == right(lab)


def test_a_refresh_that_dies_between_its_steps(lab: Kept) -> None:
    lab.do("alice", f"CREATE MATERIALIZED VIEW mv AS {SUMS}")
    lab.refresh("alice", "mv")
    old = right(lab)
    lab.lake.table("people").append(MORE)

    def die() -> None:
        raise KeyboardInterrupt

    lab.between = die
    with pytest.raises(KeyboardInterrupt):
        lab.refresh("alice", "mv")
    lab.between = None
    lab.do("alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (staleness_window = '1d')")
    assert read(lab) == old
    lab.refresh("alice", "mv")
    assert (lab.note("bob", "mv"), read(lab)) == (FRESH, right(lab))


def test_a_replacement_that_reads_its_table_through_stored_rows_is_known_to_read_it(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, name FROM people")
    lab.refresh("alice", "mv")
    assert lab.note("alice", "mv") == FRESH
    session = lab.session("alice")
    for table, reads in (("people", True), ("other", False)):
        if not reads:
            lab.lake.other.create_table("db.other", schema=MORE.schema)
        with acting_for(session):
            planned = lab.planned(session, f"CREATE OR REPLACE TABLE {table} AS SELECT m.id FROM mv m WHERE m.id > 1")
        assert isinstance(planned.work, WriteRows)
        assert planned.work.write.reads_target is reads

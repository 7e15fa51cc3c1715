"""Stored rows under rules: they tell nobody what the view's query would not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.errors import ProcessionError
from tests.materialized.kept import Kept

pytestmark = pytest.mark.lake

ALL = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]
STORAGE = '"__mv_storage__mv"'


def table(name: str, *privileges: str, user: str = ".*", **more: object) -> dict[str, object]:
    return {"user": user, "catalog": "lab", "schema": "db", "table": name, "privileges": list(privileges), **more}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.local.close()


def rules(lab: Kept, *tables: dict[str, object]) -> None:
    lab.rules(
        catalogs=[{"catalog": ".*", "allow": "all"}],
        schemas=[{"owner": True}],
        tables=[table(".*", *ALL, user="alice"), *tables],
    )


def test_storage_tables_cannot_be_named(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    lab.do("alice", "CREATE MATERIALIZED VIEW other WITH (storage_table = 'plain') AS SELECT id FROM people")
    lab.refresh("alice", "mv")
    assert not {"__mv_storage__mv"} & {name for (name,) in lab.rows("alice", "SHOW TABLES")}
    for name in (STORAGE, "plain"):
        bare = name.strip('"')
        for text in (
            f"SELECT * FROM {name}",
            f'SELECT * FROM "{bare}$files"',
            f'SELECT * FROM "{bare}$snapshots"',
            f'SELECT * FROM "{bare}@1"',
            f'SELECT * FROM "{bare}.branch_main"',
            f"SELECT * FROM {name} FOR VERSION AS OF 'main'",
            f"CREATE TABLE copied AS SELECT * FROM {name}",
            f"INSERT INTO {name} SELECT * FROM {name}",
            f"DELETE FROM {name}",
            f"TRUNCATE TABLE {name}",
            f"DROP TABLE {name}",
            f"ALTER TABLE {name} RENAME TO stolen",
            f"ALTER TABLE {name} ADD COLUMN x bigint",
            f"SHOW CREATE TABLE {name}",
            f"SHOW STATS FOR {name}",
            f"DESCRIBE {name}",
            f"ANALYZE {name}",
        ):
            assert "does not exist" in lab.refused("alice", text), text
    assert "are kept for materialized views" in lab.refused("alice", f"CREATE TABLE {STORAGE} (a bigint)")
    assert "are kept for materialized views" in lab.refused("alice", 'ALTER TABLE others RENAME TO "__mv_storage__x"')
    assert "are kept for materialized views" in lab.refused("alice", 'CREATE VIEW "__MV_storage__x" AS SELECT 1 a')


def test_calls_look_after_files_alone(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    lab.do("alice", "CREATE MATERIALIZED VIEW other WITH (storage_table = 'plain') AS SELECT id FROM people")
    lab.refresh("alice", "mv")
    for name in ("__mv_storage__mv", "plain"):
        given = f"schema => 'db', table_name => '{name}'"
        for call in (
            f"copy_to_table({given}, new_table => 'copied')",
            "commits_compare(schema => 'db', table_name => 'people', other_table => '" + name + "')",
            f"create_changelog_view({given})",
            f"show_snapshot_partitions({given})",
            f"show_snapshot_files({given})",
            f"rollback_to_snapshot({given}, snapshot_id => 1)",
            f"unregister_table({given})",
            f"snapshot(schema => 'db', table_name => 'copied', source_table => 'lab.db.{name}')",
            f"rewrite_data_files({given}, filter => 'salary > 15')",
        ):
            assert "can do no more than look after its files" in lab.refused("alice", f"CALL lab.system.{call}"), call
        for call in ("rewrite_data_files", "expire_snapshots", "remove_orphan_files"):
            assert lab.refused("alice", f"CALL lab.system.{call}({given})") == ""


def test_a_filter_of_the_owner_holds_for_all(lab: Kept) -> None:
    rules(lab, table("mv", "SELECT", user="bob"))
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    assert len(lab.rows("bob", "SELECT * FROM mv")) == 4
    # From the moment on at which somebody hides rows from the owner, nobody is given what was stored before.
    lab.rules(
        catalogs=[{"catalog": ".*", "allow": "all"}],
        schemas=[{"owner": True}],
        tables=[
            table("people", *ALL, user="alice", filter="id < 3"),
            table(".*", *ALL, user="alice"),
            table("mv", "SELECT", user="bob"),
        ],
    )
    assert "means something else now" in lab.note("bob", "mv")
    assert sorted(lab.rows("bob", "SELECT id FROM mv")) == [(1,), (2,)]
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    assert sorted(lab.rows("bob", "SELECT id FROM mv")) == [(1,), (2,)]


def test_a_view_of_whoever_asks_shows_each_their_own(lab: Kept) -> None:
    rules(
        lab,
        table("people", "SELECT", user="bob", filter="name = current_user"),
        table("people", "SELECT", user="eve", columns=[{"name": "salary", "mask": "-1"}]),
        table(".*", "SELECT", user="dan"),
        table("mv", "SELECT", user="bob|eve|fay"),
    )
    lab.do("alice", "CREATE MATERIALIZED VIEW mv SECURITY INVOKER AS SELECT name, salary FROM people")
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("dan", "mv")
    assert lab.rows("bob", "SELECT * FROM mv") == [("bob", 20)]
    assert {salary for _, salary in lab.rows("eve", "SELECT * FROM mv")} == {-1}
    for user in ("bob", "eve"):
        assert "means something else now" in lab.note(user, "mv")
    # Who may not read the table is not given what was stored of it.
    assert lab.refused("fay", "SELECT * FROM mv").startswith("Access Denied: Cannot select from columns")


def test_who_may_refresh(lab: Kept) -> None:
    rules(lab, table("mv", "SELECT", "UPDATE", user="bob"), table("mv", "SELECT", user="eve"))
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    refused = "Access Denied: Cannot refresh materialized view lab.db.mv"
    assert lab.refused("eve", "REFRESH MATERIALIZED VIEW mv") == refused
    # As the owner, whose rows these are: bob cannot read the table itself.
    assert lab.refresh("bob", "mv") == 4
    assert lab.refused("bob", "SELECT * FROM people").startswith("Access Denied")
    assert sorted(lab.rows("eve", "SELECT * FROM mv")) == [(1, 10), (2, 20), (3, 30), (4, 40)]
    for text in ("DROP MATERIALIZED VIEW mv", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (staleness_window = '1d')"):
        assert lab.refused("bob", text).startswith("Access Denied")
    assert lab.refused("bob", "SHOW CREATE MATERIALIZED VIEW mv").startswith("Access Denied")


def test_an_owner_who_lost_the_table_shows_nothing_more(lab: Kept) -> None:
    rules(lab, table("mv", "SELECT", user="bob"))
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    lab.refresh("alice", "mv")
    for kept in (["SELECT"], []):
        lab.rules(
            catalogs=[{"catalog": ".*", "allow": "all"}],
            schemas=[{"owner": True}],
            tables=[table("people", *kept, user="alice"), table(".*", *ALL, user="alice"), table("mv", "SELECT")],
        )
        assert "View owner 'alice' cannot create view" in lab.refused("bob", "SELECT * FROM mv")


def test_masks_of_the_view_itself(lab: Kept) -> None:
    rules(lab, table("mv", "SELECT", user="bob", filter="id > 2", columns=[{"name": "salary", "mask": "0"}]))
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id, salary FROM people")
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    assert sorted(lab.rows("bob", "SELECT * FROM mv")) == [(3, 0), (4, 0)]


def test_a_storage_table_elsewhere_needs_leave_to_make_it(lab: Kept) -> None:
    lab.rules(
        catalogs=[{"catalog": ".*", "allow": "all"}],
        schemas=[{"owner": True}],
        tables=[table("people|mv", *ALL, user="bob")],
    )
    made = "CREATE MATERIALIZED VIEW mv {} AS SELECT id FROM people"
    assert lab.refused("bob", made.format("WITH (storage_schema = 'hidden')")) == (
        "Access Denied: Cannot create table lab.hidden.__mv_storage__mv"
    )
    assert lab.refused("bob", made.format("")) == ""


def test_what_is_listed(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv COMMENT 'all' AS SELECT id FROM people")
    asked = (
        "SELECT name, storage_schema, storage_table, freshness, comment, definition "
        "FROM system.metadata.materialized_views WHERE catalog_name = 'lab'"
    )
    row = ("mv", "db", "__mv_storage__mv", "STALE", "all", "SELECT id FROM people")
    assert lab.rows("bob", asked) == [row]
    lab.refresh("alice", "mv")
    assert lab.rows("bob", asked) == [(*row[:3], "FRESH", *row[4:])]
    listed = "SELECT table_type FROM lab.information_schema.tables WHERE table_name IN ('mv', '__mv_storage__mv')"
    assert lab.rows("bob", listed) == [("VIEW",)]
    with pytest.raises(ProcessionError, match="Did you mean DROP MATERIALIZED VIEW"):
        lab.do("alice", "DROP VIEW mv")
    lab.do("alice", "ALTER MATERIALIZED VIEW mv RENAME TO renamed")
    assert "stored rows" in lab.note("bob", "renamed")
    lab.do("alice", "DROP MATERIALIZED VIEW renamed")
    assert lab.lake.other.list_tables("db") == [("db", "others"), ("db", "people")]

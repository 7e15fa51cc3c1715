"""What is stored of a materialized view, in both kinds of catalogs, as Presto reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.connectors.iceberg.views.sql_store import SqlViews
from shared.errors import ProcessionError
from tests.materialized.kept import Kept

P = "presto.materialized_view."


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.local.close()


def properties(lab: Kept, name: str) -> dict[str, str]:
    catalog = SqlCatalog("lab", uri=lab.lake.uri, warehouse=f"file://{lab.home}/wh")
    found = SqlViews(catalog).load("db", name)
    assert found is not None
    return dict(found.properties)


def test_the_properties_are_prestos(lab: Kept) -> None:
    """Names and values as in Presto's TestIcebergMaterializedViewMetadata."""
    lab.do(
        "alice",
        "CREATE MATERIALIZED VIEW mv GRACE PERIOD INTERVAL '90' SECOND WITH (refresh_type = 'full') "
        "AS SELECT p.id FROM people p JOIN others o ON p.id = o.id",
    )
    said = properties(lab, "mv")
    assert json.loads(said.pop(f"{P}base_tables")) == [
        {"schema": "db", "table": "people"},
        {"schema": "db", "table": "others"},
    ]
    assert said == {
        f"{P}format_version": "1",
        f"{P}original_sql": "SELECT p.id FROM people p JOIN others o ON p.id = o.id",
        f"{P}storage_schema": "db",
        f"{P}storage_table_name": "__mv_storage__mv",
        f"{P}column_mappings": "[]",
        f"{P}owner": "alice",
        f"{P}security_mode": "DEFINER",
        f"{P}stale_read_behavior": "USE_VIEW_QUERY",
        f"{P}staleness_window": "1.50m",
        f"{P}refresh_type": "FULL",
        f"{P}base_snapshot.db.people": "0",
        f"{P}base_snapshot.db.others": "0",
        "procession.owner": "alice",
        "procession.security": "DEFINER",
    }
    lab.refresh("alice", "mv")
    said = properties(lab, "mv")
    for name in ("people", "others"):
        snapshot = lab.lake.table(name).current_snapshot()
        assert snapshot is not None
        assert said[f"{P}base_snapshot.db.{name}"] == str(snapshot.snapshot_id)
    stored = lab.lake.table("__mv_storage__mv").current_snapshot()
    assert stored is not None
    assert said[f"{P}last_refresh_snapshot_id"] == str(stored.snapshot_id)


def test_names_are_complete_for_whoever_reads_them_in_the_views_schema(lab: Kept) -> None:
    text = (
        "CREATE MATERIALIZED VIEW db.mv AS\nWITH w AS (SELECT id FROM lab.db.people), u AS (SELECT 1 x)\n"
        "SELECT w.id FROM w JOIN db.others o ON w.id = o.id\nWHERE w.id IN (SELECT id FROM (TABLE db.people))"
    )
    lab.do("alice", text, schema="hidden")
    shown = lab.rows("alice", "SHOW CREATE MATERIALIZED VIEW mv")[0][0]
    assert shown.endswith(text.partition("AS\n")[2])
    lab.do("alice", "CREATE MATERIALIZED VIEW db.other AS SELECT a.id FROM people a, people b", schema="db")
    lab.do("alice", "DROP MATERIALIZED VIEW other")
    lab.lake.create("here", [lab.lake.table("people").scan().to_arrow()])
    lab.do(
        "alice",
        "CREATE MATERIALIZED VIEW hidden.mv WITH (storage_schema = 'db', storage_table = 'Rows of mv') AS\n"
        "WITH w AS (SELECT id FROM here) SELECT w.id FROM w JOIN here h ON w.id = h.id, here",
    )
    assert lab.rows("alice", "SHOW CREATE MATERIALIZED VIEW hidden.mv")[0][0].endswith(
        "WITH w AS (SELECT id FROM lab.db.here) SELECT w.id FROM w JOIN lab.db.here h ON w.id = h.id, lab.db.here"
    )
    assert len(lab.rows("bob", "SELECT * FROM hidden.mv", schema="hidden")) == 16
    # Its storage table in another schema goes with the schema of the view.
    assert ("db", "rows of mv") in lab.lake.other.list_tables("db")
    lab.do("alice", "DROP SCHEMA hidden CASCADE")
    assert ("db", "rows of mv") not in lab.lake.other.list_tables("db")


def test_made_again_by_what_is_shown(lab: Kept) -> None:
    lab.do(
        "alice",
        "CREATE MATERIALIZED VIEW mv COMMENT 'it''s' SECURITY INVOKER WITH (staleness_window = '2h', "
        "automatic_refresh = true, partitioning = ARRAY['day'], sorted_by = ARRAY['id']) AS SELECT id, day FROM people",
    )
    shown = lab.rows("alice", "SHOW CREATE MATERIALIZED VIEW mv")[0][0]
    lab.do("alice", "DROP MATERIALIZED VIEW mv")
    lab.do("alice", shown)
    assert lab.rows("alice", "SHOW CREATE MATERIALIZED VIEW mv")[0][0] == shown
    table = lab.lake.table("__mv_storage__mv")
    assert [str(field.transform) for field in table.spec().fields] == ["identity"]
    assert table.properties["procession.storage-of"] == "db.mv"


def test_replaced(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id FROM people")
    lab.refresh("alice", "mv")
    for taken in ("people", "v"):
        assert "lready exists" in lab.refused("alice", f"CREATE MATERIALIZED VIEW {taken} AS SELECT id FROM people")
    assert "already exists" in lab.refused("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id FROM people")
    assert "already exists" in lab.refused("alice", "CREATE OR REPLACE VIEW mv AS SELECT id FROM people")
    assert "recursive" in lab.refused("alice", "CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT * FROM mv")
    lab.do("alice", "CREATE MATERIALIZED VIEW IF NOT EXISTS mv AS SELECT name FROM people")
    lab.do("alice", "CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT name AS n FROM people WHERE id = 1")
    assert lab.note("bob", "mv") == "its query is run, it was never refreshed"
    assert lab.rows("bob", "SELECT * FROM mv") == [("ada",)]
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    stored = [name for _, name in lab.lake.other.list_tables("db") if name.startswith("__mv_storage__")]
    assert len(stored) == 1
    lab.do("alice", "COMMENT ON VIEW mv IS 'new'")
    assert "stored rows" in lab.note("bob", "mv")


def test_replaced_with_a_storage_table_of_its_own(lab: Kept) -> None:
    with_own = "MATERIALIZED VIEW mv WITH (storage_table = 'kept') AS SELECT"
    lab.do("alice", f"CREATE {with_own} id FROM people")
    lab.refresh("alice", "mv")
    for column, rows in (("name", [("ada",)]), ("salary", [(10,)])):
        lab.do("alice", f"CREATE OR REPLACE {with_own} {column} FROM people WHERE id = 1")
        lab.refresh("alice", "mv")
        assert "stored rows" in lab.note("bob", "mv")
        assert lab.rows("bob", "SELECT * FROM mv") == rows
        assert len([name for _, name in lab.lake.other.list_tables("db") if name.startswith("kept")]) == 1
    with pytest.raises(ProcessionError, match="already exists"):
        lab.do("alice", "CREATE MATERIALIZED VIEW other WITH (storage_table = 'kept') AS SELECT id FROM people")


def test_a_view_that_cannot_be_read_is_in_no_others_way(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id FROM people")
    lab.do("alice", "CREATE VIEW broken AS SELECT id FROM people")
    views = SqlViews(SqlCatalog("lab", uri=lab.lake.uri, warehouse=f"file://{lab.home}/wh"))
    location = views._location("db", "broken")
    assert location is not None
    Path(location.removeprefix("file://")).write_text("{}")
    lab.do("alice", "CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT name FROM people WHERE id = 1")
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    assert lab.rows("bob", "SELECT * FROM mv") == [("ada",)]


def test_the_name_of_a_view_that_was_renamed(lab: Kept) -> None:
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id FROM people")
    lab.refresh("alice", "mv")
    lab.do("alice", "ALTER MATERIALIZED VIEW mv RENAME TO first")
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT name FROM people WHERE id = 1")
    lab.refresh("alice", "mv")
    for name, rows in (("first", [(1,), (2,), (3,), (4,)]), ("mv", [("ada",)])):
        assert "stored rows" in lab.note("bob", name)
        assert sorted(lab.rows("bob", f"SELECT * FROM {name}")) == rows


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("stale_read_behavior = 'MAYBE'", "MAYBE is none of USE_VIEW_QUERY, FAIL"),
        ("staleness_window = 'soon'", "not a valid data duration"),
        ("refresh_type = 'SOMETIMES'", "SOMETIMES is none of"),
        ("nope = 1", "does not support materialized view property 'nope'"),
        ("storage_schema = 'none'", "Schema none not found"),
        ("extra_properties = MAP(ARRAY['procession.storage-of'], ARRAY['db.x'])", "Illegal keys"),
    ],
)
def test_wrong_properties(lab: Kept, given: str, why: str) -> None:
    assert why in lab.refused("alice", f"CREATE MATERIALIZED VIEW mv WITH ({given}) AS SELECT id FROM people")


def test_a_storage_table_that_belongs_to_no_view(lab: Kept) -> None:
    """Its maker died before the view was there."""
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT id FROM people")
    SqlViews(SqlCatalog("lab", uri=lab.lake.uri, warehouse=f"file://{lab.home}/wh")).drop("db", "mv")
    lab.do("alice", "CREATE MATERIALIZED VIEW mv AS SELECT name FROM people")
    lab.refresh("alice", "mv")
    assert "stored rows" in lab.note("bob", "mv")
    assert "not updatable: storage_table" in lab.refused(
        "alice", "ALTER MATERIALIZED VIEW mv SET PROPERTIES (storage_table = 'x')"
    )
    assert "refreshes what has changed by itself" in lab.refused(
        "alice", "REFRESH MATERIALIZED VIEW mv WHERE name = 'a'"
    )

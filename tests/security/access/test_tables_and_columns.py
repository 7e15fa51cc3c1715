"""Rules of schemas, tables and columns over statements of every kind that reads."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from coordinator.security.access_control.built_in import AllowAll
from tests.security.access.conftest import Ruled

READS_PEOPLE = {"table": "people", "privileges": ["SELECT"], "columns": [{"name": "salary", "allow": False}]}
PREFIX = "Access Denied: "


@pytest.fixture
def lake(ruled: Ruled) -> Ruled:
    """bob reads people but its salary; carol sees nothing of the lake; alice does everything."""
    everything = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]
    ruled.rules(
        schemas=[{"user": "alice", "owner": True}],
        tables=[
            {"user": "alice", "privileges": everything},
            {"user": "bob", **READS_PEOPLE},
            {"user": "bob", "table": "v|w", "privileges": ["SELECT"]},
        ],
        procedures=[{"user": "alice", "privileges": ["EXECUTE"]}],
    )
    return ruled


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, name FROM people",
        "SELECT count(*) FROM people",
        "SELECT id FROM people p JOIN people q USING (id) WHERE q.name = 'x'",
        "SELECT max(day) FROM people FOR VERSION AS OF 'main'",
        "EXPLAIN SELECT id FROM people",
        "SHOW STATS FOR (SELECT id FROM people)",
        'SELECT snapshot_id FROM "people$snapshots"',
        "SELECT 1",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM system.jdbc.columns",
        "SHOW TABLES",
        "DESCRIBE people",
    ],
)
def test_what_bob_may_read(lake: Ruled, sql: str) -> None:
    assert lake.refused("bob", sql) == ""


def _columns(columns: str, table: str) -> str:
    return f"{PREFIX}Cannot select from columns {columns} in table or view lab.db.{table}"


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM people", "[id, name, salary, day]"),
        ("TABLE people", "[id, name, salary, day]"),
        ("SELECT id FROM people WHERE salary > 3", "[id, salary]"),
        ("SELECT 1 FROM people p WHERE EXISTS (SELECT 1 FROM people q WHERE q.salary = p.id)", "[id, salary]"),
        ("SELECT count(*) FROM people GROUP BY salary", "[salary]"),
        ("SELECT id FROM people ORDER BY salary", "[id, salary]"),
        ("SELECT a.id FROM people a JOIN people b USING (salary)", "[id, salary]"),
        ("SELECT id FROM (SELECT id, salary FROM people)", "[id, salary]"),
        ("WITH x AS (SELECT salary FROM people) SELECT 1", "[salary]"),
        ("SELECT id FROM people FOR VERSION AS OF 'main' WHERE salary = 1", "[id, salary]"),
        ("EXPLAIN (TYPE VALIDATE) SELECT salary FROM people", "[salary]"),
        ("EXPLAIN ANALYZE SELECT salary FROM people", "[salary]"),
        ("EXECUTE IMMEDIATE 'SELECT salary FROM people'", "[salary]"),
        ("EXECUTE p", "[salary]"),
        ("DESCRIBE OUTPUT p", "[salary]"),
        ("DESCRIBE INPUT q", "[salary]"),
        ("SHOW STATS FOR people", "[id, name, salary, day]"),
        ("SHOW STATS FOR (SELECT salary FROM people)", "[salary]"),
        ('SELECT * FROM "people$files"', "[id, name, salary, day]"),
        ('SELECT * FROM "people$partitions"', "[id, name, salary, day]"),
        ('SELECT * FROM "people$changelog"', "[id, name, salary, day]"),
        ("SELECT row_number() OVER (ORDER BY salary) FROM people", "[salary]"),
        ("SELECT id FROM people UNION SELECT salary FROM people", "[id, salary]"),
    ],
)
def test_a_column_that_is_withheld_is_used_nowhere(lake: Ruled, sql: str, columns: str) -> None:
    prepared = {"p": "SELECT salary FROM people", "q": "SELECT 1 FROM people WHERE salary = ?"}
    assert lake.refused("bob", sql, prepared_statements=prepared) == _columns(columns, "people")


def test_snapshots_by_name_are_the_same_table(lake: Ruled) -> None:
    snapshot = lake.lake.table("people").current_snapshot()
    assert snapshot is not None
    assert lake.refused("bob", f'SELECT id FROM "people@{snapshot.snapshot_id}"') == ""
    assert lake.refused("bob", f'SELECT salary FROM "people@{snapshot.snapshot_id}"') == _columns("[salary]", "people")
    assert lake.refused("bob", 'SELECT salary FROM "people$data"') == _columns("[salary]", "people")
    for name in ('"others$data"', '"people$data"', f'"people@{snapshot.snapshot_id}"'):
        plain = name.strip('"').replace("$", "@").partition("@")[0]
        assert lake.refused("bob", f"DELETE FROM {name}") == f"{PREFIX}Cannot delete from table lab.db.{plain}"


def test_tables_that_are_withheld(lake: Ruled) -> None:
    assert lake.refused("bob", "SELECT count(*) FROM others") == f"{PREFIX}Cannot select from table lab.db.others"
    assert lake.refused("bob", "SELECT nothing FROM others") == f"{PREFIX}Cannot select from table lab.db.others"
    assert lake.refused("bob", 'SELECT count(*) FROM "others$snapshots"') == (
        f"{PREFIX}Cannot select from table lab.db.others"
    )
    assert lake.refused("bob", "SELECT nothing FROM people") == "Column 'nothing' cannot be resolved"


@pytest.mark.parametrize("sql", ["SHOW COLUMNS FROM", "SHOW CREATE TABLE", "DROP TABLE", "DELETE FROM"])
def test_what_is_hidden_looks_as_what_is_not_there(lake: Ruled, sql: str) -> None:
    told = [lake.refused("bob", f"{sql} {name}").replace(name, "t") for name in ("others", "missing")]
    assert told[0] == told[1]
    assert told[0].startswith(PREFIX)


def test_lists_leave_out_what_is_hidden(lake: Ruled) -> None:
    def column(user: str, sql: str) -> list[str]:
        return sorted({str(row[0]) for row in lake.rows(user, sql)})

    assert column("bob", "SHOW TABLES") == ["people", "v", "w"]
    assert column("alice", "SHOW TABLES") == ["others", "people", "v", "w"]
    assert column("bob", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'db'") == [
        "people",
        "v",
        "w",
    ]
    named = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'db' AND table_name = 'others'"
    assert column("bob", named) == []
    assert column("bob", "SELECT column_name FROM information_schema.columns WHERE table_name = 'people'") == [
        "day",
        "id",
        "name",
    ]
    listed = "SELECT column_name FROM system.jdbc.columns WHERE table_cat = 'lab' AND table_name = 'people'"
    assert column("bob", listed) == ["day", "id", "name"]
    assert column("bob", "DESCRIBE people") == ["day", "id", "name"]
    assert column(
        "bob", "SELECT table_name FROM system.jdbc.tables WHERE table_cat = 'lab' AND table_schem = 'db'"
    ) == [
        "people",
        "v",
        "w",
    ]
    assert column("carol", "SHOW SCHEMAS FROM lab") == ["information_schema"]
    assert column("carol", "SELECT schema_name FROM information_schema.schemata") == ["information_schema"]
    assert lake.refused("carol", "SHOW TABLES FROM db") == f"{PREFIX}Cannot show tables of schema lab.db"
    assert lake.refused("carol", "SHOW TABLES FROM gone") == f"{PREFIX}Cannot show tables of schema lab.gone"
    assert lake.refused("carol", "USE lab.db") == lake.refused("carol", "USE lab.gone").replace("gone", "db")


def test_views_are_read_as_their_owner_or_as_who_asks(lake: Ruled) -> None:
    assert lake.refused("bob", "SELECT salary FROM v") == ""
    assert lake.refused("bob", "SELECT salary FROM w") == _columns("[id, salary]", "people")
    assert lake.refused("carol", "SELECT id FROM v") == _columns("[id]", "v")
    asked = [(a.user, str(a.access)) for a in lake.plan("bob", "SELECT salary FROM v").accesses]
    assert [user for user, _ in asked] == ["alice", "bob"]
    assert "columns=('salary',)" in asked[1][1]
    assert "CreateViewWithSelectFromColumns" in asked[0][1]


def test_a_view_hands_on_only_what_its_owner_may(ruled: Ruled) -> None:
    reads = {"privileges": ["SELECT"]}
    ruled.rules(tables=[{"user": "alice", **reads}, {"user": "bob", "table": "v", **reads}])
    problem = "Access Denied: View owner 'alice' cannot create view that selects from lab.db.people"
    assert ruled.refused("bob", "SELECT id FROM v") == problem
    assert ruled.refused("alice", "SELECT id FROM v") == ""


@pytest.fixture
def loud(lake: Ruled) -> Iterator[None]:
    """A table whose name has capitals, for one test: others list the tables of the schema."""
    lake.lake.create("Loud", [pa.table({"Id": [1], "Salary": [2]})])
    yield
    lake.lake.other.drop_table("db.Loud")


@pytest.mark.usefixtures("loud")
def test_capitals_are_no_way_around(lake: Ruled) -> None:
    """Iceberg keeps the capitals of names; rules are written in small letters."""
    rule = {"table": "loud|people", "privileges": ["SELECT"], "columns": [{"name": "salary", "allow": False}]}
    lake.rules(tables=[rule], procedures=[{"privileges": ["EXECUTE"]}])
    for sql in (
        "CALL lab.system.show_snapshot_files('db', 'Loud')",
        "CALL lab.system.show_snapshots(table => 'db.Loud')",
        "SELECT * FROM LOUD",
        'SELECT * FROM "Loud$files"',
        "SHOW STATS FOR LOUD",
        "SELECT SALARY FROM PEOPLE",
        'SELECT "Salary" FROM people',
    ):
        assert lake.refused("bob", sql).startswith(f"{PREFIX}Cannot select from columns ["), sql


def test_a_new_name_with_a_schema_is_of_the_tables_own_catalog(ruled: Ruled) -> None:
    """As which it is asked for: a rule of that schema decides."""
    mine = [{"catalog": "lab", "schema": "hidden", "table": ".*", "privileges": []}, {"privileges": ["OWNERSHIP"]}]
    ruled.rules(tables=mine)
    told = "Access Denied: Cannot rename table from lab.db.people to lab.hidden.mine"
    for name in ("hidden.mine", "lab.hidden.mine"):
        assert ruled.refused("bob", f"ALTER TABLE people RENAME TO {name}") == told
    ruled.rules()
    assert ruled.refused("bob", "ALTER TABLE people RENAME TO hidden.mine") == ""
    assert ruled.refused("bob", "ALTER TABLE people RENAME TO nowhere.mine").startswith("Target schema 'lab.nowhere'")


@pytest.mark.parametrize(
    "relation",
    [
        "others FOR VERSION AS OF BIGINT '99'", "others FOR VERSION AS OF 'nobranch'", '"others@99"',
        '"others$files@99"',
        "others FOR TIMESTAMP AS OF TIMESTAMP '2001-01-01 00:00:00'", '"others.branch_nothing"', '"others.tag_nothing"',
    ],
)  # fmt: skip
def test_versions_of_a_hidden_table_are_hidden(ruled: Ruled, relation: str) -> None:
    """The names of its branches and the times of its commits too."""
    ruled.rules(tables=[{"table": "people", "privileges": ["SELECT"]}])
    refused = "Access Denied: Cannot select from table lab.db.others"
    assert ruled.refused("bob", f"SELECT * FROM {relation}") == refused
    assert ruled.refused("bob", f"SELECT id FROM people WHERE id IN (SELECT id FROM {relation})") == refused
    told = ruled.refused("bob", f"SELECT * FROM {relation.replace('others', 'people')}")
    assert told and "Denied" not in told


@pytest.mark.parametrize("transform", ["salary", "bucket(salary, 4)", "void"])
def test_paths_tell_what_a_table_is_partitioned_by(ruled: Ruled, transform: str) -> None:
    """Or was: a file's folder does not change with the table."""
    ruled.control(AllowAll())
    partitioning = "ARRAY[]" if transform == "void" else f"ARRAY['{transform}']"
    ruled.rows("alice", f"CREATE TABLE parts (id bigint, salary bigint) WITH (partitioning = {partitioning})")
    if transform == "salary":
        with ruled.lake.table("parts").update_spec() as update:
            update.remove_field("salary")
    tells = transform != "void"
    read = {"table": "parts", "privileges": ["SELECT"]}
    text = "SELECT id FROM parts WHERE \"$path\" LIKE '%salary=40%'"
    try:
        ruled.rules(tables=[read])
        assert ruled.refused("bob", text) == ""
        ruled.rules(tables=[{**read, "columns": [{"name": "salary", "allow": False}]}])
        assert ("Cannot select from columns" in ruled.refused("bob", text)) == tells
        snapshots = ruled.refused("bob", 'SELECT * FROM "parts$snapshots"')
        assert ("Cannot select from columns" in snapshots) == tells
        assert ruled.refused("bob", "SELECT id FROM parts") == ""
        refused = "Access Denied: Cannot select from columns [$path] in table or view lab.db.parts"
        for more in ({}, {"filter": "id < 3"}):
            ruled.rules(tables=[{**read, **more, "columns": [{"name": "salary", "mask": "NULL"}]}])
            for each in (text, "SELECT id FROM (SELECT \"$path\" p, * FROM parts) WHERE p > 'a'"):
                assert ruled.refused("bob", each) == (refused if tells else "")
            assert ruled.refused("bob", text.replace('"$path"', "_file")) == (
                refused.replace("$path", "_file") if tells else ""
            )
            assert ruled.refused("bob", "SELECT id, salary FROM parts") == ""
        ruled.rules(tables=[{**read, "filter": "id < 3", "columns": [{"name": "id", "mask": "-id"}]}])
        assert ruled.refused("bob", text) == ""
    finally:
        ruled.control(AllowAll())
        ruled.rows("alice", "DROP TABLE parts")

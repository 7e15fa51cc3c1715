"""A branch or tag is its table: rules of the table hold, whatever the name of the branch would match."""

from __future__ import annotations

from typing import Any

import pytest

from tests.security.access.conftest import Ruled

PREFIX = "Access Denied: "
ALL = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP"]
WRITES = [
    ("INSERT INTO {} SELECT 1, 'x', 2, DATE '2026-01-01'", "insert into table"),
    ("DELETE FROM {}", "delete from table"),
    ("DELETE FROM {} WHERE id = 1", "delete from table"),
    ("TRUNCATE TABLE {}", "truncate table"),
    ("UPDATE {} SET name = 'x'", "update columns [[name]] in table"),
    ("MERGE INTO {} p USING (VALUES 1) v (x) ON p.id = v.x WHEN MATCHED THEN DELETE", "delete from table"),
]
NAMES = ['"people.branch_main"', '"PEOPLE.Branch_main"', "people @ 'main'", '"people.branch_nowhere"']


def kept(ruled: Ruled, **more: Any) -> Ruled:
    """Everything is everybody's, but for one table."""
    people = {"user": "bob", "table": "people", "privileges": ["SELECT"], **more}
    ruled.rules(tables=[people, {"privileges": ALL}])
    return ruled


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("sql", "doing"), WRITES)
def test_rows_are_changed_by_those_who_may_change_the_table(ruled: Ruled, sql: str, doing: str, name: str) -> None:
    if sql.startswith("TRUNCATE"):
        name = name.replace(" @ 'main'", "")  # TRUNCATE knows no such name
    assert kept(ruled).refused("bob", sql.format(name)) == f"{PREFIX}Cannot {doing} lab.db.people"
    assert kept(ruled).refused("bob", sql.format("others")) == ""


@pytest.mark.parametrize("hidden", [{"filter": "id < 3"}, {"columns": [{"name": "salary", "mask": "0"}]}])
@pytest.mark.parametrize(("sql", "doing"), WRITES)
def test_nobody_writes_what_they_cannot_see(ruled: Ruled, sql: str, doing: str, hidden: dict[str, Any]) -> None:
    refused = kept(ruled, **hidden, privileges=ALL).refused("bob", sql.format('"people.branch_main"'))
    assert "with row filter is not supported" in refused or "with column masks is not supported" in refused, doing


@pytest.mark.parametrize("sql", ["SHOW CREATE TABLE {}", "ANALYZE {}", "ALTER TABLE {} DROP COLUMN name"])
def test_other_statements_ask_for_the_table(ruled: Ruled, sql: str) -> None:
    refused = kept(ruled).refused("bob", sql.format('"people.branch_main"'))
    assert refused.startswith(PREFIX) and refused.endswith("lab.db.people")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE {} (id bigint)",
        "CREATE TABLE {} AS SELECT 1 AS id",
        "ALTER TABLE others RENAME TO {}",
        "CREATE VIEW {} AS SELECT 1 AS id",
        "ALTER VIEW v RENAME TO {}",
    ],
)
def test_nothing_takes_the_name_of_a_branch(ruled: Ruled, sql: str) -> None:
    """Rules would be asked for another table than the one that it is."""
    ruled.rules(tables=[{"privileges": ALL}], schemas=[{"owner": True}])
    assert "it means a branch of table free" in ruled.refused("bob", sql.format('"free.branch_x"'))

"""Row filters and column masks: what is read through them, and that nothing goes around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from coordinator.vocabulary.planned_statement import RunOnSpark
from shared.errors import ProcessionError
from shared.spi.session_function import FunctionParameter, SessionFunction
from tests.security.access.conftest import PEOPLE, Ruled

pytestmark = pytest.mark.lake

SELECT = {"privileges": ["SELECT"]}
ALL = {"privileges": ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]}


def filtered(ruled: Ruled, *rules: dict[str, object], **more: object) -> Ruled:
    """Rules of bob on tpch's nation and region; all others may do everything."""
    mine = [{"user": "bob", **SELECT, **rule} for rule in rules]
    ruled.rules(tables=[*mine, {**ALL}], procedures=[{"privileges": ["EXECUTE"]}], schemas=[{"owner": True}], **more)
    return ruled


TINY = {"catalog": "tpch", "schema": "tiny"}


@pytest.mark.slow
def test_rows_and_values(ruled: Ruled) -> None:
    mask = {"name": "comment", "mask": "CAST(substr(comment, 1, 2) || name AS varchar(152))"}
    filtered(ruled, {"table": "nation", "filter": "regionkey = 1", "columns": [mask, {"name": "name", "mask": "'x'"}]})
    assert ruled.rows("bob", "SELECT count(*) FROM nation", **TINY) == [(5,)]
    assert ruled.rows("alice", "SELECT count(*) FROM nation", **TINY) == [(25,)]
    # A mask sees the other columns unmasked.
    found = ruled.rows("bob", "SELECT nationkey, name, comment FROM nation ORDER BY 1 LIMIT 1", **TINY)
    assert (found[0][:2], found[0][2][2:]) == ((1, "x"), "ARGENTINA")
    assert ruled.rows("bob", "SELECT count(*) FROM nation WHERE name = 'x'", **TINY) == [(5,)]
    assert ruled.rows("bob", "SELECT count(*) FROM nation WHERE name = 'ARGENTINA'", **TINY) == [(0,)]
    assert ruled.rows("bob", "SELECT count(DISTINCT name), min(regionkey) FROM nation", **TINY) == [(1, 1)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT * FROM nation) t",
        "WITH nation2 AS (SELECT * FROM nation) SELECT count(*) FROM nation2",
        "SELECT (SELECT count(*) FROM nation)",
        "SELECT count(*) FROM nation n JOIN region r ON n.regionkey = r.regionkey",
        "SELECT count(*) FROM region r JOIN nation n ON n.regionkey = r.regionkey WHERE r.regionkey >= 0",
        "SELECT count(*) FROM nation TABLESAMPLE BERNOULLI (100)",
        "SELECT count(*) FROM (SELECT * FROM nation UNION ALL SELECT * FROM nation WHERE false)",
        "SELECT count(*) FROM (TABLE nation)",
        "SELECT sum(c) FROM (SELECT count(*) c FROM nation GROUP BY ROLLUP (regionkey)) WHERE c = 5 AND random() < 2"
        " HAVING sum(c) = 10 OR true",
    ],
)
def test_wherever_the_table_stands(ruled: Ruled, sql: str) -> None:
    filtered(ruled, {"table": "nation", "filter": "regionkey = 1"})
    [[found]] = ruled.rows("bob", sql, **TINY)
    assert found in (5, 10)
    assert [[found]] != [list(ruled.rows("alice", sql, **TINY)[0])] or "ROLLUP" in sql


def test_names_of_the_query_mean_nothing_in_a_filter(ruled: Ruled) -> None:
    """Presto's TestRowFilter.testSqlInjection."""
    filtered(ruled, {"table": "nation", "filter": "regionkey IN (SELECT regionkey FROM region WHERE name = 'ASIA')"})
    sql = "WITH region(regionkey, name) AS (VALUES (0, 'ASIA'), (1, 'ASIA'), (3, 'ASIA')) SELECT name FROM nation"
    assert {row[0] for row in ruled.rows("bob", sql + " ORDER BY name", **TINY)} == {
        "CHINA",
        "INDIA",
        "INDONESIA",
        "JAPAN",
        "VIETNAM",
    }


def test_temporary_functions_mean_nothing_in_a_filter(ruled: Ruled) -> None:
    mine = SessionFunction("mine", (FunctionParameter("key", "bigint"),), "boolean", "RETURN true")
    filtered(ruled, {"table": "nation", "filter": "mine(regionkey)"})
    with pytest.raises(ProcessionError, match="Function mine not registered"):
        ruled.rows("bob", "SELECT count(*) FROM nation", functions=(mine,), **TINY)
    filtered(ruled, {"table": "nation", "filter": "regionkey = 1"})
    assert ruled.rows("bob", "SELECT count(*) FROM nation WHERE mine(regionkey)", functions=(mine,), **TINY) == [(5,)]


def test_null_is_not_true(ruled: Ruled) -> None:
    filtered(ruled, {"table": "nation", "filter": "NULL"})
    assert ruled.rows("bob", "SELECT count(*) FROM nation", **TINY) == [(0,)]


def test_a_filter_is_analyzed_for_its_user(ruled: Ruled) -> None:
    environment = {"filter_environment": {"user": "alice"}}
    inside = "regionkey IN (SELECT regionkey FROM region WHERE name = 'ASIA')"
    filtered(ruled, {"table": "nation", "filter": inside, **environment}, {"table": "region", "privileges": []})
    assert ruled.rows("bob", "SELECT count(*) FROM nation", **TINY) == [(5,)]
    assert ruled.refused("bob", "SELECT * FROM region", **TINY).startswith("Access Denied: Cannot select from")
    filtered(ruled, {"table": "nation", "filter": inside}, {"table": "region", "privileges": []})
    assert ruled.refused("bob", "SELECT count(*) FROM nation", **TINY) == (
        "Access Denied: Cannot select from columns [regionkey, name] in table or view tpch.tiny.region"
    )
    filtered(ruled, {"table": "nation", "filter": "current_user = 'bob'"})
    assert ruled.rows("bob", "SELECT count(*) FROM nation", **TINY) == [(25,)]
    filtered(ruled, {"table": "nation", "filter": "current_user = 'bob'", **environment})
    assert ruled.rows("bob", "SELECT count(*) FROM nation", **TINY) == [(0,)]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"filter": "regionkey IN (SELECT regionkey FROM nation)"}, "Row filter for 'tpch.tiny.nation' is recursive"),
        ({"filter": "$$$"}, "Invalid row filter for 'tpch.tiny.nation': "),
        ({"filter": "unknown_column"}, "Column 'unknown_column' cannot be resolved"),
        ({"filter": "1"}, "Expected row filter for 'tpch.tiny.nation' to be of type BOOLEAN, but was integer"),
        ({"filter": "count(*) > 0"}, "Row filter for 'tpch.tiny.nation' cannot contain aggregations, window functions"),
        (
            {"columns": [{"name": "name", "mask": "(SELECT max(name) FROM nation)"}]},
            "mask for 'tpch.tiny.nation.name'",
        ),
        ({"columns": [{"name": "nationkey", "mask": "'x'"}]}, "to be of type bigint, but was varchar(1)"),
        ({"columns": [{"name": "nationkey", "mask": "count(*)"}]}, "cannot contain aggregations, window functions"),
    ],
)
def test_wrong_filters_and_masks(ruled: Ruled, rule: dict[str, object], problem: str) -> None:
    filtered(ruled, {"table": "nation", **rule})
    assert problem in ruled.refused("bob", "SELECT * FROM nation", **TINY)


LEAKS = [
    'SELECT * FROM "people$files"',
    'SELECT count(*) FROM "people$snapshots"',
    'SELECT * FROM "people$partitions"',
    'SELECT * FROM "people$changelog"',
    "CALL lab.system.show_snapshot_files('db', 'people')",
    "CALL lab.system.show_snapshots('db', 'people')",
    "CALL lab.system.rewrite_data_files('db', 'people')",
    "CALL lab.system.rewrite_data_files(schema => 'db', table_name => 'people', filter => 'id > 1')",
    "CALL lab.system.expire_snapshots('db', 'people')",
    "CALL lab.system.copy_to_table('db', 'people', 'mine')",
    "CALL lab.system.create_changelog_view('db', 'people')",
    "ALTER TABLE people EXECUTE optimize",
    "INSERT INTO people SELECT 1, 'x', 2, DATE '2026-01-01'",
    "DELETE FROM people",
    "DELETE FROM people WHERE id = 1",
    "UPDATE people SET name = 'x' WHERE salary = 3",
    "TRUNCATE TABLE people",
    "ANALYZE people",
    "MERGE INTO people p USING (VALUES 1) v (x) ON p.id = v.x WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize(
    "rule", [{"filter": "id < 3"}, {"columns": [{"name": "salary", "mask": "0"}]}], ids=["filter", "mask"]
)
@pytest.mark.parametrize("sql", LEAKS)
def test_nothing_goes_around(ruled: Ruled, sql: str, rule: dict[str, object]) -> None:
    filtered(ruled, {"table": "people", **ALL, **rule}, ALL)
    message = ruled.refused("bob", sql)
    assert "Access Denied" in message or "row filter" in message or "column mask" in message
    assert ruled.refused("alice", sql) == ""


def test_statistics_tell_nothing(ruled: Ruled) -> None:
    def of(user: str) -> list[tuple[object, ...]]:
        return ruled.rows(user, "SHOW STATS FOR people")

    assert of("alice")[-1][4] == 4.0
    filtered(ruled, {"table": "people", "filter": "id < 3"})
    assert {value for row in of("bob") for value in row[1:]} == {None}
    filtered(ruled, {"table": "people", "columns": [{"name": "salary", "mask": "0"}]})
    rows = {row[0]: row[1:] for row in of("bob")}
    assert set(rows["salary"]) == {None}
    assert rows[None][3] == 4.0


def test_conditions_of_statistics_tell_nothing(ruled: Ruled) -> None:
    def of(user: str, condition: str) -> str:
        return ruled.refused(user, f"SHOW STATS FOR (SELECT id FROM people WHERE {condition})")

    filtered(ruled, {"table": "people", "columns": [{"name": "salary", "mask": "0"}]})
    assert of("alice", "salary > -1") == of("bob", "id > 0") == ""
    assert "can be pushed down" in of("bob", "salary > -1")
    filtered(ruled, {"table": "people", "filter": "id < 3"})
    assert "can be pushed down" in of("bob", "id > 0")


def test_of_the_lake(ruled: Ruled) -> None:
    hidden = {"name": "salary", "mask": "CAST(NULL AS bigint)"}
    filtered(ruled, {"table": "people", "filter": "id < 3", "columns": [hidden]})
    assert ruled.rows("bob", "SELECT id, salary FROM people ORDER BY id") == [(1, None), (2, None)]
    assert ruled.rows("bob", "SELECT id FROM people WHERE salary > 0") == []
    assert ruled.refused("bob", 'SELECT count(DISTINCT "$path") FROM people') == ""
    # The owner of a view reads all; who asks reads the view.
    assert ruled.rows("bob", "SELECT count(salary) FROM v") == [(4,)]
    assert ruled.rows("bob", "SELECT count(salary), count(*) FROM w") == [(0, 2)]
    filtered(ruled, {"table": "v", "filter": "salary = 40", "columns": [{"name": "id", "mask": "-id"}]})
    assert ruled.rows("bob", "SELECT * FROM v") == [(-4, 40)]


def test_one_text_of_two_users(ruled: Ruled) -> None:
    filtered(ruled, {"table": "nation", "filter": "regionkey = 1"})
    for order in (("alice", "bob"), ("bob", "alice")):
        counts = {user: ruled.rows(user, "SELECT count(*) FROM nation", **TINY) for user in order}
        assert counts == {"alice": [(25,)], "bob": [(5,)]}


@pytest.fixture(scope="module")
def two(ruled: Ruled) -> Iterator[str]:
    """A table of the first two people."""
    ruled.lake.create("two", [PEOPLE.slice(0, 2)])
    yield "two"
    ruled.lake.other.drop_table("db.two")


FAILING = [
    "SELECT count(*) FROM people WHERE 1/(salary-30) >= 0",
    "SELECT count(*) FROM people WHERE CAST(CASE WHEN name = 'cyd' THEN 'a' ELSE '1' END AS integer) = 1",
    "SELECT count(*) FROM people WHERE element_at(ARRAY[1], CAST(salary - 30 AS integer)) IS NULL",
    "SELECT count(*) FROM (SELECT 1/(salary-30) q, id FROM people) WHERE q > -10 AND id > 0",
    "SELECT count(*) FROM people p JOIN others o ON p.id = o.id AND 1/(p.salary-30) > -10",
    "SELECT count(*) FROM people p JOIN others o ON p.id = o.id WHERE 1/(p.salary-30) > -10",
    "SELECT count(*) FROM others o LEFT JOIN people p ON p.id = o.id AND 1/(p.salary-30) > -10",
    "SELECT count(*) FROM people WHERE id IN (SELECT id FROM others) AND 1/(salary-30) > -10",
    "SELECT count(*) FROM others WHERE id IN (SELECT id FROM people WHERE 1/(salary-30) > -10)",
    "SELECT count(*) FROM people GROUP BY 1/(salary-30)",
    "SELECT sum(1/(salary-30)) FROM people WHERE salary > 5 HAVING max(1/(salary-30)) > -10",
]


@pytest.mark.parametrize("sql", FAILING)
@pytest.mark.parametrize(
    "condition",
    [
        "salary < 25",
        "CAST(id AS varchar) < '3'",
        "id IN (SELECT id FROM others WHERE salary < 25)",
        "EXISTS (SELECT 1 FROM others o WHERE o.id = people.id AND o.salary < 25)",
    ],
)
def test_no_error_tells_of_a_hidden_row(ruled: Ruled, two: str, sql: str, condition: str) -> None:
    """Engines compute a predicate before the filter where that seems cheaper. Row 3 is hidden, with salary 30."""
    filtered(ruled, {"table": "people", "filter": condition})
    shown = ruled.rows("bob", sql)
    ruled.rules(tables=[ALL])
    assert shown == ruled.rows("bob", sql.replace(" people", f" {two}")), "of a table without the other rows"
    filtered(ruled, {"table": "people", "filter": "id < 4"})
    if "name" not in sql and "element_at" not in sql:
        with pytest.raises(ProcessionError, match="by zero"):
            ruled.rows("bob", sql)


def test_predicates_that_never_fail_reach_the_table_as_without_a_filter(ruled: Ruled) -> None:
    filtered(ruled, {"table": "people", "filter": "salary < 25"})
    plan = "EXPLAIN SELECT name FROM people WHERE id = 2 AND name > 'b'"
    ((text,),) = ruled.rows("bob", plan)
    assert "IF(" not in text
    ((text,),) = ruled.rows("bob", plan + " AND 1/salary = 0")
    assert "IF(" in text
    assert ruled.rows("bob", "SELECT name FROM people WHERE id = 2 AND name > 'b' AND 1/salary = 0") == [("bob",)]


@pytest.mark.parametrize("sql", FAILING)
def test_nor_does_one_of_spark(ruled: Ruled, sql: str) -> None:
    """Whatever Spark moves below the filter takes the condition with it."""
    filtered(ruled, {"table": "people", "filter": "salary < 25"})
    work = ruled.plan("bob", sql, properties={"engine": "spark"}).work
    assert isinstance(work, RunOnSpark)
    assert re.search(r"CASE WHEN \(`salary\w*` <", work.sql), work.sql

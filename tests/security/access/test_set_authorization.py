"""ALTER SCHEMA, TABLE and VIEW … SET AUTHORIZATION: by whom, and what a view reads as afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from coordinator.security.access_control.built_in import AllowAll, OwnQueries, ReadOnly
from coordinator.sql.ddl_statements import SetAuthorization
from coordinator.sql.parse_statement import parse_statement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.catalog_changes import ViewCreation, ViewRemoval
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.grants import Principal
from tests.security.access.conftest import ADMIN, Ruled, root

ALL = ["SELECT", "INSERT", "DELETE", "UPDATE", "OWNERSHIP", "GRANT_SELECT"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER SCHEMA a.b SET AUTHORIZATION bob", ("SCHEMA", ("a", "b"), Principal("USER", "bob"))),
        ('ALTER TABLE T SET AUTHORIZATION USER "Bob"', ("TABLE", ("t",), Principal("USER", "Bob"))),
        ("ALTER VIEW a.b.c SET AUTHORIZATION ROLE R", ("VIEW", ("a", "b", "c"), Principal("ROLE", "r"))),
        ("ALTER TABLE authorization SET AUTHORIZATION user", ("TABLE", ("authorization",), Principal("USER", "user"))),
        ("ALTER TABLE t SET AUTHORIZATION role", ("TABLE", ("t",), Principal("USER", "role"))),
    ],
)
def test_grammar(text: str, expected: tuple[str, tuple[str, ...], Principal]) -> None:
    found = parse_statement(text)
    assert isinstance(found, SetAuthorization)
    assert (found.kind, found.name, found.principal) == expected
    assert (found.location.line, found.location.column) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t SET AUTHORIZATION",
        "ALTER TABLE t SET AUTHORIZATION bob, carol",
        "ALTER TABLE IF EXISTS t SET AUTHORIZATION bob",
        "ALTER VIEW IF EXISTS v SET AUTHORIZATION bob",
        "ALTER SCHEMA s SET AUTHORIZATION 'bob'",
        "ALTER SCHEMA s SET PROPERTIES (a = 1)",
        "ALTER TABLE t SET AUTHORIZATION USER",  # a user of this name, and then nothing is wrong
    ],
)
def test_not_in_the_grammar(text: str) -> None:
    if text.endswith(" USER"):
        assert isinstance(parse_statement(text), SetAuthorization)
        return
    with pytest.raises(ProcessionError) as error:
        parse_statement(text)
    assert error.value.code is ErrorCode.SYNTAX_ERROR


def test_a_table_changes_hands(lab: Ruled) -> None:
    text = "ALTER TABLE people SET AUTHORIZATION USER bob"
    assert lab.refused("bob", text) == "Access Denied: Cannot set authorization for table lab.db.people to USER bob"
    planned = lab.plan("root", text, **ADMIN)
    assert (planned.update_type, planned.query_type) == ("SET AUTHORIZATION", "DATA_DEFINITION")
    root(lab, text, "GRANT SELECT ON people TO USER carol")
    assert lab.rows("bob", "SELECT count(*) FROM people") == [(4,)]
    lab.rows("bob", "ALTER TABLE people SET AUTHORIZATION dan")
    assert "Cannot select" in lab.refused("bob", "SELECT id FROM people")
    assert "Cannot drop table" in lab.refused("bob", "DROP TABLE people")
    assert lab.refused("dan", "DROP TABLE people") == ""
    assert lab.rows("carol", "SELECT count(*) FROM people") == [(4,)]  # what was granted stays
    root(lab, "CREATE ROLE staff", "GRANT staff TO USER eve")
    lab.rows("dan", "ALTER TABLE people SET AUTHORIZATION ROLE staff")
    assert lab.refused("eve", "DROP TABLE people") == ""
    assert "Cannot drop table" in lab.refused("eve", "DROP TABLE people", roles={"lab": "NONE"})
    assert "Cannot drop table" in lab.refused("dan", "DROP TABLE people")


def test_a_schema_changes_hands(lab: Ruled) -> None:
    text = "ALTER SCHEMA hidden SET AUTHORIZATION bob"
    assert lab.refused("bob", text) == "Access Denied: Cannot set authorization for schema lab.hidden to USER bob"
    root(lab, text)
    lab.rows("bob", "CREATE TABLE hidden.t (x bigint)")
    root(lab, "ALTER SCHEMA hidden SET AUTHORIZATION carol")
    assert "Cannot create table" in lab.refused("bob", "CREATE TABLE hidden.u (x bigint)")
    assert lab.refused("carol", "CREATE TABLE hidden.u (x bigint)") == ""
    lab.rows("bob", "DROP TABLE hidden.t")  # the table is still who made it


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("ALTER TABLE nothing SET AUTHORIZATION bob", ErrorCode.SYNTAX_ERROR, "Table 'lab.db.nothing' does not exist"),
        ("ALTER TABLE v SET AUTHORIZATION bob", ErrorCode.SYNTAX_ERROR, "Table 'lab.db.v' does not exist"),
        ('ALTER TABLE "people$files" SET AUTHORIZATION bob', ErrorCode.SYNTAX_ERROR, "does not exist"),
        ('ALTER TABLE "people.branch_main" SET AUTHORIZATION bob', ErrorCode.NOT_SUPPORTED, "is a branch or tag"),
        ("ALTER VIEW people SET AUTHORIZATION bob", ErrorCode.SYNTAX_ERROR, "View 'lab.db.people' does not exist"),
        ("ALTER SCHEMA nothing SET AUTHORIZATION bob", ErrorCode.SYNTAX_ERROR, "Schema 'lab.nothing' does not exist"),
        ("ALTER TABLE people SET AUTHORIZATION ROLE x", ErrorCode.SYNTAX_ERROR, "Role 'x' does not exist"),
        ("ALTER SCHEMA db SET AUTHORIZATION ROLE x", ErrorCode.SYNTAX_ERROR, "Role 'x' does not exist"),
        ("ALTER VIEW v SET AUTHORIZATION ROLE public", ErrorCode.NOT_SUPPORTED, "runs as its owner"),
        (
            "ALTER TABLE tpch.tiny.nation SET AUTHORIZATION bob", ErrorCode.NOT_SUPPORTED,
            "This connector does not support setting an owner on a table",
        ),
        (
            "ALTER SCHEMA tpch.tiny SET AUTHORIZATION bob", ErrorCode.NOT_SUPPORTED,
            "This connector does not support setting an owner on a schema",
        ),
    ],
)  # fmt: skip
def test_refusals(lab: Ruled, text: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(ProcessionError) as error:
        lab.plan("root", text, **ADMIN)
    assert error.value.code is code and message in error.value.message, error.value.message


def test_where_nobody_is_known_to_own(ruled: Ruled) -> None:
    ruled.control(AllowAll())
    for kind, name in (("table", "people"), ("schema", "db")):
        text = f"ALTER {kind} {name} SET AUTHORIZATION bob"
        assert ruled.refused("bob", text) == f"This connector does not support setting an owner on a {kind}"
    assert ruled.refused("bob", "ALTER VIEW w SET AUTHORIZATION ROLE x") == "This connector does not support roles"


@pytest.fixture
def views(ruled: Ruled) -> Iterator[Ruled]:
    """``db.mallory``, a view that mallory wrote, and ``db.asks``, which reads as whoever asks."""
    for name, security in (("mallory", "DEFINER"), ("asks", "INVOKER")):
        columns = (ViewColumn("salary", "bigint"),)
        definition = "SELECT salary FROM people"
        view = ViewMetadata("lab", "db", name, definition, columns, "lab", "db", "mallory", security)
        ruled.lake.change(ViewCreation(view, False))
    yield ruled
    for name in ("mallory", "asks"):
        ruled.lake.change(ViewRemoval("db", name))


TABLES = [
    {"user": "alice", "table": "people", "privileges": ALL},
    {"user": "mallory", "table": "people", "privileges": []},
    {"user": ".*", "privileges": ALL},
]
ANYBODY = [{"new_user": ".*", "new_role": ".*"}]


def stored(views: Ruled, name: str) -> ViewMetadata:
    found = views.catalogs.view("lab", "db", name)
    assert found is not None
    return found


def test_nobody_makes_a_view_run_as_somebody_else(views: Ruled) -> None:
    text = "ALTER VIEW mallory SET AUTHORIZATION USER alice"
    views.rules(tables=TABLES, authorization=ANYBODY)
    message = (
        "Access Denied: Cannot set authorization for view lab.db.mallory to USER alice: the view would run as alice"
    )
    assert views.refused("mallory", text) == message
    assert views.refused("mallory", f"EXPLAIN {text}") == message
    views.control(OwnQueries())
    assert views.refused("mallory", text) == message
    views.control(ReadOnly())
    assert "Cannot set authorization" in views.refused("mallory", text)
    views.rules(
        tables=TABLES, authorization=ANYBODY, principals=[{"principal": ".*", "user": "mallory", "allow": True}]
    )
    assert views.refused("mallory", text) == message
    assert stored(views, "mallory").owner == "mallory"


def test_a_view_runs_as_who_took_it(views: Ruled) -> None:
    views.rules(tables=TABLES, authorization=ANYBODY)
    assert "columns [salary]" in views.refused("mallory", "SELECT salary FROM mallory")
    views.rows("alice", "ALTER VIEW mallory SET AUTHORIZATION alice")
    assert sorted(views.rows("mallory", "SELECT salary FROM mallory")) == [(10,), (20,), (30,), (40,)]
    again = stored(views, "mallory")
    assert (again.owner, again.definition, again.security) == ("alice", "SELECT salary FROM people", "DEFINER")
    views.rows("mallory", "CREATE OR REPLACE VIEW mallory AS SELECT id AS salary FROM others")
    assert stored(views, "mallory").owner == "mallory"  # another text runs as who wrote it


def test_who_may_act_as_another_may_give_it_to_them(views: Ruled) -> None:
    gateway = [{"original_user": "gateway", "new_user": "alice"}]
    views.rules(tables=TABLES, authorization=ANYBODY, impersonation=gateway)
    views.rows("gateway", "ALTER VIEW mallory SET AUTHORIZATION alice")
    assert stored(views, "mallory").owner == "alice"
    assert "would run as dan" in views.refused("gateway", "ALTER VIEW mallory SET AUTHORIZATION dan")


def test_a_view_that_asks_as_its_reader_may_be_anybodys(views: Ruled) -> None:
    views.rules(tables=TABLES, authorization=ANYBODY)
    views.rows("mallory", "ALTER VIEW asks SET AUTHORIZATION alice")
    assert stored(views, "asks").owner == "alice"
    assert "Cannot select" in views.refused("mallory", "SELECT salary FROM asks")


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (None, False),
        ([], False),
        ([{"original_user": "bob", "new_user": "carol"}], True),
        ([{"original_user": "bo", "new_user": "carol"}], False),
        ([{"new_user": "car"}], False),
        ([{"new_role": "carol"}], False),
        ([{"original_group": "staff", "new_user": "c.*"}], True),
        ([{"original_group": "others", "new_user": "c.*"}], False),
        ([{"original_role": "staff", "new_user": "c.*"}], False),
        ([{"new_user": "carol", "allow": False}, {"new_user": ".*"}], False),
    ],
)
def test_authorization_rules(views: Ruled, rules: list[dict[str, object]] | None, allowed: bool) -> None:
    sections = {} if rules is None else {"authorization": rules}
    views.rules({"bob": ("staff",)}, **sections)
    text = "ALTER VIEW asks SET AUTHORIZATION carol"
    denied = "Access Denied: Cannot set authorization for view lab.db.asks to USER carol"
    assert views.refused("bob", text) == ("" if allowed else denied)
    views.rules({"bob": ("staff",)}, tables=[{"privileges": ["SELECT"]}], **sections)
    assert views.refused("bob", text) == denied  # only what one owns

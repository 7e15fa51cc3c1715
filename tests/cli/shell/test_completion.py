"""What Tab offers at a place of a statement, over names that need no server."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from coordinator.cli.client import Page, ServerUnreachableError, StatementClient, StatementError
from coordinator.cli.shell.completion import Candidate, SqlCompleter
from coordinator.cli.shell.names import Names

ANSWERS: dict[str, list[tuple[object, ...]]] = {
    "SHOW CATALOGS": [("lake",), ("tpch",)],
    'SHOW SCHEMAS FROM "lake"': [("db",), ("information_schema",)],
    'SHOW SCHEMAS FROM "tpch"': [("tiny",)],
    'SHOW TABLES FROM "lake"."db"': [("orders",), ("Order Items",), ("table",)],
    'SHOW TABLES FROM "tpch"."tiny"': [("nation",)],
    'SHOW COLUMNS FROM "lake"."db"."orders"': [("id", "bigint"), ("customer", "varchar")],
    'SHOW COLUMNS FROM "tpch"."tiny"."nation"': [("nationkey", "bigint"), ("name", "varchar")],
    "SHOW FUNCTIONS": [("count",), ("coalesce_all",), ("count",)],
    "SHOW SESSION": [("query_priority", "1", "1", "integer", "Order in the queue")],
}
PROCEDURES: list[tuple[object, ...]] = [
    ("lake", "system", "expire_snapshots", "schema", "varchar", 1),
    ("lake", "system", "expire_snapshots", "older_than", "timestamp", 1),
    ("lake", "system", "expire_snapshots", "deleted_files", "bigint", 5),
]


class Asked(StatementClient):
    """Answers from above, and counts."""

    def __init__(self, asked: list[str], why: Exception | None = None) -> None:
        self.asked, self.why = asked, why

    def execute(self, sql: str):  # type: ignore[no-untyped-def]
        self.asked.append(sql)
        if self.why is not None:
            raise self.why
        rows = PROCEDURES if "procedure_columns" in sql else ANSWERS.get(sql)
        if rows is None:
            raise StatementError(f"not known: {sql}")
        yield Page("q", (), rows, None, ())  # type: ignore[arg-type]


def offered(text: str, where: tuple[str | None, str | None] = ("lake", "db"), behind: str = "") -> list[str]:
    names = Names(lambda: Asked([]))
    completer = SqlCompleter(names, lambda: where, [Candidate("\\dp", "procedures", is_name=False)])
    document = Document(text + behind, len(text))
    return [completion.text for completion in completer.get_completions(document, CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM ord", ["orders", '"Order Items"']),
        ("SELECT * FROM tp", ["tpch"]),
        ("SELECT * FROM tpch.", ["tiny"]),
        ("SELECT * FROM tpch.tiny.", ["nation"]),
        ("SELECT * FROM db.o", ["orders", '"Order Items"']),
        ("select * from orders o, tpch.tiny.na", ["nation"]),
        ("INSERT INTO ord", ["orders", '"Order Items"']),
        ('SELECT * FROM "Ord', ['"orders"', '"Order Items"']),
        ("DESCRIBE ta", ['"table"']),
        ("SELECT * FROM orders GR", ["GROUP"]),
        ("SELECT * FROM orders GROUP ", ["BY"]),
        ("SELECT * FROM orders LEFT ", ["JOIN", "OUTER"]),
        ("SELECT cust FROM orders; SELECT x FROM tpch.tiny.nat", ["nation"]),
        ("SELECT 1 FROM orders WHERE cus", ["customer"]),
        ("SELECT o. FROM", []),
        ("SELECT 1 FROM orders o WHERE o.", ["id", "customer"]),
        ("SELECT 1 FROM orders AS o JOIN tpch.tiny.nation n ON o.id = n.", ["nationkey", "name"]),
        ("WITH orders AS (SELECT 1) SELECT cust FROM orders WHERE cust", []),
        ("SELECT cou", ["count"]),
        ("sel", ["select"]),
        ("SELECT 1 Wh", ["WHERE"]),
        ("SELECT CASE cust W", ["WHEN"]),
        ("CALL lake.system.", ["expire_snapshots"]),
        ("CALL system.exp", ["expire_snapshots"]),
        ("CALL lake.system.expire_snapshots(", ["schema => ", "older_than => "]),
        ("CALL lake.system.expire_snapshots(schema => 'db', ol", ["older_than => "]),
        ("CALL lake.system.expire_snapshots(schema => tr", ["true"]),
        ("USE tp", ["tpch"]),
        ("USE tpch.", ["tiny"]),
        ("SET SESSION qu", ["query_priority"]),
        ("SHOW SCHEMAS FROM ", ["lake", "tpch"]),
        ("SHOW TABLES FROM lake.", ["db", "information_schema"]),
        ("SELECT 'or", []),
        ("SELECT 1 -- or", []),
        ("SELECT /* or", []),
        ("\\d", ["\\dp"]),
        ("\\d ord", ["orders", '"Order Items"']),
        ("\\dn tp", ["tpch"]),
    ],
)
def test_what_may_stand_there(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


def test_tables_behind_the_cursor_count() -> None:
    assert offered("SELECT cust", behind=" FROM orders") == ["customer"]
    assert offered("SELECT n.na", behind=" FROM tpch.tiny.nation AS n WHERE n.name = 'x'; SELECT 2") == [
        "nationkey",
        "name",
    ]


def test_functions_of_the_session_are_offered() -> None:
    kept = ('"presto.session.price_class;double"', '"presto.session.price_class;date"', '"presto.session.tau"')
    assert Names(lambda: Asked([]), lambda: kept).functions() == ["coalesce_all", "count", "price_class", "tau"]


def test_without_a_schema_catalogs_are_offered() -> None:
    assert offered("SELECT * FROM l", (None, None))[0] == "lake"


def test_answers_are_kept_and_a_server_that_is_away_is_silent() -> None:
    asked: list[str] = []
    names = Names(lambda: Asked(asked))
    assert names.catalogs() == names.catalogs() == ["lake", "tpch"]
    assert len(asked) == 1
    names.forget()
    assert names.functions() == ["coalesce_all", "count"]
    assert names.catalogs() == ["lake", "tpch"]
    assert len(asked) == 3
    away = Names(lambda: Asked(asked, ServerUnreachableError("away")))
    assert (away.catalogs(), away.catalogs()) == ([], [])
    assert len(asked) == 4

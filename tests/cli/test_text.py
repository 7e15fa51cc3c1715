"""Statement ends, row printing and what a client keeps of a session."""

from __future__ import annotations

import io

import httpx
import pytest

from coordinator.cli.client import ClientSession
from coordinator.cli.output import OutputFormat, RowPrinter
from coordinator.cli.splitter import is_blank, split_statements


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT ';' ; SELECT \";\";", ["SELECT ';'", 'SELECT ";"'], ""),
        ("SELECT 'it''s; fine';x", ["SELECT 'it''s; fine'"], "x"),
        ("SELECT 1 -- no; end\n;", ["SELECT 1 -- no; end"], ""),
        ("/* ; */ SELECT 1;", ["/* ; */ SELECT 1"], ""),
        ("SELECT 'open;", [], "SELECT 'open;"),
        (";;  ;", [], ""),
        ("-- only a comment\n;", [], ""),
    ],
)
def test_statements_end_at_semicolons_outside_quotes(text: str, statements: list[str], rest: str) -> None:
    assert split_statements(text) == (statements, rest)


def test_blank_text() -> None:
    assert is_blank("  -- x\n /* y; */ ")
    assert not is_blank("/* y */ z")


def test_a_table_keeps_wide_and_broken_cells_aligned() -> None:
    output = io.StringIO()
    printer = RowPrinter(output, OutputFormat.TABLE)
    printer.add(("name", "n"), [("日本", 1), ("two\nlines", None)])
    printer.finish()
    assert output.getvalue() == (" name  | n\n-------+------\n 日本  | 1\n two   | NULL\n lines |\n(2 rows)\n")


def test_an_empty_csv_has_its_header() -> None:
    output = io.StringIO()
    printer = RowPrinter(output, OutputFormat.CSV)
    printer.add(("a", "b"), [])
    printer.finish()
    assert output.getvalue() == "a,b\n"


def test_a_session_follows_the_answers() -> None:
    session = ClientSession("tester", "lake")
    changed = session.changed_by(
        httpx.Headers(
            [
                ("X-Presto-Set-Catalog", "other"),
                ("X-Presto-Set-Schema", "db"),
                ("X-Presto-Set-Session", "a=1%2C2"),
                ("X-Presto-Set-Session", "b=x"),
                ("X-Presto-Added-Prepare", "p=SELECT+1".replace("+", "%20")),
                ("X-Presto-Started-Transaction-Id", "t1"),
            ]
        )
    )
    assert (changed.catalog, changed.schema, changed.transaction_id) == ("other", "db", "t1")
    assert changed.properties == {"a": "1,2", "b": "x"}
    sent = changed.headers()
    assert sent["X-Presto-Session"] == "a=1%2C2,b=x"
    assert sent["X-Presto-Prepared-Statement"] == "p=SELECT%201"
    ended = changed.changed_by(
        httpx.Headers(
            [
                ("X-Presto-Clear-Session", "a"),
                ("X-Presto-Deallocated-Prepare", "p"),
                ("X-Presto-Clear-Transaction-Id", "true"),
            ]
        )
    )
    assert ended.properties == {"b": "x"}
    assert ended.prepared == {}
    assert ended.headers()["X-Presto-Transaction-Id"] == "NONE"

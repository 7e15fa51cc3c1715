"""What may stand at the editor's cursor, against what a person reads from Presto's grammar."""

from __future__ import annotations

import pytest

from coordinator.sql.expected.following import what_follows


@pytest.mark.parametrize(
    ("text", "words", "names"),
    [
        ("SELECT a FROM t GROUP ", {"BY"}, False),
        ("select a from t left ", {"JOIN", "OUTER"}, False),
        ("DROP ", {"FUNCTION", "MATERIALIZED", "ROLE", "SCHEMA", "TABLE", "TEMPORARY", "VIEW"}, False),
        ("CREATE TABLE t ", {"AS", "COMMENT", "WITH"}, False),
        ("ALTER TABLE a.b.t ", {"ADD", "ALTER", "DROP", "RENAME", "SET"}, False),
        ("WITH x AS (SELECT 1) ", {"SELECT", "TABLE", "VALUES"}, False),
        ("MERGE INTO t USING s ON a = b ", {"WHEN"}, None),
        ("CALL ", set(), True),
        ("SELECT 1; SHOW CREATE ", {"MATERIALIZED", "SCHEMA", "TABLE", "VIEW"}, None),
        ("EXPLAIN ANALYZE ", None, None),
    ],
)
def test_words_and_names(text: str, words: set[str] | None, names: bool | None) -> None:
    found = what_follows(text)
    assert found.known
    if words is not None:
        assert words <= set(found.words)
    if names is not None:
        assert found.names is names
    if names is False:
        assert words == set(found.words)


@pytest.mark.parametrize(
    ("text", "some", "others"),
    [
        ("", {"SELECT", "CREATE", "CALL"}, {"FROM", "BY"}),
        ("SELECT ", {"DISTINCT", "CASE", "CAST"}, {"FROM", "SELECT"}),
        ("SELECT a ", {"FROM", "AS", "AND"}, {"SELECT", "BY"}),
        ("SELECT a FROM t ", {"WHERE", "JOIN", "GROUP", "LIMIT"}, {"FROM", "BY", "VALUES"}),
        ("SELECT a FROM t WHERE ", {"NOT", "EXISTS", "CASE"}, {"GROUP", "WHERE"}),
        ("SELECT CASE WHEN a ", {"THEN"}, {"END", "FROM"}),
        ("SELECT CAST(a AS ", {"VARCHAR", "TIMESTAMP"}, {"FROM", "CASE"}),
    ],
)
def test_among_others(text: str, some: set[str], others: set[str]) -> None:
    found = set(what_follows(text).words)
    assert some <= found
    assert others.isdisjoint(found)


def test_inside_of_a_text_nothing_follows_and_what_is_wrong_is_not_known() -> None:
    assert what_follows("SELECT 'it is ") == what_follows('SELECT "a ')
    for text in ("SELECT 'a", "SELECT a -- why ", "-- "):
        assert (what_follows(text).known, what_follows(text).words) == (True, ())
    assert "FROM" in what_follows("SELECT a -- why\n").words
    for text in ("SELEC 1 ", "SELECT a b c ", "SELECT " + "a, " * 2_000):
        assert not what_follows(text).known

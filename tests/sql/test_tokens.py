"""Positions and values of tokens, with hypothesis as the oracle: what was put together must come apart."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.tokens import TokenType

from coordinator.sql.tokens import MAX_NESTING, Cursor, is_identifier, location_of, tokenize
from shared.errors import ErrorCode, ProcessionError

WORDS = st.from_regex(r"[a-z_][a-z_0-9]{0,8}", fullmatch=True)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
STRINGS = TEXT.map(lambda value: ("string", value, "'" + value.replace("'", "''") + "'"))
QUOTED = TEXT.filter(bool).map(lambda value: ("identifier", value, '"' + value.replace('"', '""') + '"'))
NUMBERS = st.integers(0, 10**20).map(lambda value: ("number", str(value), str(value)))
SIGNS = st.sampled_from([",", "(", ")", "=>", "[", "]", "||", "<=", "?"]).map(lambda sign: ("sign", sign, sign))
PLAIN = WORDS.map(lambda word: ("word", word, f"w_{word}")).map(lambda part: (part[0], part[2], part[2]))
PARTS = st.one_of(STRINGS, QUOTED, NUMBERS, SIGNS, PLAIN)
GAPS = st.sampled_from([" ", "\n", "  \n\n ", "\t", " -- it's a comment\n", ' /* it\'s\n "one" */ '])


@settings(deadline=None)
@given(st.lists(st.tuples(PARTS, GAPS), max_size=20))
def test_tokens_are_what_was_written_where_it_was_written(parts: list[tuple[tuple[str, str, str], str]]) -> None:
    text, expected, offset = "", [], 0
    for (_, value, written), gap in parts:
        expected.append((value, offset, offset + len(written) - 1))
        text += written + gap
        offset = len(text)
    if text.count("(") - text.count(")") > MAX_NESTING:
        return
    tokens = tokenize(text)
    assert [(t.text, t.start, t.end) for t in tokens] == expected


@settings(deadline=None)
@given(st.text("ab'\n\"", max_size=30), st.integers(0, 30))
def test_location_counts_lines_and_columns_from_one(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    location = location_of(text, offset)
    lines = text[:offset].split("\n")
    assert (location.line, location.column) == (len(lines), len(lines[-1]) + 1)


@pytest.mark.parametrize("word", ["CALL", "EXPLAIN", "SHOW", "PREPARE", "EXECUTE", "OPTIMIZE", "FETCH"])
def test_words_that_sqlglot_swallows_are_tokens_of_their_own(word: str) -> None:
    tokens = tokenize(f"{word} a.b")
    assert [t.text for t in tokens] == [word, "a", ".", "b"]
    assert [(t.start, t.end) for t in tokens] == [
        (0, len(word) - 1),
        (len(word) + 1, len(word) + 1),
        (len(word) + 2, len(word) + 2),
        (len(word) + 3, len(word) + 3),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RESET SESSION a", [("RESET", 0, 4), ("SESSION", 6, 12), ("a", 14, 14)]),
        ("DESCRIBE\n  OUTPUT p", [("DESCRIBE", 0, 7), ("OUTPUT", 11, 16), ("p", 18, 18)]),
    ],
)
def test_two_words_in_one_token_are_split(text: str, words: list[tuple[str, int, int]]) -> None:
    assert [(t.text, t.start, t.end) for t in tokenize(text)] == words


def test_line_and_column_are_those_of_the_last_character() -> None:
    tokens = tokenize("SELECT a\nFROM t GROUP\nBY a")
    assert [(t.text, t.line, t.col) for t in tokens if t.text.lower() == "a"] == [("a", 1, 8), ("a", 3, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 'abc", "line 1:8: mismatched input '''. Expecting: a closing '"),
        ('SELECT\n "abc', "line 2:2: mismatched input '\"'. Expecting: a closing \""),
        ("SELECT 1 /* x", "line 1:10: mismatched input '/*'. Expecting: '*/'"),
        ("SELECT 'it''s' -- don't\n, 'x", "line 2:3: mismatched input '''. Expecting: a closing '"),
    ],
)
def test_what_is_left_open_is_named_where_it_opens(text: str, message: str) -> None:
    with pytest.raises(ProcessionError) as caught:
        tokenize(text)
    assert caught.value.wire_message == message
    assert caught.value.code is ErrorCode.SYNTAX_ERROR


@pytest.mark.parametrize("opening", ["(", "[", "CASE ", "- ", "NOT "])
def test_deep_nesting_is_refused_before_parsing(opening: str) -> None:
    tokenize("SELECT " + opening * MAX_NESTING)
    with pytest.raises(ProcessionError) as caught:
        tokenize("SELECT " + opening * (MAX_NESTING + 1))
    assert caught.value.message == "statement is too large (stack overflow while parsing)"
    assert caught.value.location == location_of("x" * 10_000, len("SELECT ") + len(opening) * MAX_NESTING)


def test_a_wide_statement_is_not_a_deep_one() -> None:
    assert len(tokenize(f"SELECT x IN ({', '.join(map(str, range(20_000)))})")) == 40_004


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", True), ('"a b"', True), ("schema", True), ("select", False), ("'a'", False), ("1", False), ("_x", True)],
)
def test_identifiers_are_quoted_or_not_reserved(text: str, expected: bool) -> None:
    assert is_identifier(tokenize(text)[0]) is expected


def test_a_quoted_word_is_no_keyword() -> None:
    cursor = Cursor('"CALL"', tokenize('"CALL"'))
    assert cursor.keyword() == ""
    assert cursor.tokens[0].token_type is TokenType.IDENTIFIER

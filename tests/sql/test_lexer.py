"""Positions and values of tokens, with hypothesis as the oracle: what was put together must come apart."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.sql.lexer import MAX_NESTING, MAX_TEXT_LENGTH, Tokens, location_of
from shared.errors import ErrorCode, ProcessionError

WORDS = st.from_regex(r"[a-z_][a-z_0-9]{0,8}", fullmatch=True).map(
    lambda word: ("name", f"W_{word}".upper(), f"w_{word}")
)
RESERVED = st.sampled_from(["select", "From", "JOIN"]).map(lambda word: ("word", word.upper(), word))
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
STRINGS = TEXT.map(lambda value: ("string", "", "'" + value.replace("'", "''") + "'"))
QUOTED = TEXT.filter(bool).map(lambda value: ("quoted", "", '"' + value.replace('"', '""') + '"'))
NUMBERS = st.sampled_from(["0", "12", "1.5", "1.", ".5", "1e5", "1.5E-3", ".5e+1", "1e+5"]).map(
    lambda value: ("number", value, value)
)
SIGNS = st.sampled_from([",", "(", ")", "=>", "->", "[", "]", "||", "<=", "<>", "!=", "?", ";", "@", "$"]).map(
    lambda sign: ("sign", sign, sign)
)
OTHERS = st.sampled_from(
    [
        ("unicode", "", "U&'a''b'"),
        ("binary", "", "x'0 1'"),
        ("digits", "", "1ab"),
        ("digits", "", "12e"),
        ("backquoted", "", "`a`"),
    ]
)
PARTS = st.one_of(STRINGS, QUOTED, NUMBERS, SIGNS, WORDS, RESERVED, OTHERS)
GAPS = st.sampled_from([" ", "\n", "  \n\n ", "\t", " -- it's a comment\n", ' /* it\'s\n "one" */ '])


@settings(deadline=None)
@given(st.lists(st.tuples(PARTS, GAPS), max_size=20))
def test_tokens_are_what_was_written_where_it_was_written(parts: list[tuple[tuple[str, str, str], str]]) -> None:
    text, expected = "", []
    for (kind, word, written), gap in parts:
        expected.append((kind, word, len(text), len(text) + len(written)))
        text += written + gap
    tokens = Tokens(text)
    expected.append(("end", "", len(text), len(text)))
    assert list(zip(tokens.kinds, tokens.words, tokens.starts, tokens.ends, strict=True)) == expected


@settings(deadline=None)
@given(st.text("ab'\n\"-/*1.eExX`", max_size=30))
def test_every_character_is_part_of_a_token_or_between_two(text: str) -> None:
    tokens = Tokens(text)
    between = [text[end:start] for end, start in zip([0, *tokens.ends], tokens.starts, strict=False)]
    assert all(not gap.strip() or "--" in gap or "/*" in gap for gap in between)


@settings(deadline=None)
@given(st.text("ab'\n\"", max_size=30), st.integers(0, 30))
def test_location_counts_lines_and_columns_from_one(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    location = location_of(text, offset)
    lines = text[:offset].split("\n")
    assert (location.line, location.column) == (len(lines), len(lines[-1]) + 1)
    plain = text.replace("'", "a").replace('"', "b")
    assert Tokens(plain).location(offset) == location


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.1", ["A", ".1"]),
        ("a.b", ["A", ".", "B"]),
        ("1.5x", ["1.5", "X"]),
        ("f@x:y", ["F@X:Y"]),
        ("a--b\n-c", ["A", "-", "C"]),
        ("1-- b", ["1"]),
        ("x'0'", [""]),
        ("ax'0'", ["AX", ""]),
        ("u&'a'", [""]),
        ("u& 'a'", ["U", "&", ""]),
        ("a::b", ["A::B"]),
        ("'a''b' 'c'", ["", ""]),
    ],
)
def test_the_longest_token_wins(text: str, words: list[str]) -> None:
    assert Tokens(text).words == [*words, ""]


def test_what_is_left_open_is_a_sign() -> None:
    tokens = Tokens("'it''s' 'a")
    assert (tokens.kinds, tokens.words) == (["string", "sign", "name", "end"], ["", "'", "A", ""])


@pytest.mark.parametrize("opening", ["(", "[", "CASE ", "- ", "NOT "])
def test_deep_nesting_is_refused_before_parsing(opening: str) -> None:
    Tokens("SELECT " + opening * MAX_NESTING)
    with pytest.raises(ProcessionError) as caught:
        Tokens("SELECT " + opening * (MAX_NESTING + 1))
    assert caught.value.message == "statement is too large (stack overflow while parsing)"
    assert caught.value.location == location_of("x" * 10_000, len("SELECT ") + len(opening) * MAX_NESTING)


def test_what_stands_in_texts_does_not_nest() -> None:
    Tokens("SELECT '" + "(" * 1_000 + "' -- " + "-" * 1_000)


def test_a_wide_statement_is_not_a_deep_one() -> None:
    assert len(Tokens(f"SELECT x IN ({', '.join(map(str, range(20_000)))})").words) == 40_005


def test_a_text_beyond_all_bounds() -> None:
    with pytest.raises(ProcessionError) as caught:
        Tokens(" " * (MAX_TEXT_LENGTH + 1))
    assert caught.value.code is ErrorCode.QUERY_TEXT_TOO_LARGE


def test_comments_that_nothing_closes_are_signs() -> None:
    """Looking for the end of each would take hours: no later one is closed either."""
    words = Tokens("1 /* 2 */ / 3 " + "/* a" * 100_000).words
    assert words[:7] == ["1", "/", "3", "/", "*", "A", "/"]
    assert len(words) == 300_004

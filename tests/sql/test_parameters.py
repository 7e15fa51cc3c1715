"""Parameters of EXECUTE … USING in the prepared text, and locations back in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.sql.lexer import location_of
from coordinator.sql.parameters import substitute
from shared.errors import ErrorLocation, ProcessionError

START = ErrorLocation(1, 1)


def test_values_replace_question_marks_in_order_of_the_text() -> None:
    found = substitute("CALL a.b(?, '?', x => ?)", ("'it''s ?'", "-5"), START)
    assert found.text == "CALL a.b('it''s ?', '?', x => (-5))"


def test_numbers_of_rows() -> None:
    """As Python's clients, the JDBC drivers and Go's write an int; what is no number stays, and is refused there."""
    for value in ("10", "INTEGER '10'", "BIGINT '10'", "bigint  '10' "):
        found = substitute("SELECT ? FROM t OFFSET ? ROWS FETCH FIRST ? ROWS ONLY", (value,) * 3, START)
        assert found.text.partition(" FROM ")[2] == "t OFFSET 10 ROWS FETCH FIRST 10 ROWS ONLY", value
        assert substitute("SELECT 1 LIMIT ?", (value,), START).text == "SELECT 1 LIMIT 10", value
    for value in ("1 + 1", "INTEGER '-1'", "DOUBLE '1'", "INTEGER '1' + 1"):
        assert substitute("SELECT 1 LIMIT ?", (value,), START).text == f"SELECT 1 LIMIT ({value})"


@pytest.mark.parametrize(("text", "given_count", "expected"), [("SELECT ?", 0, 1), ("SELECT 1", 2, 0)])
def test_wrong_number(text: str, given_count: int, expected: int) -> None:
    with pytest.raises(ProcessionError) as caught:
        substitute(text, ("1",) * given_count, ErrorLocation(3, 7))
    message = f"line 3:7: Incorrect number of parameters: expected {expected} but found {given_count}"
    assert caught.value.wire_message == message


@settings(deadline=None)
@given(st.lists(st.tuples(st.from_regex(r"[a-z \n]{0,6}", fullmatch=True), st.integers(0, 10**6)), max_size=5))
def test_every_place_outside_the_values_is_found_again(parts: list[tuple[str, int]]) -> None:
    prepared = "".join(f"{text} ? " for text, _ in parts)
    found = substitute(prepared, [str(value) for _, value in parts], START)
    inserted = {offset for start, end, _ in found.pieces for offset in range(start, end)}
    outside = [offset for offset in range(len(found.text)) if offset not in inserted]
    assert [found.text[offset] for offset in outside] == [c for c in prepared if c != "?"]
    places = [i for i, c in enumerate(prepared) if c != "?"]
    for offset, place in zip(outside, places, strict=True):
        assert found.original(location_of(found.text, offset)) == location_of(prepared, place)
    for start, end, mark in found.pieces:
        for offset in (start, end - 1):
            assert found.original(location_of(found.text, offset)) == location_of(prepared, mark)

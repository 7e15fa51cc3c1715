"""GROUP BY: expressions, ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from coordinator.sql.grammar.calls import expressions
from coordinator.sql.grammar.clauses import listed
from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.expressions import Row
from coordinator.sql.tree.queries import Cube, GroupBy, GroupingElement, GroupingSets, Rollup, SimpleGroupBy
from shared.plan.expressions import SourceLocation

_ELEMENT = (*listed("(", "CUBE", "GROUPING", "ROLLUP"), "<expression>")


def group_by(words: Words) -> GroupBy:
    """``GROUP BY [ALL | DISTINCT] element, …``."""
    words.position += 1
    words.expect("BY")
    place, distinct = words.place(), words.word == "DISTINCT"
    if distinct or words.word == "ALL":
        words.position += 1
    elif words.kind == "end":
        raise words.mismatch((*listed("ALL", "DISTINCT"), *_ELEMENT))
    return GroupBy(location=place, elements=_elements(words), distinct=distinct)


def _elements(words: Words) -> tuple[GroupingElement, ...]:
    found = [_element(words)]
    while words.accept(","):
        found.append(_element(words))
    return tuple(found)


def _element(words: Words) -> GroupingElement:
    place = words.place()
    if words.word in ("ROLLUP", "CUBE"):
        kind = Rollup if words.word == "ROLLUP" else Cube
        words.position += 1
        words.expect("(")
        if words.kind == "end":
            raise words.mismatch(("')'", "<expression>"))
        columns = () if words.word == ")" else expressions(words)
        words.expect(")")
        return kind(location=place, columns=columns)
    if words.word == "GROUPING" and words.ahead(1) != "(":
        words.position += 1
        words.expect("SETS")
        words.expect("(")
        if words.kind == "end":
            raise words.mismatch(("'('", "<expression>"))
        sets = _elements(words)
        words.expect(")")
        return GroupingSets(location=place, sets=sets)
    if words.accept("(", ")"):
        return SimpleGroupBy(location=place, columns=())
    if words.kind == "end":
        raise words.mismatch(_ELEMENT)
    return _simple(words, place)


def _simple(words: Words, place: SourceLocation) -> SimpleGroupBy:
    """A row that is the whole element lists its columns: ``(a, b)``."""
    made = words.rules.expression(words)
    if isinstance(made, Row) and not made.keyword:
        at = made.location
        if (at.line, at.column) == (place.line, place.column):
            return SimpleGroupBy(location=place, columns=made.items)
    return SimpleGroupBy(location=place, columns=(made,))

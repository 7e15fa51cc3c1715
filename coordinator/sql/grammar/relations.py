"""Relations of FROM: tables, subqueries, UNNEST, LATERAL, their aliases and samples, and joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from coordinator.sql.grammar.calls import expressions
from coordinator.sql.grammar.clauses import begins_clause, listed, names, qualified_name
from coordinator.sql.grammar.subqueries import QUERY_WORDS, starts_query
from coordinator.sql.grammar.words import Words
from coordinator.sql.tree.queries import (
    AliasedRelation,
    Join,
    JoinOn,
    JoinUsing,
    Lateral,
    NaturalJoin,
    Query,
    Relation,
    SampledRelation,
    Table,
    TableSubquery,
    TableVersion,
    Unnest,
)
from shared.plan.expressions import SourceLocation

_RELATION = (*listed("(", "LATERAL", "TABLE", "UNNEST"), "<identifier>")
_TYPED = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL")

Kind = Literal["INNER", "LEFT", "RIGHT", "FULL"]
_OUTER: Mapping[str, Kind] = {"LEFT": "LEFT", "RIGHT": "RIGHT", "FULL": "FULL"}


def relation(words: Words) -> Relation:
    """A relation with all that is joined to it."""
    place = words.place()
    made = _sampled(words)
    while True:
        word = words.word
        if word == "CROSS":
            words.position += 1
            words.expect("JOIN")
            made = Join(location=place, kind="CROSS", left=made, right=_sampled(words))
        elif word == "NATURAL":
            natural = NaturalJoin(location=words.place())
            words.position += 1
            if words.word not in _TYPED:
                raise words.mismatch(listed(*_TYPED))
            type_ = _join_type(words)
            made = Join(location=place, kind=type_, left=made, right=_sampled(words), criteria=natural)
        elif word in _TYPED:
            type_ = _join_type(words)
            right = relation(words)
            made = Join(location=place, kind=type_, left=made, right=right, criteria=_criteria(words))
        else:
            return made


def _join_type(words: Words) -> Kind:
    """Up to the relation that is joined."""
    kind = _OUTER.get(words.word)
    if kind is None:
        words.accept("INNER")
        words.expect("JOIN")
        return "INNER"
    words.position += 1
    if not words.accept("OUTER") and words.word != "JOIN":
        raise words.mismatch(listed("JOIN", "OUTER"))
    words.expect("JOIN")
    return kind


def _criteria(words: Words) -> JoinOn | JoinUsing:
    place = words.place()
    if words.accept("ON"):
        return JoinOn(location=place, expression=words.rules.expression(words))
    if words.accept("USING"):
        columns = names(words)
        return JoinUsing(location=place, columns=columns)
    raise words.mismatch(("'ON'", "'USING'"))


def _sampled(words: Words) -> Relation:
    place = words.place()
    made = _aliased(words, place, _primary(words))
    if words.word != "TABLESAMPLE":
        return made
    words.position += 1
    kind = words.expect("BERNOULLI", "SYSTEM")
    words.expect("(")
    percentage = words.rules.expression(words)
    words.expect(")")
    made = SampledRelation(location=place, relation=made, kind=kind, percentage=percentage)  # type: ignore[arg-type]
    return _aliased(words, place, made)


def _aliased(words: Words, place: SourceLocation, made: Relation) -> Relation:
    if words.word != "AS" and (not words.is_identifier() or begins_clause(words)):
        return made
    words.accept("AS")
    alias = words.identifier()
    columns = None
    if words.word == "(":
        columns = names(words)
    return AliasedRelation(location=place, relation=made, alias=alias, columns=columns)


def _primary(words: Words) -> Relation:
    place = words.place()
    match words.word:
        case "UNNEST":
            return _unnest(words)
        case "LATERAL" if words.ahead(1) == "(":
            words.position += 2
            made: Relation = Lateral(location=place, query=_inner_query(words))
            words.expect(")")
            return made
        case "TABLE" if words.ahead(1) == "(":
            raise _table_function(words)
        case "(":
            return _in_parentheses(words)
        case _:
            table = Table(location=place, name=qualified_name(words, _RELATION))
            return Table(location=place, name=table.name, version=_version(words)) if words.word == "FOR" else table


def _unnest(words: Words) -> Unnest:
    place = words.place()
    words.position += 1
    words.expect("(")
    items = expressions(words)
    words.expect(")")
    ordinality = words.accept("WITH", "ORDINALITY")
    return Unnest(location=place, expressions=items, with_ordinality=ordinality)


def _in_parentheses(words: Words) -> Relation:
    place = words.place()
    words.position += 1
    if words.kind == "end":
        raise words.mismatch((*_RELATION, "<query>"))
    nested = starts_query(words)
    made = TableSubquery(location=place, query=words.rules.query(words)) if nested else relation(words)
    words.expect(")")
    return made


def _inner_query(words: Words) -> Query:
    if words.word not in QUERY_WORDS and words.word != "(":
        raise words.mismatch(("<query>",))
    return words.rules.query(words)


def _table_function(words: Words) -> Exception:
    """``TABLE(f(…))``: there are none here, and Presto's text says so at the name."""
    words.position += 2
    begin = words.position
    qualified_name(words)
    if words.word != "(":
        return words.mismatch(("'('", "'.'"))
    name = words.source(begin)
    words.position = begin
    return words.error(f"Table function {name} not registered")


def _version(words: Words) -> TableVersion:
    place = words.place()
    words.position += 1
    kind = words.expect("SYSTEM_TIME", "SYSTEM_VERSION", "TIMESTAMP", "VERSION")
    before = words.accept("BEFORE")
    if not before:
        if words.word != "AS":
            raise words.mismatch(("'AS'", "'BEFORE'"))
        words.position += 1
        words.expect("OF")
    return TableVersion(
        location=place,
        kind="TIMESTAMP" if kind in ("TIMESTAMP", "SYSTEM_TIME") else "VERSION",
        operator="BEFORE" if before else "AS OF",
        expression=words.rules.value(words),
    )

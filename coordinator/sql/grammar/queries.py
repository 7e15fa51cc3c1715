"""Queries: WITH, set operations, query blocks, and what orders and limits them."""

from __future__ import annotations

from msgspec.structs import replace

from coordinator.sql.grammar.calls import expressions, sort_items, window_in_parentheses
from coordinator.sql.grammar.clauses import begins_clause, listed, names, qualified_name
from coordinator.sql.grammar.expressions import begins_expression, expression
from coordinator.sql.grammar.grouping import group_by
from coordinator.sql.grammar.relations import relation
from coordinator.sql.grammar.subqueries import QUERY_WORDS
from coordinator.sql.grammar.words import IDENTIFIER, Expected, Words
from coordinator.sql.tree.expressions import Expression, LongLiteral, Parameter
from coordinator.sql.tree.queries import (
    AllColumns,
    Join,
    Limit,
    Offset,
    OrderBy,
    Query,
    QueryBody,
    QuerySpecification,
    Relation,
    SetOperation,
    SingleColumn,
    Table,
    TableQuery,
    TableSubquery,
    Values,
    WindowDefinition,
    With,
    WithQuery,
)
from shared.plan.expressions import SourceLocation

END: Expected = ("<EOF>",)
_TERM = listed("(", "SELECT", "TABLE", "VALUES")
_QUANTIFIABLE = listed("(", "ALL", "DISTINCT", "SELECT", "TABLE", "VALUES")
_SELECTED: Expected = ("'*'", "<expression>", "<identifier>")
_FIRST_SELECTED: Expected = (*listed("*", "ALL", "DISTINCT"), "<expression>", "<identifier>")
_PRECEDENCE = {"INTERSECT": 2, "UNION": 1, "EXCEPT": 1}


def query(words: Words) -> Query:
    """A query with everything that may stand before and behind its blocks."""
    place = words.place()
    with_ = _with(words) if words.word == "WITH" else None
    body = _terms(words)
    order = _order_by(words) if words.word == "ORDER" else None
    offset = _offset(words) if words.word == "OFFSET" else None
    limit = _limit(words) if words.word in ("LIMIT", "FETCH") else None
    if not isinstance(body, QuerySpecification):
        return Query(location=place, body=body, with_=with_, order_by=order, offset=offset, limit=limit)
    if order is not None or offset is not None or limit is not None:
        body = replace(body, order_by=order, offset=offset, limit=limit)
    return Query(location=place, body=body, with_=with_)


def _order_by(words: Words) -> OrderBy:
    place = words.place()
    words.position += 1
    words.expect("BY")
    return OrderBy(location=place, sort_items=sort_items(words))


def _offset(words: Words) -> Offset:
    place = words.place()
    words.position += 1
    count = _count(words, ("'?'", "<integer>"))
    if words.word in ("ROW", "ROWS"):
        words.position += 1
    return Offset(location=place, count=count)


def _limit(words: Words) -> Limit:
    place = words.place()
    if words.accept("LIMIT"):
        count = None if words.accept("ALL") else _count(words, ("'ALL'", "<integer>"))
        return Limit(location=place, count=count)
    words.position += 1
    words.expect("FIRST", "NEXT")
    first: Expression = LongLiteral(location=place, value=1)
    if words.word not in ("ROW", "ROWS"):
        first = _count(words, ("<integer>",))
    words.expect("ROW", "ROWS")
    ties = words.accept("WITH", "TIES")
    if not ties:
        words.expect("ONLY")
    return Limit(location=place, count=first, with_ties=ties)


def _count(words: Words, expected: Expected) -> Expression:
    place, word = words.place(), words.word
    if not word.isdigit() and word != "?":
        raise words.mismatch(expected)
    words.position += 1
    if word != "?":
        return LongLiteral(location=place, value=int(word))
    words.parameters += 1
    return Parameter(location=place, position=words.parameters - 1)


def _with(words: Words) -> With:
    place = words.place()
    words.position += 1
    recursive = words.accept("RECURSIVE")
    found = [_named_query(words, IDENTIFIER if recursive else ("'RECURSIVE'", "<identifier>"))]
    while words.accept(","):
        found.append(_named_query(words, IDENTIFIER))
    return With(location=place, queries=tuple(found), recursive=recursive)


def _named_query(words: Words, expected: Expected) -> WithQuery:
    name = words.identifier(expected)
    columns = None
    if words.word == "(":
        columns = names(words)
    elif words.word != "AS":
        raise words.mismatch(listed("(", "AS"))
    words.expect("AS")
    words.expect("(")
    if words.word not in QUERY_WORDS and words.word != "(":
        raise words.mismatch(("<query>",))
    inner = query(words)
    words.expect(")")
    return WithQuery(location=name.location, name=name, query=inner, columns=columns)


def _terms(words: Words) -> QueryBody:
    """Terms of set operations, nested to the left; INTERSECT binds closer."""
    terms = [_term(words, _TERM)]
    operations: list[tuple[str, bool, SourceLocation]] = []
    while words.word in _PRECEDENCE:
        while operations and _PRECEDENCE[operations[-1][0]] >= _PRECEDENCE[words.word]:
            _combine(terms, operations)
        kind, place = words.word, words.place()
        words.position += 1
        quantified = words.word in ("ALL", "DISTINCT")
        operations.append((kind, words.word != "ALL", place))
        words.position += quantified
        terms.append(_term(words, _TERM if quantified else _QUANTIFIABLE))
    while operations:
        _combine(terms, operations)
    return terms[0]


def _combine(terms: list[QueryBody], operations: list[tuple[str, bool, SourceLocation]]) -> None:
    kind, distinct, place = operations.pop()
    right = terms.pop()
    left = terms.pop()
    made = SetOperation(location=place, kind=kind, distinct=distinct, left=left, right=right)  # type: ignore[arg-type]
    terms.append(made)


def _term(words: Words, expected: Expected) -> QueryBody:
    place = words.place()
    if words.accept("SELECT"):
        return _block(words, place)
    if words.accept("VALUES"):
        return Values(location=place, rows=expressions(words))
    if words.accept("TABLE"):
        table = Table(location=words.place(), name=qualified_name(words))
        return TableQuery(location=place, table=table)
    if not words.accept("("):
        raise words.mismatch(expected)
    if words.word not in QUERY_WORDS and words.word != "(":
        raise words.mismatch(_TERM)
    inner = query(words)
    words.expect(")")
    return TableSubquery(location=place, query=inner)


def _block(words: Words, place: SourceLocation) -> QuerySpecification:
    quantified = words.word in ("ALL", "DISTINCT")
    distinct = words.word == "DISTINCT"
    words.position += quantified
    select = [_select_item(words, _SELECTED if quantified else _FIRST_SELECTED)]
    while words.accept(","):
        select.append(_select_item(words, _SELECTED))
    from_ = _from(words, place) if words.accept("FROM") else None
    where = expression(words) if words.accept("WHERE") else None
    groups = group_by(words) if words.word == "GROUP" else None
    having = expression(words) if words.accept("HAVING") else None
    windows = _windows(words) if words.word == "WINDOW" and words.ahead(2) == "AS" else ()
    return QuerySpecification(
        location=place,
        select=tuple(select),
        distinct=distinct,
        from_=from_,
        where=where,
        group_by=groups,
        having=having,
        windows=windows,
    )


def _from(words: Words, place: SourceLocation) -> Relation:
    """Relations between commas: Presto's place of such a join is that of the whole block."""
    made = relation(words)
    while words.accept(","):
        made = Join(location=place, kind="IMPLICIT", left=made, right=relation(words))
    return made


def _select_item(words: Words, expected: Expected) -> SingleColumn | AllColumns:
    place = words.place()
    if words.accept("*"):
        return AllColumns(location=place)
    if not begins_expression(words):
        raise words.mismatch(expected)
    if words.is_identifier() and words.ahead(1) == ".":
        if words.kind_ahead(2) == "end":
            words.position += 2
            raise words.mismatch(_SELECTED)
        star = _star_of_relation(words)
        if star is not None:
            return star
    made = expression(words)
    alias = None
    if words.accept("AS") or (words.is_identifier() and not begins_clause(words)):
        alias = words.identifier()
    return SingleColumn(location=place, expression=made, alias=alias)


def _star_of_relation(words: Words) -> AllColumns | None:
    """``a.b.*``."""
    ahead = 1
    while words.ahead(ahead) == "." and words.is_identifier(ahead + 1):
        ahead += 2
    if words.ahead(ahead) != "." or words.ahead(ahead + 1) != "*":
        return None
    place = words.place()
    prefix = [words.identifier()]
    while words.accept(".") and words.word != "*":
        prefix.append(words.identifier())
    words.position += 1
    return AllColumns(location=place, prefix=tuple(prefix))


def _windows(words: Words) -> tuple[WindowDefinition, ...]:
    words.position += 1
    found: list[WindowDefinition] = []
    while True:
        place, name = words.place(), words.identifier()
        words.expect("AS")
        found.append(WindowDefinition(location=place, name=name, window=window_in_parentheses(words, words.place())))
        if not words.accept(","):
            return tuple(found)

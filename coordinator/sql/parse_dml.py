"""INSERT, DELETE, UPDATE and MERGE."""

from __future__ import annotations

from coordinator.sql.dml_statements import ColumnValue, Delete, Insert, Merge, MergeCase, Tokens, Update
from coordinator.sql.old_grammar.queries import check_relation
from coordinator.sql.parse_parts import expression_tokens, object_name, query_to_end, run_of_tokens
from coordinator.sql.tokens import Cursor
from shared.errors import ErrorLocation

_QUERY = {"SELECT", "WITH", "VALUES", "TABLE"}


def parse_insert(cursor: Cursor) -> Insert:
    """``INSERT INTO name [(column, …)] query``."""
    location = cursor.location
    cursor.expect("INSERT")
    cursor.expect("INTO")
    name = object_name(cursor)
    cursor.settle()
    columns: tuple[str, ...] | None = None
    places: list[ErrorLocation] = []
    if cursor.keyword() == "(" and cursor.keyword(1) not in {*_QUERY, "("}:
        cursor.expect("(")
        names: list[str] = []
        while True:
            places.append(cursor.location)
            names.append(cursor.identifier())
            if cursor.expect(",", ")") == ")":
                break
        columns = tuple(names)
    return Insert(name, columns, tuple(places), query_to_end(cursor), location)


def parse_delete(cursor: Cursor) -> Delete:
    """``DELETE FROM name [WHERE predicate]``."""
    location = cursor.location
    cursor.expect("DELETE")
    cursor.expect("FROM")
    place = cursor.location
    name = object_name(cursor)
    where = expression_tokens(cursor) if cursor.accept("WHERE") else None
    return Delete(name, where, location, place)


def parse_update(cursor: Cursor) -> Update:
    """``UPDATE name SET column = expression, … [WHERE predicate]``."""
    location = cursor.location
    cursor.expect("UPDATE")
    place = cursor.location
    name = object_name(cursor)
    cursor.expect("SET")
    assignments = _assignments(cursor, "WHERE")
    where = expression_tokens(cursor) if cursor.accept("WHERE") else None
    return Update(name, None, assignments, where, location, place)


def _assignments(cursor: Cursor, *stops: str) -> tuple[ColumnValue, ...]:
    found: list[ColumnValue] = []
    while True:
        location = cursor.location
        column = cursor.identifier()
        if cursor.accept("."):
            column = cursor.identifier()  # an alias of the target before the name
        cursor.settle()
        cursor.expect("=")
        found.append(ColumnValue(column, expression_tokens(cursor, *stops), location))
        if not cursor.accept(","):
            return tuple(found)


def parse_merge(cursor: Cursor) -> Merge:
    """``MERGE INTO name [alias] USING relation ON predicate WHEN …``."""
    location = cursor.location
    cursor.expect("MERGE")
    cursor.expect("INTO")
    place = cursor.location
    name = object_name(cursor)
    alias = None
    if cursor.accept("AS") or cursor.keyword() != "USING":
        alias = cursor.identifier()
    cursor.expect("USING")
    source = run_of_tokens(cursor, "ON")
    if not source:
        raise cursor.mismatch("<relation>")
    check_relation(cursor.text, source)
    cursor.expect("ON")
    on = expression_tokens(cursor, "WHEN")
    cases = [_case(cursor)]
    while cursor.current is not None:
        cases.append(_case(cursor))
    return Merge(name, alias, source, on, tuple(cases), location, place)


def _case(cursor: Cursor) -> MergeCase:
    location = cursor.location
    cursor.expect("WHEN")
    matched = cursor.expect("MATCHED", "NOT") == "MATCHED"
    if not matched:
        cursor.expect("MATCHED")
    condition = expression_tokens(cursor, "THEN") if cursor.accept("AND") else None
    cursor.expect("THEN")
    if not matched:
        return _insert_case(cursor, condition, location)
    if cursor.expect("DELETE", "UPDATE") == "DELETE":
        return MergeCase(True, "DELETE", condition, (), (), (), location)
    cursor.expect("SET")
    return MergeCase(True, "UPDATE", condition, _assignments(cursor, "WHEN"), (), (), location)


def _insert_case(cursor: Cursor, condition: Tokens | None, location: ErrorLocation) -> MergeCase:
    cursor.expect("INSERT")
    columns: list[str] = []
    if cursor.accept("("):
        while True:
            name = cursor.qualified_name()
            columns.append(name[-1])
            if cursor.expect(",", ")") == ")":
                break
    cursor.expect("VALUES")
    cursor.expect("(")
    values = [expression_tokens(cursor)]
    while cursor.expect(",", ")") == ",":
        values.append(expression_tokens(cursor))
    return MergeCase(False, "INSERT", condition, (), tuple(columns), tuple(values), location)

"""INSERT, DELETE, UPDATE and MERGE."""

from __future__ import annotations

from coordinator.sql.cursor import Cursor
from coordinator.sql.ddl_statements import Name
from coordinator.sql.dml_statements import ColumnValue, Delete, Insert, Merge, MergeCase, Update
from coordinator.sql.grammar.relations import relation
from coordinator.sql.parse_parts import object_name
from coordinator.sql.tree.expressions import Expression
from coordinator.sql.tree.queries import Relation
from shared.errors import ErrorLocation

_QUERY = {"SELECT", "WITH", "VALUES", "TABLE"}


def _target(cursor: Cursor) -> Name:
    """A table; a branch of one as Trino writes it (``t @ 'audit'``) gets the name that Iceberg gives it."""
    name = object_name(cursor)
    if not cursor.accept("@"):
        return name
    branch = cursor.text_of_string()
    return name if branch == "main" else (*name[:-1], f"{name[-1]}.branch_{branch}")


def parse_insert(cursor: Cursor) -> Insert:
    """``INSERT INTO name [(column, …)] query``."""
    location = cursor.location
    cursor.expect("INSERT")
    cursor.expect("INTO")
    name = _target(cursor)
    columns: tuple[str, ...] | None = None
    places: list[ErrorLocation] = []
    if cursor.word == "(" and cursor.ahead(1) not in {*_QUERY, "("}:
        cursor.expect("(")
        names: list[str] = []
        while True:
            places.append(cursor.location)
            names.append(cursor.name())
            if cursor.expect(",", ")") == ")":
                break
        columns = tuple(names)
    return Insert(name, columns, tuple(places), cursor.query_to_end(), location)


def parse_delete(cursor: Cursor) -> Delete:
    """``DELETE FROM name [WHERE predicate]``."""
    location = cursor.location
    cursor.expect("DELETE")
    cursor.expect("FROM")
    name = _target(cursor)
    where = cursor.read_expression() if cursor.accept("WHERE") else None
    return Delete(name, where, location)


def parse_update(cursor: Cursor) -> Update:
    """``UPDATE name SET column = expression, … [WHERE predicate]``."""
    location = cursor.location
    cursor.expect("UPDATE")
    name = _target(cursor)
    cursor.expect("SET")
    assignments = _assignments(cursor)
    where = cursor.read_expression() if cursor.accept("WHERE") else None
    return Update(name, None, assignments, where, location)


def _assignments(cursor: Cursor) -> tuple[ColumnValue, ...]:
    found: list[ColumnValue] = []
    while True:
        location = cursor.location
        column = cursor.name()
        if cursor.accept("."):
            column = cursor.name()  # an alias of the target before the name
        cursor.expect("=")
        found.append(ColumnValue(column, cursor.read_expression(), location))
        if not cursor.accept(","):
            return tuple(found)


def parse_merge(cursor: Cursor) -> Merge:
    """``MERGE INTO name [alias] USING relation ON predicate WHEN …``."""
    location = cursor.location
    cursor.expect("MERGE")
    cursor.expect("INTO")
    name = _target(cursor)
    alias = None
    if cursor.accept("AS") or cursor.word != "USING":
        alias = cursor.name()
    cursor.expect("USING")
    source = _source(cursor)
    cursor.expect("ON")
    on = cursor.read_expression()
    cases = [_case(cursor)]
    while not cursor.at_end:
        cases.append(_case(cursor))
    return Merge(name, alias, source, on, tuple(cases), location)


def _source(cursor: Cursor) -> Relation:
    if cursor.at_end:
        raise cursor.refuse("<relation>")
    made = relation(cursor)
    if cursor.word != "ON":
        raise cursor.mismatch(("'ON'",))
    return made


def _case(cursor: Cursor) -> MergeCase:
    location = cursor.location
    cursor.expect("WHEN")
    matched = cursor.expect("MATCHED", "NOT") == "MATCHED"
    if not matched:
        cursor.expect("MATCHED")
    condition = cursor.read_expression() if cursor.accept("AND") else None
    cursor.expect("THEN")
    if not matched:
        return _insert_case(cursor, condition, location)
    if cursor.expect("DELETE", "UPDATE") == "DELETE":
        return MergeCase(True, "DELETE", condition, (), (), (), location)
    cursor.expect("SET")
    return MergeCase(True, "UPDATE", condition, _assignments(cursor), (), (), location)


def _insert_case(cursor: Cursor, condition: Expression | None, location: ErrorLocation) -> MergeCase:
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
    values = [cursor.read_expression()]
    while cursor.expect(",", ")") == ",":
        values.append(cursor.read_expression())
    return MergeCase(False, "INSERT", condition, (), tuple(columns), tuple(values), location)

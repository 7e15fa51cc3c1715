"""CREATE, DROP, ALTER and SHOW CREATE of materialized views. Texts: Presto's ``CreateMaterializedViewTask``.

The stored query names its relations in full where they would mean others under the view's own catalog and schema: that
is how Presto reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from coordinator.analyzer.constants import evaluate_constant
from coordinator.connectors.registry import Catalogs
from coordinator.planner.ddl import change_statement, nothing_to_do, require_schema
from coordinator.planner.guard import current_guard
from coordinator.planner.object_names import ObjectName, connector_of, editable, object_name
from coordinator.planner.properties import evaluate_properties
from coordinator.planner.query.materialized import Definition, base_tables, materialized_views_of
from coordinator.planner.query.planner import QueryPlanner
from coordinator.planner.show_create import one_text, qualified, with_properties
from coordinator.planner.show_create import string as quoted
from coordinator.planner.views import defining_query, view_columns
from coordinator.sql import ddl_statements as sql
from coordinator.sql.tree.expressions import Expression
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.accesses import CreateTable, TableName
from shared.spi.catalog_changes import (
    MaterializedViewChange,
    MaterializedViewCreation,
    MaterializedViewRemoval,
    NewColumn,
    TableCreation,
    ViewRename,
)
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.materialized_views import BaseTable, Materialization, RefreshType, StaleReads
from shared.spi.session import Session
from shared.units import format_duration, parse_duration

_KIND = "materialized view"
_SETTINGS = {
    "stale_read_behavior": "stale_reads",
    "staleness_window": "staleness_window",
    "refresh_type": "refresh_type",
    "automatic_refresh": "automatic_refresh",
}
"""Properties that are no properties of the storage table, and their fields."""
_STALE_READS, _REFRESH_TYPES = ("USE_VIEW_QUERY", "FAIL"), ("INCREMENTAL", "FULL")


def plan_create(statement: sql.CreateMaterializedView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError: the name is taken, the query is wrong, or its rows depend on more than on tables."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    source = materialized_views_of(catalogs, name.catalog)
    if statement.or_replace and statement.if_not_exists:
        message = "'CREATE OR REPLACE' and 'IF NOT EXISTS' clauses can not be used together"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    existing = catalogs.view(name.catalog, name.schema, name.name)
    if existing is not None and existing.materialized is not None and statement.if_not_exists:
        return nothing_to_do("CREATE MATERIALIZED VIEW")
    planner = QueryPlanner(replace(session, functions=()), catalogs, (statement.query_tree,))
    planner.expanding = True
    if statement.or_replace:
        planner.replaced_view = (name.catalog, name.schema, name.name)
    definition = planner.definition_of_query(statement.query_tree)
    _require_lasting(statement, definition)
    columns = view_columns(definition.plan, statement.location)
    require_schema(name.catalog, name.schema, catalogs)
    _refuse_taken(name, existing, catalogs, replaces=statement.or_replace)
    given = evaluate_properties(
        statement.properties, source.materialized_view_properties(), _KIND, name.catalog, session
    )
    kept = _clauses(statement, session, _settings(given, _no_settings(name, given, source.storage_name(name.name))))
    if {"storage_schema", "storage_table"} & given.keys():
        storage = TableName(name.catalog, kept.storage_schema, kept.storage_table)
        current_guard(session).ask(CreateTable(storage))
        require_schema(name.catalog, kept.storage_schema, catalogs)
    view = ViewMetadata(
        name.catalog,
        name.schema,
        name.name,
        in_full(statement, planner, (name.catalog, name.schema)),
        columns,
        name.catalog,
        name.schema,
        owner=session.user,
        security=statement.security or "DEFINER",
        comment=statement.comment,
        materialized=replace(kept, base_tables=_not_read_yet(definition, name.catalog)),
    )
    change = MaterializedViewCreation(view, _storage(kept, columns, given, statement.comment), statement.or_replace)
    editable(connector, "creating materialized views").validate(change)
    planned = change_statement(name.catalog, change, "CREATE MATERIALIZED VIEW")
    return replace(planned, defining=defining_query(definition.plan, definition.scans))


def _not_read_yet(definition: Definition, catalog: str) -> tuple[BaseTable, ...]:
    return tuple(BaseTable(base.schema, base.table) for base in base_tables(definition, catalog))


def _require_lasting(statement: sql.CreateMaterializedView, definition: Definition) -> None:
    if not definition.lasting:
        message = (
            "The query of a materialized view cannot depend on the time, on chance, or on a version of a table "
            "or its files"
        )
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)
    if definition.of_user:
        message = "The query of a materialized view cannot depend on who asks (current_user)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message, location=statement.location)


def _refuse_taken(name: ObjectName, existing: ViewMetadata | None, catalogs: Catalogs, *, replaces: bool) -> None:
    if catalogs.connector(name.catalog).table(name.schema, name.name) is not None:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Table already exists: {name.schema}.{name.name}")
    if existing is None:
        return
    if existing.materialized is None:
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"View already exists: {name.schema}.{name.name}")
    if not replaces:
        message = f"Materialized view '{name}' already exists"
        raise ProcessionError(ErrorCode.ALREADY_EXISTS, message)


def _no_settings(name: ObjectName, given: Mapping[str, object], usual: str) -> Materialization:
    schema, table = given.get("storage_schema"), given.get("storage_table")
    return Materialization(str(schema or name.schema).lower(), str(table or usual).lower(), ())


def _storage(
    kept: Materialization, columns: tuple[ViewColumn, ...], given: Mapping[str, object], comment: str | None
) -> TableCreation:
    of_table = {k: v for k, v in given.items() if k not in (*_SETTINGS, "storage_schema", "storage_table")}
    made = tuple(NewColumn(column.name, column.type) for column in columns)
    return TableCreation(kept.storage_schema, kept.storage_table, made, of_table, comment)


def _settings(given: Mapping[str, object], kept: Materialization) -> Materialization:
    """With the settings that are given, of which None is what a new one has. Raises INVALID_TABLE_PROPERTY."""
    if taken_back := {_SETTINGS[name] for name, value in given.items() if value is None and name in _SETTINGS}:
        new = Materialization(kept.storage_schema, kept.storage_table, ())
        kept = replace(kept, **{field: getattr(new, field) for field in taken_back})
        given = {name: value for name, value in given.items() if value is not None}
    if "stale_read_behavior" in given:
        value = _one_of("stale_read_behavior", given, _STALE_READS)
        kept = replace(kept, stale_reads=cast(StaleReads, value))
    if "refresh_type" in given:
        kept = replace(kept, refresh_type=cast(RefreshType, _one_of("refresh_type", given, _REFRESH_TYPES)))
    if "staleness_window" in given:
        try:
            kept = replace(kept, staleness_window=parse_duration(str(given["staleness_window"])))
        except ValueError as error:
            raise _invalid("staleness_window", str(error)) from error
    if "automatic_refresh" in given:
        kept = replace(kept, automatic_refresh=bool(given["automatic_refresh"]))
    # Presto reads the window only beside a behavior.
    return replace(kept, stale_reads="USE_VIEW_QUERY") if kept.staleness_window and not kept.stale_reads else kept


def _one_of(name: str, given: Mapping[str, object], known: tuple[str, ...]) -> str:
    value = str(given[name]).upper()
    if value not in known:
        raise _invalid(name, f"{given[name]} is none of {', '.join(known)}")
    return value


def _invalid(name: str, why: str) -> ProcessionError:
    message = f"Invalid value for {_KIND} property '{name}': {why}"
    return ProcessionError(ErrorCode.INVALID_TABLE_PROPERTY, message)


def _clauses(statement: sql.CreateMaterializedView, session: Session, kept: Materialization) -> Materialization:
    """With Trino's clauses; each beside its property is an error."""
    given = {each.name for each in statement.properties}
    if statement.when_stale is not None:
        if "stale_read_behavior" in given:
            raise _invalid("stale_read_behavior", "WHEN STALE says it, too")
        behavior: StaleReads = "FAIL" if statement.when_stale == "FAIL" else "USE_VIEW_QUERY"
        kept = replace(kept, stale_reads=behavior)
    if statement.grace_period is not None:
        if "staleness_window" in given:
            raise _invalid("staleness_window", "GRACE PERIOD says it, too")
        window = _seconds(statement.grace_period, statement.location, session)
        kept = replace(kept, staleness_window=window, stale_reads=kept.stale_reads or "USE_VIEW_QUERY")
    return kept


def _seconds(interval: Expression, location: ErrorLocation, session: Session) -> float:
    value = evaluate_constant(interval, "interval day to second", session)
    seconds = getattr(value, "total_seconds", lambda: cast(int, value) / 1000)()
    if seconds < 0:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, "Grace period cannot be negative", location=location)
    return float(seconds)


def in_full(statement: sql.CreateMaterializedView, planner: QueryPlanner, home: tuple[str, str]) -> str:
    """The query's text, in which names that would mean something else under ``home`` have their catalog and schema."""
    lines = statement.query.split("\n")
    start = statement.query_tree_start
    for (line, column), (parts, catalog, schema) in sorted(planner.findings.names.items(), reverse=True):
        prefix = ((catalog, schema) if parts == 1 else (catalog,)) if parts < 3 else ()
        if not prefix or (catalog, schema)[: 3 - parts] == home[: 3 - parts]:
            continue
        row = line - start.line
        at = column - 1 - (start.column - 1 if row == 0 else 0)
        written = "".join(f"{qualified((each,))}." for each in prefix)
        lines[row] = lines[row][:at] + written + lines[row][at:]
    return "\n".join(lines).rstrip("; \n\t")


def existing_materialized_view(
    name: ObjectName, location: ErrorLocation, catalogs: Catalogs, *, if_exists: bool = False
) -> ViewMetadata | None:
    """Raises ProcessionError where there is none, or something else has the name."""
    connector = connector_of(name.catalog, location, catalogs)
    view = catalogs.view(name.catalog, name.schema, name.name)
    if view is not None and view.materialized is not None:
        return view
    message = f"Materialized view '{name}' does not exist"
    if view is not None or connector.table(name.schema, name.name) is not None:
        other = "table" if view is None else "view"
        message += f", but a {other} with that name exists."
    elif if_exists:
        return None
    raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)


def plan_drop(statement: sql.DropMaterializedView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    name = object_name(statement.name, statement.location, session)
    if existing_materialized_view(name, statement.location, catalogs, if_exists=statement.if_exists) is None:
        return nothing_to_do("DROP MATERIALIZED VIEW")
    change = MaterializedViewRemoval(name.schema, name.name, statement.if_exists)
    return change_statement(name.catalog, change, "DROP MATERIALIZED VIEW")


def plan_rename(statement: sql.RenameMaterializedView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """The storage table keeps its name."""
    name = object_name(statement.name, statement.location, session)
    if existing_materialized_view(name, statement.location, catalogs, if_exists=statement.if_exists) is None:
        return nothing_to_do("RENAME MATERIALIZED VIEW")
    parts = statement.new_name
    target = object_name((*(name.catalog, name.schema)[: 3 - len(parts)], *parts), statement.location, session)
    problem = None
    if target.catalog != name.catalog:
        problem = "Materialized view rename across catalogs is not supported"
    elif target.schema != name.schema:
        problem = "Materialized view rename across schemas is not supported"  # its names would mean others
    elif catalogs.view(target.catalog, target.schema, target.name) is not None:
        problem = f"Target materialized view '{target}' already exists"
    elif catalogs.connector(target.catalog).table(target.schema, target.name) is not None:
        problem = f"Target materialized view '{target}' does not exist, but a table with that name exists."
    if problem is not None:
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, problem, location=statement.location)
    change = ViewRename(name.schema, name.name, target.schema, target.name)
    editable(catalogs.connector(name.catalog), "renaming materialized views").validate(change)
    return change_statement(name.catalog, change, "RENAME MATERIALIZED VIEW")


def plan_set_properties(
    statement: sql.SetMaterializedViewProperties, session: Session, catalogs: Catalogs
) -> PlannedStatement:
    """Of the settings alone; where rows are stored stays. Raises ProcessionError."""
    name = object_name(statement.name, statement.location, session)
    view = existing_materialized_view(name, statement.location, catalogs, if_exists=statement.if_exists)
    if view is None:
        return nothing_to_do("SET MATERIALIZED VIEW PROPERTIES")
    assert view.materialized is not None
    declared = materialized_views_of(catalogs, name.catalog).materialized_view_properties()
    given = evaluate_properties(statement.properties, declared, _KIND, name.catalog, session, of_new=False)
    for each in given:
        if each not in _SETTINGS:
            message = f"Materialized view property is not updatable: {each}"
            raise ProcessionError(ErrorCode.INVALID_TABLE_PROPERTY, message)
    changed = replace(view, materialized=_settings(given, view.materialized))
    return change_statement(name.catalog, MaterializedViewChange(changed, view), "SET MATERIALIZED VIEW PROPERTIES")


def show_create(statement: sql.ShowCreateMaterializedView, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError when there is no such materialized view."""
    name = object_name(statement.name, statement.location, session)
    view = existing_materialized_view(name, statement.location, catalogs)
    assert view is not None
    assert view.materialized is not None
    kept = view.materialized
    connector = editable(catalogs.connector(name.catalog), "SHOW CREATE")
    table = connector.definition(kept.storage_schema, kept.storage_table)
    of_table = {} if table is None else {k: v for k, v in table.properties.items() if k != "location"}
    own: dict[str, object | None] = {
        "storage_schema": kept.storage_schema,
        "storage_table": kept.storage_table,
        "stale_read_behavior": kept.stale_reads,
        "staleness_window": None if kept.staleness_window is None else format_duration(kept.staleness_window),
        "refresh_type": kept.refresh_type,
        "automatic_refresh": kept.automatic_refresh or None,
    }
    said = {**of_table, **{k: v for k, v in own.items() if v is not None}}
    comment = "" if view.comment is None else f"\nCOMMENT {quoted(view.comment)}"
    written = qualified((name.catalog, name.schema, name.name))
    text = f"CREATE MATERIALIZED VIEW {written}{comment}\nSECURITY {view.security}{with_properties(said)}\nAS\n"
    return one_text("Create Materialized View", text + view.definition)

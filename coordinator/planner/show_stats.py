"""SHOW STATS FOR a table, or for ``(SELECT columns FROM table WHERE …)``, in Presto's eight columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import cast

from coordinator.connectors.registry import Catalogs
from coordinator.planner.guard import current_guard
from coordinator.planner.object_names import ObjectName, connector_of, existing_table, object_name
from coordinator.planner.statistics_filter import not_pushed_down, statistics_filter
from coordinator.sql.ddl_statements import ShowStats
from coordinator.sql.tree.expressions import Identifier
from coordinator.sql.tree.names import qualified_name
from coordinator.sql.tree.queries import AllColumns, Query, QuerySpecification, Table
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.access_control import ViewExpression
from shared.spi.accesses import SelectFromColumns, TableName
from shared.spi.connector import TableMetadata
from shared.spi.session import Session
from shared.spi.table_statistics import ColumnStatistics, FilteredStatistics, StatisticsSource, TableStatistics
from shared.spi.table_writes import RowFilter

_COLUMNS = (
    Column("column_name", "varchar"),
    Column("data_size", "double"),
    Column("distinct_values_count", "double"),
    Column("nulls_fraction", "double"),
    Column("row_count", "double"),
    Column("low_value", "varchar"),
    Column("high_value", "varchar"),
    Column("histogram", "varchar"),
)


def plan_show_stats(statement: ShowStats, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError for a missing table, and for queries that are more than columns of one table."""
    parts, named, where = statement.table, None, None
    if statement.query is not None:
        parts, named = _of_query(statement.query, statement.location)
        where = statement.query.body.where if isinstance(statement.query.body, QuerySpecification) else None
    name = object_name(parts, statement.location, session)
    table = existing_table(name, statement.location, catalogs)
    wanted = None if named is None else _resolved(named, name, table)
    guard = current_guard(session)
    rows_of = None if where is None else statistics_filter(where, name, table, session, catalogs)
    filtered = set() if rows_of is None else set(rows_of.columns.values())
    columns = [c for c in table.columns if not c.hidden]
    shown_names = [c.name for c in columns if wanted is None or c.name in wanted or c.name in filtered]
    read = TableName(name.catalog, table.schema.lower(), (table.tells_of or table.name).lower())
    guard.ask(SelectFromColumns(read, tuple(n.lower() for n in shown_names)))
    masks = guard.column_masks(read, {c.name: c.type for c in table.columns if c.name in shown_names}, guard.reader)
    filters = guard.row_filters(read, guard.reader)
    if rows_of is not None and (filters or filtered & set(masks)):
        # How many rows a value has, and that metadata decides it, would tell what is hidden.
        raise not_pushed_down(statement.location)
    connector = connector_of(name.catalog, statement.location, catalogs)
    found = _known(connector, name, table, rows_of, statement.location)
    found = _as_seen(found, table, filters, masks)
    shown = [_row(c) for c in found.columns if wanted is None or c.column in wanted]
    total = (None, None, None, None, None if found.rows is None else float(found.rows), None, None, None)
    return PlannedStatement("DESCRIBE", _COLUMNS, ReturnRows((*shown, total)))


def _known(
    connector: object, name: ObjectName, table: TableMetadata, rows_of: RowFilter | None, location: ErrorLocation
) -> TableStatistics:
    found: TableStatistics | None = None
    if rows_of is not None:
        if isinstance(connector, FilteredStatistics):
            found = connector.filtered_statistics(name.schema, name.name, rows_of)
        if found is None:
            raise not_pushed_down(location)
    elif hasattr(connector, "statistics"):
        found = cast(StatisticsSource, connector).statistics(name.schema, name.name)
    if found is None:
        rows = None if table.row_count is None else float(table.row_count)
        found = TableStatistics(rows, tuple(ColumnStatistics(c.name) for c in table.columns if not c.hidden))
    return found


def _as_seen(
    found: TableStatistics,
    table: TableMetadata,
    filters: Sequence[ViewExpression],
    masks: Collection[str],
) -> TableStatistics:
    """Of a table that is read through a row filter nothing is known, and of masked columns neither."""
    if table.tells_of is not None or not (filters or masks):
        return found
    hidden = {c.column for c in found.columns} if filters else set(masks)
    columns = tuple(ColumnStatistics(c.column) if c.column in hidden else c for c in found.columns)
    return replace(found, rows=None if filters else found.rows, columns=columns)


def _row(column: ColumnStatistics) -> tuple[object, ...]:
    return (
        column.column,
        column.data_size,
        column.distinct_values,
        column.nulls_fraction,
        None,
        column.low,
        column.high,
        None,
    )


def _resolved(named: Sequence[tuple[Identifier, ...]], table: ObjectName, known: TableMetadata) -> set[str]:
    """The columns that a query names. Raises SYNTAX_ERROR, located, for what is no column of its table."""
    columns = {c.name.lower(): c.name for c in known.columns if not c.hidden}
    relation = (table.catalog, table.schema, table.name)
    found = set()
    for name in named:
        *prefix, column = (part.value.lower() for part in name)
        if column not in columns or tuple(prefix) != relation[len(relation) - len(prefix) :]:
            message = f"{'' if prefix else 'Column '}'{'.'.join((*prefix, column))}' cannot be resolved"
            place = ErrorLocation(name[0].location.line, name[0].location.column)
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=place)
        found.add(columns[column])
    return found


def _of_query(tree: Query, location: ErrorLocation) -> tuple[tuple[str, ...], Sequence[tuple[Identifier, ...]] | None]:
    """The table and the columns of a query; None for all of them."""
    block = tree.body
    if not isinstance(block, QuerySpecification) or not isinstance(block.from_, Table) or not _plain(tree, block):
        message = "Only SELECT of columns of one table is supported in SHOW STATS"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
    parts = tuple(part.value.lower() for part in block.from_.name)
    names: list[tuple[Identifier, ...]] = []
    for item in block.select:
        if isinstance(item, AllColumns):
            return parts, None
        name = qualified_name(item.expression)
        if name is None or item.alias is not None:
            message = "Only table columns names are supported in SHOW STATS SELECT clause"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=location)
        names.append(name)
    return parts, names


def _plain(tree: Query, block: QuerySpecification) -> bool:
    more = (tree.with_, block.group_by, block.having, block.order_by, block.offset, block.limit)
    return not block.distinct and not block.windows and all(part is None for part in more)

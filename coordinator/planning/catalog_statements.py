"""Which function plans which statement about tables, schemas, views and their rows: one line each."""

from __future__ import annotations

from typing import assert_never

from coordinator.connectors.registry import Catalogs
from coordinator.planner import (
    alter,
    analyze,
    authorization,
    ddl,
    managed_catalogs,
    materialized_views,
    merge,
    refresh,
    row_changes,
    show_create,
    show_stats,
    views,
    writes,
)
from coordinator.planner.writes import PlannedWrite
from coordinator.sql import ddl_statements as sql
from coordinator.sql.dml_statements import Delete, DmlStatement, Insert, Merge, Update
from coordinator.sql.statements import ShowCreateTable
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.spi.session import Session

TableStatement = (
    sql.CreateTable
    | sql.DropTable
    | sql.TruncateTable
    | sql.RenameTable
    | sql.Analyze
    | sql.ShowStats
    | ShowCreateTable
)
AlterStatement = (
    sql.AddColumn | sql.DropColumn | sql.RenameColumn | sql.AlterColumn | sql.SetTableProperties | sql.CommentOn
)
SchemaStatement = (
    sql.CreateCatalog
    | sql.AlterCatalog
    | sql.DropCatalog
    | sql.CreateSchema
    | sql.DropSchema
    | sql.RenameSchema
    | sql.ShowCreateSchema
    | sql.CreateView
    | sql.DropView
    | sql.RenameView
    | sql.SetAuthorization
    | sql.ShowCreateView
)
MaterializedViewStatement = (
    sql.CreateMaterializedView
    | sql.DropMaterializedView
    | sql.RenameMaterializedView
    | sql.SetMaterializedViewProperties
    | sql.ShowCreateMaterializedView
)
CatalogStatement = TableStatement | AlterStatement | SchemaStatement | MaterializedViewStatement
WriteStatement = sql.CreateTableAs | sql.RefreshMaterializedView | DmlStatement


def plan_of_catalog(statement: CatalogStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Statements that define, and those that show a definition."""
    if isinstance(statement, TableStatement):
        return _plan_of_table(statement, session, catalogs)
    if isinstance(statement, AlterStatement):
        return _plan_of_alter(statement, session, catalogs)
    if isinstance(statement, MaterializedViewStatement):
        return _plan_of_materialized_view(statement, session, catalogs)
    return _plan_of_schema(statement, session, catalogs)


def _plan_of_table(statement: TableStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Statements about a table as a whole."""
    match statement:
        case sql.CreateTable():
            return ddl.plan_create_table(statement, session, catalogs)
        case sql.DropTable():
            return ddl.plan_drop_table(statement, session, catalogs)
        case sql.TruncateTable():
            return ddl.plan_truncate(statement, session, catalogs)
        case sql.RenameTable():
            return ddl.plan_rename_table(statement, session, catalogs)
        case sql.Analyze():
            return analyze.plan_analyze(statement, session, catalogs)
        case sql.ShowStats():
            return show_stats.plan_show_stats(statement, session, catalogs)
        case ShowCreateTable():
            return show_create.show_create_table(statement, session, catalogs)
        case _:
            assert_never(statement)


def _plan_of_alter(statement: AlterStatement, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Statements that change the columns, properties and comments of a table."""
    match statement:
        case sql.AddColumn():
            return alter.plan_add_column(statement, session, catalogs)
        case sql.DropColumn():
            return alter.plan_drop_column(statement, session, catalogs)
        case sql.RenameColumn():
            return alter.plan_rename_column(statement, session, catalogs)
        case sql.AlterColumn():
            return alter.plan_alter_column(statement, session, catalogs)
        case sql.SetTableProperties():
            return alter.plan_set_properties(statement, session, catalogs)
        case sql.CommentOn():
            return alter.plan_comment(statement, session, catalogs)
        case _:
            assert_never(statement)


def _plan_of_schema(  # noqa: C901 - one case a kind
    statement: SchemaStatement, session: Session, catalogs: Catalogs
) -> PlannedStatement:
    """Statements that make, change or describe a catalog, a schema or a view."""
    match statement:
        case sql.CreateCatalog():
            return managed_catalogs.plan_create_catalog(statement, session, catalogs)
        case sql.AlterCatalog():
            return managed_catalogs.plan_alter_catalog(statement, session, catalogs)
        case sql.DropCatalog():
            return managed_catalogs.plan_drop_catalog(statement, catalogs)
        case sql.CreateSchema():
            return ddl.plan_create_schema(statement, session, catalogs)
        case sql.DropSchema():
            return ddl.plan_drop_schema(statement, session, catalogs)
        case sql.RenameSchema():
            return ddl.plan_rename_schema(statement, session, catalogs)
        case sql.ShowCreateSchema():
            return show_create.show_create_schema(statement, session, catalogs)
        case sql.CreateView():
            return views.plan_create_view(statement, session, catalogs)
        case sql.DropView():
            return views.plan_drop_view(statement, session, catalogs)
        case sql.RenameView():
            return views.plan_rename_view(statement, session, catalogs)
        case sql.SetAuthorization():
            return authorization.plan_set_authorization(statement, session, catalogs)
        case sql.ShowCreateView():
            return views.show_create_view(statement, session, catalogs)
        case _:
            assert_never(statement)


def _plan_of_materialized_view(
    statement: MaterializedViewStatement, session: Session, catalogs: Catalogs
) -> PlannedStatement:
    """Statements about a materialized view but its refresh, which writes rows."""
    match statement:
        case sql.CreateMaterializedView():
            return materialized_views.plan_create(statement, session, catalogs)
        case sql.DropMaterializedView():
            return materialized_views.plan_drop(statement, session, catalogs)
        case sql.RenameMaterializedView():
            return materialized_views.plan_rename(statement, session, catalogs)
        case sql.SetMaterializedViewProperties():
            return materialized_views.plan_set_properties(statement, session, catalogs)
        case sql.ShowCreateMaterializedView():
            return materialized_views.show_create(statement, session, catalogs)
        case _:
            assert_never(statement)


def plan_of_write(statement: WriteStatement, session: Session, catalogs: Catalogs) -> PlannedWrite | PlannedStatement:
    """Statements that write rows."""
    match statement:
        case sql.CreateTableAs():
            return writes.plan_create_table_as(statement, session, catalogs)
        case sql.RefreshMaterializedView():
            return refresh.plan_refresh(statement, session, catalogs)
        case Insert():
            return writes.plan_insert(statement, session, catalogs)
        case Delete():
            return row_changes.plan_delete(statement, session, catalogs)
        case Update():
            return row_changes.plan_update(statement, session, catalogs)
        case Merge():
            return merge.plan_merge(statement, session, catalogs)
        case _:
            assert_never(statement)

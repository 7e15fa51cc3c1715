"""Which function plans which statement: one line each, for those that need only session and catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from coordinator.connectors.registry import Catalogs
from coordinator.planner import alter, analyze, ddl, merge, row_changes, show_create, show_stats, views, writes
from coordinator.planner.planned_statement import PlannedStatement
from coordinator.planner.writes import PlannedWrite
from coordinator.sql import ddl_statements, dml_statements, statements
from shared.spi.session import Session

Planner = Callable[[Any, Session, Catalogs], PlannedStatement]
WritePlanner = Callable[[Any, Session, Catalogs], PlannedWrite | PlannedStatement]

PLANNERS: Mapping[type, Planner] = {
    ddl_statements.CreateSchema: ddl.plan_create_schema,
    ddl_statements.DropSchema: ddl.plan_drop_schema,
    ddl_statements.RenameSchema: ddl.plan_rename_schema,
    ddl_statements.CreateTable: ddl.plan_create_table,
    ddl_statements.DropTable: ddl.plan_drop_table,
    ddl_statements.TruncateTable: ddl.plan_truncate,
    ddl_statements.RenameTable: ddl.plan_rename_table,
    ddl_statements.AddColumn: alter.plan_add_column,
    ddl_statements.DropColumn: alter.plan_drop_column,
    ddl_statements.RenameColumn: alter.plan_rename_column,
    ddl_statements.AlterColumn: alter.plan_alter_column,
    ddl_statements.SetTableProperties: alter.plan_set_properties,
    ddl_statements.CommentOn: alter.plan_comment,
    ddl_statements.CreateView: views.plan_create_view,
    ddl_statements.DropView: views.plan_drop_view,
    ddl_statements.RenameView: views.plan_rename_view,
    ddl_statements.ShowCreateView: views.show_create_view,
    ddl_statements.Analyze: analyze.plan_analyze,
    ddl_statements.ShowStats: show_stats.plan_show_stats,
    ddl_statements.ShowCreateSchema: show_create.show_create_schema,
    statements.ShowCreateTable: show_create.show_create_table,
}

WRITERS: Mapping[type, WritePlanner] = {
    ddl_statements.CreateTableAs: writes.plan_create_table_as,
    dml_statements.Insert: writes.plan_insert,
    dml_statements.Delete: row_changes.plan_delete,
    dml_statements.Update: row_changes.plan_update,
    dml_statements.Merge: merge.plan_merge,
}

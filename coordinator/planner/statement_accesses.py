"""What a statement asks for by its words alone: its objects, whether they exist or not.

What it reads is asked as its queries are planned (``coordinator.planner.guard``), what a procedure does to its table
once the call is bound (``procedure_accesses``).
"""

from __future__ import annotations

from typing import assert_never

from coordinator.planner.object_names import commented, object_name, schema_name
from coordinator.planner.role_accesses import accesses_of_roles
from coordinator.sql import ddl_statements as ddl
from coordinator.sql import statements as sql
from coordinator.sql.dml_statements import Delete, Insert, Merge, Update
from coordinator.sql.function_statements import CreateTemporaryFunction, DropTemporaryFunction
from coordinator.sql.role_statements import RoleStatement
from coordinator.sql.tree.queries import Query
from shared.errors import ErrorLocation
from shared.spi import accesses as of
from shared.spi.session import Session

_OfSchema = ddl.CreateSchema | ddl.DropSchema | ddl.RenameSchema | ddl.ShowCreateSchema
_OfView = ddl.CreateView | ddl.DropView | ddl.RenameView | ddl.ShowCreateView
_OfMaterializedView = (
    ddl.CreateMaterializedView
    | ddl.RefreshMaterializedView
    | ddl.DropMaterializedView
    | ddl.RenameMaterializedView
    | ddl.SetMaterializedViewProperties
    | ddl.ShowCreateMaterializedView
)
_OfTable = ddl.CreateTable | ddl.CreateTableAs | ddl.DropTable | ddl.TruncateTable | ddl.RenameTable
_OfColumns = ddl.AddColumn | ddl.DropColumn | ddl.RenameColumn | ddl.AlterColumn
_Write = Insert | Delete | Update | Merge


def accesses_of(statement: sql.Statement, session: Session) -> tuple[of.Access, ...]:  # noqa: C901 - one case a kind
    """In the order in which they are asked. Raises ProcessionError for a name without a catalog or schema."""
    if isinstance(statement, RoleStatement):
        return accesses_of_roles(statement, session)
    if isinstance(statement, _OfMaterializedView):
        return _of_materialized_view(statement, session)
    match statement:
        case ddl.CreateCatalog():
            return (of.CreateCatalog(statement.name),)
        case ddl.AlterCatalog():
            # It is as if the catalog were dropped and made again.
            return (of.DropCatalog(statement.name), of.CreateCatalog(statement.name))
        case ddl.DropCatalog():
            return (of.DropCatalog(statement.name),)
        case ddl.CreateSchema() | ddl.DropSchema() | ddl.RenameSchema() | ddl.ShowCreateSchema():
            return (_of_schema(statement, session),)
        case ddl.CreateView() | ddl.DropView() | ddl.RenameView() | ddl.ShowCreateView():
            return (_of_view(statement, session),)
        case ddl.CreateTable() | ddl.CreateTableAs() | ddl.DropTable() | ddl.TruncateTable() | ddl.RenameTable():
            return _of_table(statement, session)
        case ddl.AddColumn() | ddl.DropColumn() | ddl.RenameColumn() | ddl.AlterColumn():
            return (_of_columns(statement, session),)
        case Insert() | Delete() | Update() | Merge():
            return _of_write(statement, session)
        case ddl.SetTableProperties() | ddl.ExecuteTableProcedure() | ddl.CommentOn() | ddl.Analyze() | ddl.ShowStats():
            return _of_the_rest(statement, session)
        case ddl.SetAuthorization():
            return (_of_authorization(statement, session),)
        case sql.ShowCreateTable():
            return (of.ShowCreateTable(_table(statement.table, statement.location, session)),)
        case sql.ShowSchemas() | sql.ShowTables() | sql.ShowColumns():
            return _of_show(statement, session)
        case Query() | sql.Explain() | sql.Execute() | sql.ExecuteImmediate() | sql.Call() | sql.OtherStatement():
            return ()  # asked where they are planned, as the statements inside them
        case CreateTemporaryFunction() | DropTemporaryFunction():
            return ()  # the client's own; what a call of it computes is asked for where it stands
        case sql.Prepare() | sql.Deallocate() | sql.DescribeInput() | sql.DescribeOutput():
            return ()
        case sql.SetSession() | sql.ResetSession() | sql.Use() | sql.ShowCatalogs() | sql.ShowSession():
            return ()
        case sql.ShowFunctions() | sql.StartTransaction() | sql.Commit() | sql.Rollback():
            return ()
        case _:
            assert_never(statement)


def _table(parts: tuple[str, ...], location: ErrorLocation, session: Session) -> of.TableName:
    name = object_name(parts, location, session)
    return of.TableName(name.catalog, name.schema, name.name)


def _of_schema(statement: _OfSchema, session: Session) -> of.Access:
    schema = of.SchemaName(*schema_name(statement.name, statement.location, session))
    match statement:
        case ddl.CreateSchema():
            return of.CreateSchema(schema)
        case ddl.DropSchema():
            return of.DropSchema(schema)
        case ddl.RenameSchema():
            return of.RenameSchema(schema, statement.new_name.lower())
        case ddl.ShowCreateSchema():
            return of.ShowCreateSchema(schema)
        case _:
            assert_never(statement)


def _of_view(statement: _OfView, session: Session) -> of.Access:
    view = _table(statement.name, statement.location, session)
    match statement:
        case ddl.CreateView():
            return of.CreateView(view)
        case ddl.DropView():
            return of.DropView(view)
        case ddl.RenameView():
            return of.RenameView(view, _renamed(view, statement.new_name, statement.location, session))
        case ddl.ShowCreateView():
            return of.ShowCreateTable(view)
        case _:
            assert_never(statement)


def _of_materialized_view(statement: _OfMaterializedView, session: Session) -> tuple[of.Access, ...]:
    view = _table(statement.name, statement.location, session)
    match statement:
        case ddl.CreateMaterializedView():
            # Its planner asks for the storage table, whose name its properties may say.
            return (of.CreateView(view), of.CreateTable(view))
        case ddl.RefreshMaterializedView():
            return (of.RefreshMaterializedView(view),)
        case ddl.DropMaterializedView() | ddl.SetMaterializedViewProperties():
            return (of.DropView(view),)
        case ddl.RenameMaterializedView():
            return (of.RenameView(view, _renamed(view, statement.new_name, statement.location, session)),)
        case ddl.ShowCreateMaterializedView():
            return (of.ShowCreateTable(view),)
        case _:
            assert_never(statement)


def _renamed(old: of.TableName, new_name: tuple[str, ...], location: ErrorLocation, session: Session) -> of.TableName:
    return _table((*(old.catalog, old.schema)[: 3 - len(new_name)], *new_name), location, session)


def _of_table(statement: _OfTable, session: Session) -> tuple[of.Access, ...]:
    table = _table(statement.name, statement.location, session)
    match statement:
        case ddl.CreateTable():
            likes = [e for e in statement.elements if isinstance(e, ddl.LikeClause)]
            return (of.CreateTable(table), *(_like(clause, session) for clause in likes))
        case ddl.CreateTableAs(or_replace=replaces):
            return (of.DropTable(table), of.CreateTable(table)) if replaces else (of.CreateTable(table),)
        case ddl.DropTable():
            return (of.DropTable(table),)
        case ddl.TruncateTable():
            return (of.TruncateTable(table),)
        case ddl.RenameTable():
            return (of.RenameTable(table, _renamed(table, statement.new_name, statement.location, session)),)
        case _:
            assert_never(statement)


def _like(clause: ddl.LikeClause, session: Session) -> of.Access:
    table = _table(clause.table, clause.location, session)
    return of.ShowCreateTable(table) if clause.including_properties else of.ShowColumns(table)


def _of_columns(statement: _OfColumns, session: Session) -> of.Access:
    table = _table(statement.table, statement.location, session)
    match statement:
        case ddl.AddColumn():
            return of.AddColumn(table)
        case ddl.DropColumn():
            return of.DropColumn(table)
        case ddl.RenameColumn():
            return of.RenameColumn(table)
        case ddl.AlterColumn():
            return of.AlterColumn(table)
        case _:
            assert_never(statement)


def _of_write(statement: _Write, session: Session) -> tuple[of.Access, ...]:
    table = _table(statement.name, statement.location, session)
    match statement:
        case Insert():
            return (of.InsertIntoTable(table),)
        case Delete():
            return (of.DeleteFromTable(table),)
        case Update():
            return (of.UpdateTableColumns(table, tuple(a.column.lower() for a in statement.assignments)),)
        case Merge():
            return _of_merge(statement, table)
        case _:
            assert_never(statement)


def _of_merge(statement: Merge, table: of.TableName) -> tuple[of.Access, ...]:
    """One of each kind, updated columns together."""
    updated = [a.column.lower() for case in statement.cases for a in case.assignments]
    asked: dict[of.Access, None] = {}
    for case in statement.cases:
        match case.action:
            case "INSERT":
                asked[of.InsertIntoTable(table)] = None
            case "DELETE":
                asked[of.DeleteFromTable(table)] = None
            case "UPDATE":
                asked[of.UpdateTableColumns(table, tuple(dict.fromkeys(updated)))] = None
            case _:
                assert_never(case.action)
    return tuple(asked)


def _of_the_rest(
    statement: ddl.SetTableProperties | ddl.ExecuteTableProcedure | ddl.CommentOn | ddl.Analyze | ddl.ShowStats,
    session: Session,
) -> tuple[of.Access, ...]:
    location = statement.location
    match statement:
        case ddl.SetTableProperties():
            names = tuple(p.name for p in statement.properties)
            return (of.SetTableProperties(_table(statement.table, location, session), names),)
        case ddl.ExecuteTableProcedure():
            return (of.ExecuteTableProcedure(_table(statement.table, location, session), statement.procedure),)
        case ddl.CommentOn():
            return (_of_comment(statement, session),)
        case ddl.Analyze():
            table = _table(statement.table, location, session)
            return (of.SelectFromColumns(table, ()), of.InsertIntoTable(table))
        case ddl.ShowStats():
            # Of a query, its planner asks for the columns.
            whole = statement.query is None
            return (of.SelectFromColumns(_table(statement.table, location, session), ()),) if whole else ()
        case _:
            assert_never(statement)


def _of_comment(statement: ddl.CommentOn, session: Session) -> of.Access:
    named = _table(commented(statement)[0], statement.location, session)
    match statement.kind:
        case "TABLE":
            return of.SetTableComment(named)
        case "VIEW":
            return of.SetViewComment(named)
        case "COLUMN":
            return of.SetColumnComment(named)
        case _:
            assert_never(statement.kind)


def _of_authorization(statement: ddl.SetAuthorization, session: Session) -> of.Access:
    match statement.kind:
        case "SCHEMA":
            schema = of.SchemaName(*schema_name(statement.name, statement.location, session))
            return of.SetSchemaAuthorization(schema, statement.principal)
        case "TABLE":
            return of.SetTableAuthorization(_table(statement.name, statement.location, session), statement.principal)
        case "VIEW":
            return of.SetViewAuthorization(_table(statement.name, statement.location, session), statement.principal)
        case _:
            assert_never(statement.kind)


def _of_show(statement: sql.ShowSchemas | sql.ShowTables | sql.ShowColumns, session: Session) -> tuple[of.Access, ...]:
    """A name that is not complete is told by the statement itself, in its own words."""
    match statement:
        case sql.ShowSchemas():
            catalog = statement.catalog or session.catalog
            return () if catalog is None else (of.ShowSchemas(catalog.lower()),)
        case sql.ShowTables():
            schema = _completed((session.catalog, session.schema), statement.schema)
            return () if schema is None else (of.ShowTables(of.SchemaName(*schema)),)
        case sql.ShowColumns():
            table = _completed((session.catalog, session.schema, None), statement.table)
            return () if table is None else (of.ShowColumns(of.TableName(*table)),)
        case _:
            assert_never(statement)


def _completed(defaults: tuple[str | None, ...], written: tuple[str, ...]) -> list[str] | None:
    """The written parts behind as many defaults as are missing before them."""
    parts = [*defaults[: len(defaults) - len(written)], *written] if len(written) <= len(defaults) else []
    return [part.lower() for part in parts if part is not None] if parts and None not in parts else None

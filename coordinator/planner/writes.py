"""INSERT and CREATE TABLE AS: query → TableWriter → TableFinish → Output, with Presto's rules for types.

Source of rules and texts: Presto's ``StatementAnalyzer`` (visitInsert, visitCreateTableAsSelect) and LogicalPlanner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import coerce, constant
from coordinator.expressions.types import INTEGERS, can_coerce, read_type
from coordinator.planner.ddl import refuse_name_of_view, require_schema
from coordinator.planner.incremental import Part
from coordinator.planner.object_names import (
    ObjectName,
    connector_of,
    editable,
    existing_table,
    object_name,
    refuse_reference,
    writable,
    written_name,
)
from coordinator.planner.properties import evaluate_properties
from coordinator.planner.query import known_rows
from coordinator.planner.query.builder import Builder, RelationPlan
from coordinator.planner.query.planner import QueryPlanner
from coordinator.sql.ddl_statements import CreateTableAs
from coordinator.sql.dml_statements import Insert
from coordinator.sql.tree.expressions import Row
from coordinator.sql.tree.queries import Query, Values
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.plan.expressions import RowExpression, Variable
from shared.plan.nodes import OutputNode, PlanNode, TableFinishNode, TableWriterNode, ValuesNode
from shared.plan.traversal import output_variables
from shared.plan.types import Type
from shared.spi.catalog_changes import NewColumn, TableCreation
from shared.spi.connector import ColumnMetadata, TableMetadata
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite

ROWS = (Column("rows", "bigint"),)


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """The plan of a write; ``write`` lacks the engine's text, which is made of the optimized plan.

    ``change`` is the RowChange of a DELETE, UPDATE or MERGE.
    """

    root: OutputNode
    write: TableWrite
    tables: tuple[TableMetadata, ...]
    update_type: str
    change: object | None = None
    table_rows: Mapping[str, int] | None = None
    distinct_values: Mapping[str, float] | None = None
    """As of a query. Of row changes and of refreshes by new rows alone nothing is told: joins stay as they are."""
    notes: tuple[str, ...] = ()
    """What is told of materialized views."""
    merged: Mapping[str, Part] | None = None
    """The columns of a refresh that merges groups, and what becomes of each."""
    warning: str | None = None


def plan_insert(statement: Insert, session: Session, catalogs: Catalogs) -> PlannedWrite:
    """Raises ProcessionError: no such table or column, or types that do not fit."""
    name = object_name(statement.name, statement.location, session)
    table = existing_table(name, statement.location, catalogs, "Inserting into")
    writable(catalogs.connector(name.catalog), "inserts")
    planner = QueryPlanner(session, catalogs, (statement.query,))
    source = planner.plan_query(statement.query, planner.context)
    columns = _insert_columns(statement, table)
    _check_types(source, columns, statement.query, statement.location)
    visible = [c for c in table.columns if not c.hidden]
    root = writer(planner, source, columns, visible)
    target = name.catalog, table.schema, written_name(name, table)
    write = TableWrite(*target, "INSERT", "", "", table.snapshot_id, location=table.location)
    return _of_query(planner, root, write, "INSERT")


def _of_query(planner: QueryPlanner, root: OutputNode, write: TableWrite, update_type: str) -> PlannedWrite:
    rows, distinct = known_rows(planner.scans), planner.distinct_values
    tables = tuple(planner.scans.values())
    return PlannedWrite(root, write, tables, update_type, table_rows=rows, distinct_values=distinct)


def _insert_columns(statement: Insert, table: TableMetadata) -> list[ColumnMetadata]:
    visible = {c.name: c for c in table.columns if not c.hidden}
    if statement.columns is None:
        return list(visible.values())
    seen: set[str] = set()
    for name in statement.columns:
        if name not in visible:
            message = f"Insert column name does not exist in target table: {name}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        if name in seen:
            message = f"Insert column name is specified more than once: {name}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        seen.add(name)
    return [visible[name] for name in statement.columns]


def _check_types(source: RelationPlan, columns: Sequence[ColumnMetadata], tree: Query, location: ErrorLocation) -> None:
    fields = source.visible
    counts = ""
    if len(fields) != len(columns):
        counts = f"Insert query has {len(fields)} expression(s) but expected {len(columns)} target column(s). "
    for i in range(max(len(fields), len(columns))):
        place = _value_location(tree, min(i, len(fields) - 1)) or location
        if i == len(columns):
            message = f"{counts}Mismatch at column {i + 1}"
        elif i == len(fields):
            message = f"{counts}Mismatch at column {i + 1}: '{columns[i].name}'"
        elif not _fits(read_type(fields[i].variable.type), read_type(columns[i].type), tree):
            message = (
                f"{counts}Mismatch at column {i + 1}: '{columns[i].name}' is of type {columns[i].type} "
                f"but expression is of type {fields[i].variable.type}"
            )
        else:
            continue
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=place)


def _fits(actual: Type, expected: Type, tree: Query) -> bool:
    """As Presto has it; and in VALUES decimals without a fraction fit integers, and doubles reals, as by a CAST.

    Python's client of Trino writes every number of a seed as DECIMAL, for which dbt makes integer columns, and every
    float as DOUBLE, for which SQLAlchemy's ``Float`` makes columns of type real.
    """
    if can_coerce(actual, expected):
        return True
    if not isinstance(tree.body, Values):
        return False
    whole = actual.base == "decimal" and actual.parameters[1] == 0
    return (whole and expected.base in INTEGERS) or (actual.base == "double" and expected.base == "real")


def _value_location(tree: Query, position: int) -> ErrorLocation | None:
    """The first row's value of a VALUES, where Presto points then."""
    if not isinstance(tree.body, Values):
        return None
    first = tree.body.rows[0]
    cells = first.items if isinstance(first, Row) else (first,)
    place = cells[min(position, len(cells) - 1)].location
    return ErrorLocation(place.line, place.column)


def writer(
    planner: QueryPlanner, source: RelationPlan, columns: Sequence[ColumnMetadata], visible: Sequence[ColumnMetadata]
) -> OutputNode:
    """The writer over every column of the table: those not written are NULL."""
    builder = Builder(planner.ids, source.node)
    given = {c.name: f.variable for c, f in zip(columns, source.visible, strict=True)}
    values: list[tuple[RowExpression, str]] = []
    for column in visible:
        type_ = read_type(column.type)
        found = given.get(column.name)
        value: RowExpression = constant(None, type_) if found is None else coerce(found, type_, planner.context.zone)
        values.append((value, column.name))
    written = tuple(builder.add_each(values))
    required = tuple(v for v, c in zip(written, visible, strict=True) if not c.nullable)
    return finish(planner, builder.node, written, tuple(c.name for c in visible), required)


def finish(
    planner: QueryPlanner,
    source: PlanNode,
    written: tuple[Variable, ...],
    names: tuple[str, ...],
    required: tuple[Variable, ...] = (),
) -> OutputNode:
    """TableWriter → TableFinish → Output over the rows to write."""
    ids = planner.ids
    writer = TableWriterNode(
        id=ids.node(),
        source=source,
        rowCountVariable=ids.variable("rows", "bigint"),
        fragmentVariable=ids.variable("fragments", "varbinary"),
        tableCommitContextVariable=ids.variable("commitcontext", "varbinary"),
        columns=written,
        columnNames=names,
        notNullColumnVariables=required,
    )
    return rows_output(planner, writer)


def rows_output(planner: QueryPlanner, source: PlanNode) -> OutputNode:
    """TableFinish → Output(rows)."""
    rows = planner.ids.variable("rows", "bigint")
    committed = TableFinishNode(id=planner.ids.node(), source=source, rowCountVariable=rows)
    return OutputNode(id=planner.ids.node(), source=committed, columnNames=("rows",), outputVariables=(rows,))


def plan_create_table_as(
    statement: CreateTableAs, session: Session, catalogs: Catalogs
) -> PlannedWrite | PlannedStatement:
    """A statement without effect when IF NOT EXISTS finds the table. Raises ProcessionError."""
    name = object_name(statement.name, statement.location, session)
    connector = connector_of(name.catalog, statement.location, catalogs)
    found = connector.table(name.schema, name.name)
    if found is not None and not statement.or_replace:
        if statement.if_not_exists:
            return _no_rows()
        message = f"Destination table '{name}' already exists"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    refuse_name_of_view(name, statement.location, catalogs)
    editor = editable(connector, "creating tables")
    writable(connector, "creating tables with data")
    require_schema(name.catalog, name.schema, catalogs)
    given = evaluate_properties(statement.properties, editor.table_properties(), "table", name.catalog, session)
    planner = QueryPlanner(session, catalogs, (statement.query,))
    source = planner.plan_query(statement.query, planner.context)
    columns = _new_columns(statement, source)
    creation = TableCreation(name.schema, name.name, columns, given, statement.comment, statement.if_not_exists)
    if found is not None:
        creation = _replacing(creation, name, found)
    editor.validate(creation)
    root = _filled(planner, source, columns, statement.with_data)
    target = name.catalog, creation.schema, creation.table
    write = TableWrite(*target, "INSERT", "", "", creation=creation, no_rows=not statement.with_data)
    if found is not None:
        own = (found.catalog, found.schema, found.name)
        read = (*planner.scans.values(), *planner.findings.stood_for)
        reads = any((table.catalog, table.schema, table.name) == own for table in read)
        write = replace(write, snapshot_id=found.snapshot_id, location=found.location, reads_target=reads)
    return _of_query(planner, root, write, "CREATE TABLE")


def _replacing(creation: TableCreation, name: ObjectName, found: TableMetadata) -> TableCreation:
    """In the place of a table that is there, by its own spelling. Raises NOT_SUPPORTED."""
    refuse_reference(name, found)
    if creation.properties or creation.comment is not None:
        message = f"Table {name} is there: it is replaced without WITH and COMMENT; set them by themselves"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return replace(creation, schema=found.schema, table=found.name, replaces=True)


def _no_rows() -> PlannedStatement:
    return PlannedStatement("INSERT", ROWS, ReturnRows(((0,),)), update_type="CREATE TABLE")


def _new_columns(statement: CreateTableAs, source: RelationPlan) -> tuple[NewColumn, ...]:
    fields = source.visible
    if statement.columns and len(statement.columns) != len(fields):
        message = f"Column alias list has {len(statement.columns)} entries but relation has {len(fields)} columns"
        raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
    names = statement.columns or tuple(f.name or "" for f in fields)
    made: dict[str, NewColumn] = {}
    for position, (name, field) in enumerate(zip(names, fields, strict=True), start=1):
        folded = name.lower()
        if not folded:
            message = f"Column name not specified at position {position}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        if folded in made:
            message = f"Column name '{folded}' specified more than once"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        if field.variable.type == "unknown":
            message = f"Column type is unknown: {folded}"
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, message, location=statement.location)
        made[folded] = NewColumn(folded, field.variable.type)
    return tuple(made.values())


def _filled(planner: QueryPlanner, source: RelationPlan, columns: tuple[NewColumn, ...], with_data: bool) -> OutputNode:
    node = source.node
    if not with_data:
        node = ValuesNode(id=planner.ids.node(), outputVariables=output_variables(node), rows=())
    builder = Builder(planner.ids, node)
    # A variable stands for one column of the writer; a query may give it twice.
    seen: set[Variable] = set()
    assignments: dict[str, RowExpression] = {}
    written: list[Variable] = []
    for field in source.visible:
        variable = field.variable
        if variable in seen:
            variable = planner.ids.variable(field.variable.name, field.variable.type)
        seen.add(variable)
        written.append(variable)
        assignments[variable.key] = field.variable
    if len({f.variable for f in source.visible}) < len(written):
        builder.project(assignments)
    return finish(planner, builder.node, tuple(written), tuple(c.name for c in columns))

"""What listeners and the history are told of a planned statement, made where it was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from coordinator.explain.json_format import logical_tree
from coordinator.explain.text import logical_text
from coordinator.planner.row_changes import RowChange
from coordinator.planning.definition_facts import defined
from coordinator.planning.lineage import Lineage, in_order
from coordinator.vocabulary.planned_statement import (
    AnalyzeTable,
    CallProcedure,
    ChangeCatalog,
    DefiningQuery,
    ExplainAnalyze,
    ReturnRows,
    Work,
    WriteRows,
)
from coordinator.vocabulary.statement_facts import PlanTexts, StatementFacts
from shared.plan.nodes import PlanNode, TableScanNode, TableWriterNode
from shared.plan.traversal import sources, variable_of_key
from shared.spi.accesses import AskedAccess, CreateViewWithSelectFromColumns, SelectFromColumns, TableName
from shared.spi.connector import TableMetadata
from shared.spi.event_listener import (
    InputColumn,
    LifecycleChange,
    OutputColumn,
    QueryInput,
    QueryIOMetadata,
    QueryOutput,
    SourceColumn,
)
from shared.spi.table_writes import TableWrite

PLAN_LIMIT = 256 << 10
"""Characters of a plan's text, and of its JSON, that are told."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The plans of a statement before and after optimization, and the tables of its scans."""

    initial: PlanNode
    logical: PlanNode
    tables: tuple[TableMetadata, ...] = ()
    change: object | None = None
    """Of an UPDATE, DELETE or MERGE."""


def statement_facts(
    work: Work, planned: Planned | None, asked: Sequence[AskedAccess], defining: DefiningQuery | None = None
) -> StatementFacts:
    """Of any statement. The plan is left out where there is none, and of a query over constants alone."""
    output = _written(work)
    if output is not None and defining is not None:
        output = _defined_by(output, defining)
    if planned is None or (isinstance(work, ReturnRows) and not planned.tables):
        inputs = _asked_tables(asked) if isinstance(work, ChangeCatalog) else _same(output)
        return StatementFacts(QueryIOMetadata(inputs=inputs, output=output))
    inputs = _inputs(planned.tables, asked)
    if output is not None and not isinstance(work, CallProcedure):
        lineage = Lineage(_scanned(planned))
        lineage.walk(planned.initial)
        output = _with_lineage(output, planned, lineage)
    tree = msgspec.json.encode(logical_tree(planned.logical)).decode()
    text = PlanTexts.of(logical_text(planned.logical), tree, PLAN_LIMIT)
    return StatementFacts(QueryIOMetadata(inputs=inputs or _same(output), output=output), text)


def _written(work: Work) -> QueryOutput | None:
    match work:
        case WriteRows():
            return _of_write(work.write)
        case ExplainAnalyze():
            return _written(work.work)
        case AnalyzeTable():
            return QueryOutput(catalog_name=work.catalog, schema=work.schema, table=work.table, operation="ANALYZE")
        case CallProcedure():
            return _of_call(work)
        case ChangeCatalog():
            return defined(work)
        case _:
            return None


def _of_write(write: TableWrite) -> QueryOutput:
    replaced = write.creation is not None and write.creation.replaces
    created = write.creation is not None and not replaced
    lifecycle: LifecycleChange | None = "CREATE" if created else "OVERWRITE" if replaced else None
    return QueryOutput(
        catalog_name=write.catalog,
        schema=write.schema,
        table=write.table,
        operation="CREATE TABLE AS" if created else "CREATE OR REPLACE TABLE AS" if replaced else write.kind,
        snapshot_id=write.snapshot_id,
        created=created,
        lifecycle=lifecycle,
        location=write.location,
    )


def _of_call(work: CallProcedure) -> QueryOutput | None:
    """Calls that only look at something write nothing."""
    schema, table = work.arguments.get("schema"), work.arguments.get("table_name")
    if work.procedure.startswith(("show_", "help", "kill_")) or not isinstance(table, str):
        return None
    snapshot, location = (None, None) if work.target is None else (work.target.snapshot_id, work.target.location)
    return QueryOutput(
        catalog_name=work.catalog,
        schema=str(schema),
        table=table,
        operation=f"CALL {work.procedure}",
        snapshot_id=snapshot,
        location=location,
    )


def _same(output: QueryOutput | None) -> tuple[QueryInput, ...]:
    """A call reads the table that it writes."""
    if output is None or not output.operation.startswith(("CALL", "ANALYZE")):
        return ()
    read = QueryInput(
        catalog_name=output.catalog_name,
        schema=output.schema,
        table=output.table,
        snapshot_id=output.snapshot_id,
        location=output.location,
    )
    return (read,)


def _asked_tables(asked: Sequence[AskedAccess]) -> tuple[QueryInput, ...]:
    """The tables that the query of a view reads, with the columns that were asked for; of no version."""
    named: dict[TableName, dict[str, None]] = {}
    for each in asked:
        if isinstance(each.access, SelectFromColumns | CreateViewWithSelectFromColumns):
            named.setdefault(each.access.table, {}).update(dict.fromkeys(each.access.columns))
    return tuple(
        QueryInput(
            catalog_name=table.catalog,
            schema=table.schema,
            table=table.table,
            columns=tuple(InputColumn(name=name, type="") for name in columns),
        )
        for table, columns in named.items()
    )


def _inputs(tables: Iterable[TableMetadata], asked: Sequence[AskedAccess]) -> tuple[QueryInput, ...]:
    """Each table at each snapshot once, with the columns that were asked for."""
    named: dict[str, dict[str, None]] = {}
    for each in asked:
        if isinstance(each.access, SelectFromColumns | CreateViewWithSelectFromColumns):
            columns = dict.fromkeys(each.access.columns)
            named.setdefault(str(each.access.table), {}).update(columns)
    found: dict[tuple[str, int | None], QueryInput] = {}
    for table in tables:
        name = f"{table.catalog}.{table.schema}.{table.name}"
        if (name, table.snapshot_id) not in found:
            wanted = named.get(name.lower(), {})
            columns_read = tuple(
                InputColumn(name=column.name, type=column.type)
                for column in (*table.columns, *table.hidden_columns)
                if column.name.lower() in wanted
            )
            found[name, table.snapshot_id] = QueryInput(
                catalog_name=table.catalog,
                schema=table.schema,
                table=table.name,
                columns=columns_read,
                snapshot_id=table.snapshot_id,
                location=table.location,
            )
    return tuple(found.values())


def _with_lineage(output: QueryOutput, planned: Planned, lineage: Lineage) -> QueryOutput:
    columns = _row_change(planned, lineage) if isinstance(planned.change, RowChange) else _writer(planned, lineage)
    return QueryOutput(
        catalog_name=output.catalog_name,
        schema=output.schema,
        table=output.table,
        operation=output.operation,
        columns=columns,
        influenced_by=tuple(lineage.influences),
        snapshot_id=output.snapshot_id,
        created=output.created,
        lifecycle=output.lifecycle,
        location=output.location,
    )


def _defined_by(output: QueryOutput, defining: DefiningQuery) -> QueryOutput:
    """A view, with what its columns are made of."""
    lineage = Lineage(_scanned(Planned(defining.root, defining.root, defining.tables)))
    lineage.walk(defining.root)
    columns = tuple(
        OutputColumn(column_name=name, column_type=variable.type, source_columns=in_order(lineage.of(variable)))
        for name, variable in defining.columns
    )
    return msgspec.structs.replace(output, columns=columns, influenced_by=tuple(lineage.influences))


def _writer(planned: Planned, lineage: Lineage) -> tuple[OutputColumn, ...]:
    for node in _nodes(planned.initial):
        if isinstance(node, TableWriterNode):
            return tuple(
                OutputColumn(column_name=name, column_type=v.type, source_columns=in_order(lineage.of(v)))
                for name, v in zip(node.columnNames, node.columns, strict=True)
            )
    return ()


def _row_change(planned: Planned, lineage: Lineage) -> tuple[OutputColumn, ...]:
    """The columns that an UPDATE or MERGE assigns, by all its clauses together."""
    assert isinstance(planned.change, RowChange)
    types = {c.name.lower(): c.type for table in planned.tables for c in table.columns}
    found: dict[str, set[SourceColumn]] = {}
    for clause in planned.change.clauses:
        for column, value in clause.values:
            found.setdefault(column, set()).update(lineage.of(value))
    return tuple(
        OutputColumn(
            column_name=name, column_type=types.get(name.lower(), ""), source_columns=in_order(frozenset(origins))
        )
        for name, origins in found.items()
    )


def _scanned(planned: Planned) -> dict[str, Mapping[str, SourceColumn]]:
    """Columns by scan and variable; a scan is matched to its table by the handle that planning gave it."""
    tables = {id(table.handle): table for table in planned.tables}
    found: dict[str, Mapping[str, SourceColumn]] = {}
    for node in _nodes(planned.initial):
        if isinstance(node, TableScanNode):
            table = tables.get(id(node.table)) or next((t for t in planned.tables if t.handle == node.table), None)
            if table is not None:
                found[node.id] = _columns_of(node, table)
    return found


def _columns_of(scan: TableScanNode, table: TableMetadata) -> dict[str, SourceColumn]:
    columns = (*table.columns, *table.hidden_columns)
    by_identity = {id(column.handle): column.name for column in columns}
    found = {}
    for key, handle in scan.assignments.items():
        name = by_identity.get(id(handle)) or next((c.name for c in columns if c.handle == handle), None)
        if name is not None:
            found[variable_of_key(key).name] = SourceColumn(
                catalog=table.catalog, schema=table.schema, table=table.name, column=name
            )
    return found


def _nodes(root: PlanNode) -> Iterable[PlanNode]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(sources(node))

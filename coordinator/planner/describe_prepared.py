"""DESCRIBE INPUT and DESCRIBE OUTPUT of a prepared statement."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.connectors.registry import Catalogs
from coordinator.expressions.builders import constant
from coordinator.planner.query import plan_query
from coordinator.planner.show import rows_statement
from coordinator.sql.parameters import placeholders
from coordinator.sql.statements import Call, Statement
from coordinator.sql.tree.expressions import Parameter
from coordinator.sql.tree.queries import Query, QuerySpecification, SingleColumn
from coordinator.vocabulary.planned_statement import Column, PlannedStatement
from shared.plan.expressions import Constant, SourceLocation, Variable
from shared.plan.nodes import ExchangeNode, OutputNode, PlanNode, ProjectNode, TableScanNode, ValuesNode
from shared.plan.traversal import expressions, output_variables, sources, variable_of_key, walk, walk_expression
from shared.plan.types import Type, parse_type
from shared.spi.connector import TableMetadata
from shared.spi.session import Session

Origin = tuple[str, str, str]
"""Catalog, schema and table."""
_FIXED_SIZES = {
    "bigint": 8, "integer": 4, "smallint": 2, "tinyint": 1, "double": 8, "real": 4, "boolean": 1, "date": 4, "time": 8,
    "timestamp": 8, "timestamp with time zone": 8, "time with time zone": 8, "interval day to second": 8,
    "interval year to month": 4, "unknown": 1, "uuid": 16, "ipaddress": 16,
}  # fmt: skip
_SHORT_DECIMAL = 18


def describe_input(statement: Statement, prepared: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """A row a parameter with the type, without its own parameters, that it is coerced to; else ``unknown``.

    For a CALL that is the type of the argument. Raises what analyzing the statement raises.
    """
    count = len(placeholders(prepared))
    types = dict.fromkeys(range(count), "unknown")
    if isinstance(statement, Call):
        types |= _of_arguments(statement, session, catalogs)
    elif isinstance(statement, Query) and count:
        types |= _of_query(statement, count, session, catalogs)
    rows = list(types.items())
    if not rows:
        return rows_statement((Column("Position", "unknown"), Column("Type", "unknown")), ())
    return rows_statement((Column("Position", "integer"), _text_column("Type", [type_ for _, type_ in rows])), rows)


def _of_arguments(call: Call, session: Session, catalogs: Catalogs) -> dict[int, str]:
    declared = resolve_procedure(call, session, catalogs).procedure.declaration.arguments
    by_name = {argument.name: argument.type for argument in declared}
    found = {}
    for position, argument in enumerate(call.arguments):
        if isinstance(argument.value, Parameter):
            name = argument.name or (declared[position].name if position < len(declared) else "")
            found[argument.value.position] = by_name.get(name, "unknown")
    return found


def _of_query(query: Query, count: int, session: Session, catalogs: Catalogs) -> dict[int, str]:
    """Each parameter is a NULL with a place of its own, which coercions keep."""
    marked = tuple(
        replace(constant(None, Type("unknown")), sourceLocation=SourceLocation(line=0, column=i)) for i in range(count)
    )
    planned = plan_query(query, session, catalogs, parameters=marked)
    found = {}
    for node in walk(planned.root):
        for expression in expressions(node):
            for part in walk_expression(expression):
                place = part.sourceLocation
                if isinstance(part, Constant) and place is not None and place.line == 0:
                    found[place.column] = parse_type(part.type).base
    return found


def describe_output(
    columns: Sequence[Column], origins: Sequence[Origin | None] = (), aliased: Sequence[bool] = ()
) -> PlannedStatement:
    """A row a result column, with the table that it comes from and whether it was renamed."""
    rows = []
    for i, shown in enumerate(columns):
        origin = (origins[i] if i < len(origins) else None) or ("", "", "")
        rows.append((shown.name, *origin, shown.type, _size(shown.type), i < len(aliased) and aliased[i]))
    names = ("Column Name", "Catalog", "Schema", "Table", "Type")
    if not rows:
        return rows_statement([Column(name, "unknown") for name in (*names, "Type Size", "Aliased")], ())
    texts = [_text_column(name, [str(row[i]) for row in rows]) for i, name in enumerate(names)]
    return rows_statement((*texts, Column("Type Size", "integer"), Column("Aliased", "boolean")), rows)


def origins_of(root: PlanNode, tables: Sequence[TableMetadata]) -> tuple[Origin | None, ...]:
    """Of each result column, the table whose column it is, unchanged."""
    assert isinstance(root, OutputNode)
    return tuple(_origin(root.source, variable.name, tables) for variable in root.outputVariables)


def _origin(node: PlanNode, name: str, tables: Sequence[TableMetadata]) -> Origin | None:
    match node:
        case TableScanNode():
            found = next((t for t in tables if t.handle.connectorHandle == node.table.connectorHandle), None)
            return None if found is None else (found.catalog, found.schema, found.name)
        case ProjectNode():
            assigned = {variable_of_key(key).name: e for key, e in node.assignments.assignments.items()}
            expression = assigned.get(name)
            return _origin(node.source, expression.name, tables) if isinstance(expression, Variable) else None
        case ValuesNode() | ExchangeNode():
            return None
        case _:
            below = [s for s in sources(node) if any(v.name == name for v in output_variables(s))]
            return _origin(below[0], name, tables) if below else None


def aliased_columns(query: Query) -> tuple[bool, ...]:
    """Which columns of a plain SELECT are renamed; nothing for one with ``*``."""
    items = query.body.select if isinstance(query.body, QuerySpecification) else ()
    columns = [item for item in items if isinstance(item, SingleColumn)]
    return tuple(column.alias is not None for column in columns) if len(columns) == len(items) else ()


def _text_column(name: str, values: Sequence[str]) -> Column:
    """As in Presto, whose rows here are literals: as wide as the longest."""
    return Column(name, f"varchar({max(map(len, values))})")


def _size(type_: str) -> int:
    parsed = parse_type(type_)
    if parsed.base == "decimal":
        return 8 if parsed.numbers and parsed.numbers[0] <= _SHORT_DECIMAL else 16
    return _FIXED_SIZES.get(parsed.base, 0)

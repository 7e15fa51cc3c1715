"""DESCRIBE INPUT and DESCRIBE OUTPUT of a prepared statement."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.analyzer.procedure_resolution import resolve_procedure
from coordinator.connectors.registry import Catalogs
from coordinator.planner.planned_statement import Column, PlannedStatement
from coordinator.planner.show import rows_statement
from coordinator.sql.parameters import placeholders
from coordinator.sql.statements import Call, Statement
from coordinator.sql.tokens import tokenize
from shared.plan.types import parse_type
from shared.spi.session import Session

_FIXED_SIZES = {"bigint": 8, "integer": 4, "smallint": 2, "tinyint": 1, "double": 8, "real": 4, "boolean": 1, "date": 4}
_INPUT_COLUMNS = (Column("Position", "integer"), Column("Type", "varchar"))
_OUTPUT_COLUMNS = (
    Column("Column Name", "varchar"),
    Column("Catalog", "varchar"),
    Column("Schema", "varchar"),
    Column("Table", "varchar"),
    Column("Type", "varchar"),
    Column("Type Size", "bigint"),
    Column("Aliased", "boolean"),
)


def describe_input(statement: Statement, prepared: str, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """A row a parameter; the type is that of the procedure argument that the parameter is, else ``unknown``."""
    types = {mark.start: "unknown" for mark in placeholders(tokenize(prepared))}
    if isinstance(statement, Call):
        declared = resolve_procedure(statement, session, catalogs).procedure.declaration.arguments
        by_name = {argument.name: argument.type for argument in declared}
        for position, argument in enumerate(statement.arguments):
            if len(argument.tokens) == 1 and argument.tokens[0].start in types:
                name = argument.name or (declared[position].name if position < len(declared) else "")
                types[argument.tokens[0].start] = by_name.get(name, "unknown")
    return rows_statement(_INPUT_COLUMNS, enumerate(types.values()))


def describe_output(columns: Sequence[Column]) -> PlannedStatement:
    """A row a result column."""
    rows = [(c.name, "", "", "", c.type, _FIXED_SIZES.get(parse_type(c.type).base, 0), False) for c in columns]
    return rows_statement(_OUTPUT_COLUMNS, rows)

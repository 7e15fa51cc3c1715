"""ANALYZE table [WITH (…)]. Texts: Presto's ``StatementAnalyzer`` (visitAnalyze)."""

from __future__ import annotations

from typing import cast

from coordinator.connectors.registry import Catalogs
from coordinator.planner.object_names import existing_table, object_name
from coordinator.planner.properties import evaluate_properties
from coordinator.sql.ddl_statements import Analyze
from coordinator.vocabulary.planned_statement import AnalyzeTable, Column, PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.spi.session import Session
from shared.spi.table_statistics import AnalyzableCatalog


def plan_analyze(statement: Analyze, session: Session, catalogs: Catalogs) -> PlannedStatement:
    """Raises ProcessionError: no such table, a view, a property that is unknown, or a connector without ANALYZE."""
    name = object_name(statement.table, statement.location, session)
    existing_table(name, statement.location, catalogs, "Analyzing")
    connector = catalogs.connector(name.catalog)
    if not hasattr(connector, "analyze"):
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, "This connector does not support analyze")
    declared = cast(AnalyzableCatalog, connector).analyze_properties()
    given = evaluate_properties(statement.properties, declared, "analyze", name.catalog, session)
    work = AnalyzeTable(name.catalog, name.schema, name.name, given)
    return PlannedStatement("ANALYZE", (Column("rows", "bigint"),), work, update_type="ANALYZE")

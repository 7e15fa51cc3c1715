"""Calls that Iceberg's own procedure of the same name answers in Spark, for what our writers do not commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call
from coordinator.connectors.iceberg.rewrite.delegated import presto_error
from coordinator.connectors.iceberg.spark_sql import quoted_name, quoted_path, quoted_string, string_map
from coordinator.connectors.iceberg.table_words import check_for_spark
from coordinator.connectors.iceberg.tables.targets import spelled
from coordinator.kernels.functions.zones import zone_of
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import ProcedureProgress

logger = logging.getLogger(__name__)


def call_spark(
    call: Call[TableArguments], procedure: str, arguments: Mapping[str, object]
) -> Sequence[Mapping[str, Any]]:
    """The rows of ``CALL catalog.system.procedure(table => …)``; None is left out. Raises ProcessionError."""
    table = spark_table(call)
    given = [f"table => {quoted_string(table)}"]
    given += [f"{name} => {literal(value)}" for name, value in arguments.items() if value is not None]
    sql = f"CALL {quoted_name(call.catalog.settings.catalog)}.system.{procedure}({', '.join(given)})"
    call.context.check_cancelled()
    call.context.report(ProcedureProgress(0, 1, f"{procedure} by Iceberg in Spark"))
    rows = run_spark(call, sql, procedure)
    call.context.report(ProcedureProgress(1, 1, f"{procedure} by Iceberg in Spark"))
    return rows


def call_spark_if_any(
    call: Call[TableArguments], procedure: str, arguments: Mapping[str, object]
) -> Sequence[Mapping[str, Any]] | None:
    """As ``call_spark``; None when there is no Spark, and the coordinator does alone what is large."""
    try:
        return call_spark(call, procedure, arguments)
    except ProcessionError as error:
        if error.code is not ErrorCode.NO_NODES_AVAILABLE:
            raise
        logger.info("%s.%s: no Spark, manifests are read here", call.schema, call.table)
        return None


def run_spark(call: Call[TableArguments], sql: str, description: str) -> Sequence[Mapping[str, object]]:
    """The rows of one Spark statement about the call's table; raises ProcessionError with our codes."""
    name = f"{call.schema}.{call.table}"
    table = call.catalog.load(call.schema, call.table)
    if table is not None:
        check_for_spark(table)
    try:
        return call.context.workers.run_sql(sql, description=f"{description} {name}")
    except ProcessionError as error:
        ours = presto_error(error, name)
        if ours is error:
            raise  # with the cause that it has
        raise ours from error


def said_by_spark(error: BaseException) -> str:
    """What Spark said in its own words, with its conditions in brackets, however often it was put in others since."""
    causes, cause = list[str](), error.__cause__
    while cause is not None:
        causes.append(str(cause))
        cause = cause.__cause__
    return "\n".join(causes)


def spark_table(call: Call[TableArguments], schema: str | None = None, table: str | None = None) -> str:
    """The name of a table of the call's catalog for Spark's parser; default: the call's own table."""
    schema, name = call.schema if schema is None else schema, call.table if table is None else table
    own = spelled(call.catalog.load(schema, name), name)
    return quoted_path((call.catalog.settings.catalog, *schema.split("."), own))


def zoned_timestamp(call: Call[TableArguments], value: datetime | None) -> datetime | None:
    """A timestamp argument as a moment; one without a zone is in the session's."""
    if value is None or value.tzinfo is not None:
        return value
    return value.replace(tzinfo=zone_of(call.context.session.time_zone))


def literal(value: object) -> str:
    """A value as Spark writes it; raises ProcessionError for what has no literal."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str():
            return quoted_string(value)
        case tuple() | list():
            return f"array({', '.join(literal(item) for item in value)})"
        case dict():
            return string_map(value)
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC).isoformat(sep=' ', timespec='microseconds')}'"
        case _:
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Spark cannot be given a {type(value).__name__}")

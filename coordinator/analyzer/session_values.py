"""What the session and its clock tell: one value for the whole statement."""

from __future__ import annotations

from datetime import UTC, datetime, timezone
from functools import cache
from importlib import metadata

from coordinator.analyzer.call_binding import unbound
from coordinator.analyzer.context import Analyze, Context
from coordinator.analyzer.typed_literals import timestamp_in_region
from coordinator.expressions.builders import constant
from coordinator.expressions.clock import note_clock
from coordinator.expressions.types import DATE, TIME, TIME_TZ, TIMESTAMP, TIMESTAMP_TZ, VARCHAR
from coordinator.sql.tree.expressions import CurrentTime, FunctionCall
from shared.plan.expressions import RowExpression, type_of

SESSION_FUNCTIONS = ("now", "current_timezone", "current_catalog", "current_schema", "version")
"""Those that are called as functions are."""


def analyze_current(node: CurrentTime, context: Context) -> RowExpression:
    """CURRENT_DATE and its like, CURRENT_USER."""
    if node.precision is not None:
        raise context.error(node, "non-default precision not yet supported")
    if node.function == "current_role":
        raise context.unsupported(node, "CURRENT_ROLE")
    return (
        constant(context.session.user, VARCHAR) if node.function == "current_user" else _clock(node.function, context)
    )


def analyze_session_function(node: FunctionCall, name: str, context: Context, analyze: Analyze) -> RowExpression:
    """A call of one of ``SESSION_FUNCTIONS``."""
    if node.arguments:
        raise unbound(node, name, [type_of(analyze(argument, context)) for argument in node.arguments], context)
    match name:
        case "current_timezone":
            return constant(context.session.time_zone, VARCHAR)
        case "current_catalog":
            return constant(context.session.catalog, VARCHAR)
        case "current_schema":
            return constant(context.session.schema, VARCHAR)
        case "version":  # Trino's; its JDBC driver asks it for the version of the product
            return constant(_installed_version(), VARCHAR)
        case _:
            return _clock("current_timestamp", context)


@cache
def _installed_version() -> str:
    return metadata.version("procession")


def _clock(name: str, context: Context) -> RowExpression:
    note_clock()
    started: datetime = context.session.start.astimezone(context.zone)
    started = started.replace(microsecond=started.microsecond // 1000 * 1000)
    match name:
        case "current_date":
            return constant(started.date(), DATE)
        case "localtimestamp":
            return constant(started.replace(tzinfo=None), TIMESTAMP)
        case "localtime":
            return constant(started.time(), TIME)
        case "current_time":
            offset = timezone(started.utcoffset() or UTC.utcoffset(None))
            return constant(started.timetz().replace(tzinfo=offset), TIME_TZ)
    if isinstance(context.zone, timezone) or started.utcoffset() == UTC.utcoffset(None):
        return constant(started, TIMESTAMP_TZ)
    return timestamp_in_region(started, context.session.time_zone)

"""``FOR TIMESTAMP|VERSION AS OF|BEFORE …`` as the version that a connector is asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from coordinator.analyzer.constants import typed_constant
from coordinator.analyzer.context import Context
from coordinator.expressions.types import type_text
from coordinator.sql.tree.queries import TableVersion
from shared.errors import ErrorCode, ProcessionError
from shared.spi.connector import Before, Connector, Version
from shared.spi.session import Session


def version_in_session(connector: Connector, schema: str, name: str, session: Session) -> Version | None:
    """The branch that the session reads the table at where a statement names none, by its connector."""
    asked: Callable[[str, str, Session], Version | None] | None = getattr(connector, "version_in_session", None)
    return None if asked is None else asked(schema, name, session)


def table_version(node: TableVersion | None, table: str, context: Context) -> Version | None:
    """A snapshot's id, the name of a branch or tag, or a point in time with its zone; None for the current version.

    Raises ProcessionError for an expression of another type, NULL, and what is no constant.
    """
    if node is None:
        return None
    tree = node.expression
    of_time = node.kind == "TIMESTAMP"
    type_, value = typed_constant(tree, context.session, "timestamp with time zone" if of_time else None)
    words = "Supported table version AS OF/BEFORE expression type is"
    wanted = ("timestamp", "timestamp with time zone") if of_time else ("bigint", "varchar")
    if type_.base == "unknown":
        message = f"Table version AS OF/BEFORE expression cannot be NULL for {table}"
        raise ProcessionError(ErrorCode.INVALID_ARGUMENTS, message)
    if type_.base not in wanted:
        named = "Timestamp or Timestamp with Time Zone." if of_time else "BIGINT or VARCHAR"
        raise context.error(tree, f"Type {type_text(type_)} is invalid. {words} {named}")
    assert isinstance(value, int | str | datetime)
    return Before(value) if node.operator == "BEFORE" else value

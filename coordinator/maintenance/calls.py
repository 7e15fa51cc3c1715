"""A step as the statement that does it: what maintenance does goes the way of every other statement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from coordinator.sql.formatter import string_literal


def call_text(catalog: str, schema: str, table: str, procedure: str, arguments: Mapping[str, object]) -> str:
    """``CALL "catalog".system.procedure(schema => …, table_name => …, …)``; raises TypeError for values of no kind."""
    given = {"schema": schema, "table_name": table, **arguments}
    listed = ", ".join(f"{name} => {_literal(value)}" for name, value in given.items())
    quoted = catalog.replace('"', '""')
    return f'CALL "{quoted}".system.{procedure}({listed})'


def within(
    procedure: str, arguments: Mapping[str, object], seconds: float | None, grace: float
) -> tuple[Mapping[str, object], float | None]:
    """The arguments of a call that has ``seconds`` (None: no limit), and when it is cancelled if it has not ended.

    A rewrite ends the commit that it has begun, within ``grace``, and begins no other one.
    """
    options = arguments.get("options")
    if seconds is None or procedure != "rewrite_data_files" or not isinstance(options, Mapping):
        return arguments, seconds
    limited = {**options, "partial-progress.max-seconds": str(max(1, int(seconds)))}
    return {**arguments, "options": limited}, seconds + grace


def _literal(value: object) -> str:
    match value:
        case str():
            return string_literal(value)
        case int():
            return str(value)
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC'"
        case Mapping():
            keys, values = ", ".join(map(_literal, value)), ", ".join(map(_literal, value.values()))
            return f"MAP(ARRAY[{keys}], ARRAY[{values}])"
        case _:
            raise TypeError(f"no argument is a {type(value).__name__}")

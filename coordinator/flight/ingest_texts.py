"""The statements that bring rows of a client into a table, which people see in the history.

``INSERT INTO "lake"."sales"."orders" ("key") SELECT "key" FROM "$sent_rows"``. Source: CommandStatementIngest of
FlightSql.proto.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.flight.commands import Ingest
from coordinator.flight.failures import invalid, unsupported
from coordinator.flight.sent_types import UNKNOWN, SentColumn
from shared.spi.session import SENT_ROWS


@dataclass(frozen=True, slots=True)
class IngestTexts:
    """What runs; ``if_missing`` is what runs in its place where there is no such table, ``probe`` nothing if there is.

    The last two are None where nothing else can run.
    """

    text: str
    if_missing: str | None = None
    probe: str | None = None


def ingest_texts(asked: Ingest, columns: Sequence[SentColumn]) -> IngestTexts:
    """Raises CallError for what is not offered."""
    if not asked.table:
        raise invalid("The command names no table")
    if asked.catalog is not None and asked.schema is None:
        raise invalid("A catalog is named, and no schema")
    if asked.options:
        raise unsupported(f"option {asked.options[0]} of bulk ingestion")
    parts = [part for part in (asked.catalog, asked.schema, asked.table) if part is not None]
    table = ".".join(map(_quoted, parts))
    names = [_quoted(column.name) for column in columns]
    values = ["NULL" if c.type == UNKNOWN else name for c, name in zip(columns, names, strict=True)]
    rows = f"FROM {_quoted(SENT_ROWS)}"
    insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} {rows}"
    named = [value if value == name else f"{value} AS {name}" for value, name in zip(values, names, strict=True)]
    made = f"{table} AS SELECT {', '.join(named)} {rows}"
    create = f"CREATE TABLE {made}"
    match asked.if_missing, asked.if_exists:
        case "create", "fail":
            return IngestTexts(create)
        case "create", "append":
            return IngestTexts(insert, create, f"CREATE TABLE IF NOT EXISTS {made}")
        case "fail", "append":
            return IngestTexts(insert)
        case "create", "replace":
            return IngestTexts(f"CREATE OR REPLACE TABLE {made}")
        case "fail", "replace":
            raise unsupported("replacing only a table that is there")
        case _:
            raise invalid("The command allows neither a table that is there nor one that is not")


def _quoted(name: str) -> str:
    """An identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'

"""A view's text in the dialects of the engines that may read it.

Presto's own Iceberg connector keeps its JSON of the whole definition under ``presto``; Trino reads plain text under
``trino``, Spark under ``spark``. Source: the Iceberg view specification, "SQL representation"; Presto's ViewDefinition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import sqlglot
from pyiceberg.schema import Schema
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion
from sqlglot.errors import SqlglotError

from coordinator.connectors.iceberg.materialized.stored import (
    definition_of,
    is_materialized,
    materialization,
    owner_of,
    security_of,
)
from coordinator.connectors.iceberg.types import presto_type
from coordinator.sql.blanks import BLANKS
from shared.spi.connector import ViewColumn, ViewMetadata

PRESTO, TRINO, SPARK = "presto", "trino", "spark"
OWNER, SECURITY, COMMENT = "procession.owner", "procession.security", "comment"


def representations(view: ViewMetadata) -> list[ViewRepresentation]:
    """For Presto and Trino always; for Spark where its SQL can say the same."""
    # Presto keeps plain SQL for a materialized view, whose definition is in its properties.
    for_presto = presto_definition(view) if view.materialized is None else view.definition
    texts = {PRESTO: for_presto, TRINO: view.definition, SPARK: _spark_text(view.definition)}
    return [
        ViewRepresentation(SQLViewRepresentation(type="sql", sql=text, dialect=dialect))
        for dialect, text in texts.items()
        if text is not None
    ]


def presto_definition(view: ViewMetadata) -> str:
    """Presto's JSON of a view."""
    said = {
        "originalSql": view.definition,
        "catalog": view.default_catalog,
        "schema": view.default_schema,
        "columns": [{"name": c.name, "type": c.type} for c in view.columns],
        "owner": view.owner,
        "runAsInvoker": view.security == "INVOKER",
    }
    return json.dumps({name: value for name, value in said.items() if value is not None})


_OPENING = re.compile(
    rf"'[^']*+'|\"[^\"]*+\"|--[^\n]*+|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|(\bROW{BLANKS}\(|\[)|(\()|([)\]])", re.IGNORECASE
)
_DEEPEST = 8
"""Arrays and rows in each other: sqlglot takes twice the time for each of them."""
_LONGEST = 200_000
"""Characters; some tenths of a second."""


def _spark_text(definition: str) -> str | None:
    if len(definition) > _LONGEST or _constructors_in_each_other(definition) > _DEEPEST:
        return None
    try:
        translated = sqlglot.transpile(
            definition, read="presto", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE
        )
    except (SqlglotError, RecursionError):
        return None
    return translated[0] if len(translated) == 1 else None


def _constructors_in_each_other(definition: str) -> int:
    """In a text that our parser takes: what stands in literals, quoted names and comments does not count."""
    open_ones: list[bool] = []
    depth = most = 0
    for found in _OPENING.finditer(definition):
        if found[1] or found[2]:
            open_ones.append(found[1] is not None)
            depth += open_ones[-1]
            most = max(most, depth)
        elif found[3] and open_ones:
            depth -= open_ones.pop()
    return most


def read_view(
    catalog: str, schema: str, name: str, version: ViewVersion, columns: Schema, properties: dict[str, str]
) -> ViewMetadata:
    """The view as Presto sees it, from the first representation that can be read here."""
    texts = {r.root.dialect.lower(): r.root.sql for r in version.representations}
    read = ViewMetadata(
        catalog,
        schema,
        name,
        definition="",
        columns=_columns(columns),
        default_catalog=version.default_catalog or catalog,
        default_schema=".".join(version.default_namespace) or schema,
        owner=properties.get(OWNER),
        security=properties.get(SECURITY, "DEFINER"),
        comment=properties.get(COMMENT),
    )
    if is_materialized(properties):
        return replace(
            read,
            definition=definition_of(properties),
            default_catalog=catalog,
            default_schema=schema,
            owner=owner_of(properties),
            security=security_of(properties),
            materialized=materialization(properties),
        )
    if PRESTO in texts:
        return _read_presto(read, texts[PRESTO])
    if TRINO in texts:
        return replace(read, definition=texts[TRINO], dialect=TRINO)
    return replace(read, dialect=next(iter(texts), "none"))


def _columns(schema: Schema) -> tuple[ViewColumn, ...]:
    return tuple(ViewColumn(f.name, str(presto_type(f.field_type)), f.doc) for f in schema.fields)


def _read_presto(read: ViewMetadata, text: str) -> ViewMetadata:
    """Presto's JSON, or plain SQL as other writers put it under the same dialect."""
    if not text.lstrip().startswith("{"):
        return replace(read, definition=text)
    said = json.loads(text)
    comments = {c.name.lower(): c.comment for c in read.columns}
    columns: Sequence[dict[str, str]] = said.get("columns") or ()
    return replace(
        read,
        definition=str(said["originalSql"]),
        columns=tuple(ViewColumn(c["name"], c["type"], comments.get(c["name"].lower())) for c in columns),
        default_catalog=said.get("catalog") or read.default_catalog,
        default_schema=said.get("schema") or read.default_schema,
        owner=said.get("owner"),
        security="INVOKER" if said.get("runAsInvoker") else "DEFINER",
    )

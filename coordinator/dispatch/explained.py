"""What EXPLAIN tells, without the secrets of the explained statement and of the configuration.

In a plan a value may stand far from the name that made it a secret; so the values are looked for in the statement.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from coordinator.dispatch.query import Query
from coordinator.explain.json_format import pretty
from coordinator.security.redaction import redacted_lines, secrets_in, without
from coordinator.vocabulary.planned_statement import (
    Column,
    ExplainAnalyze,
    ExplainNative,
    PlannedStatement,
    ReturnRows,
)

_QUICK = 64 << 10
"""Characters of a text in which secrets are looked for on the event loop itself."""


async def shown_plan(planned: PlannedStatement, query: Query) -> PlannedStatement:
    """The statement with the text that EXPLAIN returns as people may see it; other statements as they are."""
    if planned.query_type != "EXPLAIN":
        return planned
    hide = _hiding(query)
    match planned.work:
        case ReturnRows(((str(text),),)):
            shown = await _aside(text, hide)
            if shown == text:
                return planned
            column = Column(planned.columns[0].name, f"varchar({len(shown)})")
            return replace(planned, columns=(column,), work=ReturnRows(((shown,),)))
    return planned


async def _aside(text: str, hide: Callable[[str], str]) -> str:
    return _redacted(text, hide) if len(text) <= _QUICK else await asyncio.to_thread(_redacted, text, hide)


def shown_rows(rows: Iterator[pa.RecordBatch], planned: PlannedStatement, query: Query) -> Iterator[pa.RecordBatch]:
    """The rows of a statement; what the native engine or Spark explains is as people may see it."""
    if not isinstance(planned.work, ExplainNative | ExplainAnalyze):
        return rows
    return _shown(rows, _hiding(query))


def _shown(rows: Iterator[pa.RecordBatch], hide: Callable[[str], str]) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        texts = [None if text is None else _redacted(text, hide) for text in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(texts, batch.schema.field(0).type)], schema=batch.schema)


def _hiding(query: Query) -> Callable[[str], str]:
    values = secrets_in((query.text, *query.session.prepared_statements.values()))
    return lambda text: without(query.redact(text), values)


def _redacted(text: str, hide: Callable[[str], str]) -> str:
    if not text.startswith(("{", "[")):
        return hide(text) if len(text) <= _QUICK else redacted_lines(text, hide)
    try:
        plan = json.loads(text)
    except ValueError:
        return redacted_lines(text, hide)
    shown = _in_json(plan, hide)
    return text if shown == plan else pretty(shown)


def _in_json(value: object, hide: Callable[[str], str]) -> object:
    match value:
        case str():
            return hide(value)
        case list():
            return [_in_json(each, hide) for each in value]
        case dict():
            return {hide(name): _in_json(each, hide) for name, each in value.items()}
    return value

"""Statements of Flight SQL's clients in the dispatcher, as those of any client. On the coordinator's event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from secrets import compare_digest

import msgspec
import pyarrow as pa

from coordinator.dispatch.arrow_stream import ArrowStream
from coordinator.dispatch.arrow_types import client_field, client_schema
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.failures import text_too_large
from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.ports import StatementPlanner
from coordinator.dispatch.query import Query
from coordinator.dispatch.result_space import ResultSpace
from coordinator.dispatch.submission import Submission
from coordinator.dispatch.wire_results import update_type
from coordinator.flight.callers import Caller
from coordinator.flight.failures import CallError, not_found, statement_failure
from coordinator.flight.ingest_texts import IngestTexts
from coordinator.flight.prepared import Prepared
from coordinator.flight.sent_rows import SentRows
from coordinator.flight.sent_types import SentColumn
from coordinator.resource_groups.query_type import query_type_of
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, ReturnRows, SessionChange
from shared.errors import ErrorCode, ProcessionError
from shared.protocol.statement import WarningCode, WireWarning
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

_NO_CHANGE = SessionChange()
SOURCE = "flight-sql"
"""Of statements whose client names none."""
_NAME = "statement"
"""Of a prepared statement while it is being described."""
_MOST_OF_METADATA = 64 << 20


@dataclass(frozen=True, slots=True)
class Started:
    """A statement whose rows may be fetched by ``handle``; ``change`` is what it changes of the session."""

    query_id: str
    handle: bytes
    schema: pa.Schema
    change: SessionChange
    warnings: tuple[PrestoWarning, ...]

    def metadata(self) -> bytes:
        """What a FlightInfo says beside its endpoints: JSON with the id of the query and its warnings."""
        warnings = [WireWarning(WarningCode(each.code, each.name), each.message) for each in self.warnings]
        return msgspec.json.encode({"queryId": self.query_id, "warnings": warnings})


class Statements:
    """Raises CallError for what clients should hear."""

    def __init__(self, dispatcher: Dispatcher, planner: StatementPlanner) -> None:
        """``planner`` is the dispatcher's, for what is looked at and does not run."""
        self._dispatcher = dispatcher
        self._planner = planner

    @property
    def patience(self) -> float:
        """Seconds in which a client takes what it is given."""
        return self._dispatcher.settings.client_timeout

    @property
    def space(self) -> ResultSpace:
        """Where rows wait that clients send, as those do that wait for clients."""
        return self._dispatcher.results

    def submit(self, caller: Caller, text: str, rows: SentRows | None = None) -> ArrowStream:
        """Register a statement whose rows will be one stream; ``rows`` are those that its client sends."""
        now = self._dispatcher.clock
        session = replace(caller.session, start=now.now(), source=caller.session.source or SOURCE)
        received = now.monotonic()
        query = self._dispatcher.submit(
            Submission(text, session, len(text), result_format="arrow", received_at=received, sent_rows=rows)
        )
        return ArrowStream(self._dispatcher, query)

    async def started(self, caller: Caller, text: str) -> Started:
        """Start a statement; returns once it has passed its checks.

        One that changes the session has left its queue, too: nothing can refuse it any more.
        """
        stream = self.submit(caller, text)
        try:
            planned = await stream.planned()
            if planned.session_change != _NO_CHANGE:
                await stream.dispatched()
        except ProcessionError as error:
            raise statement_failure(error) from error
        except BaseException:
            stream.leave()  # the client is gone
            raise
        query = stream.query
        handle, schema = f"{query.id}.{query.slug}".encode(), client_schema(planned.columns)
        return Started(query.id, handle, schema, planned.session_change, query.warnings)

    async def schema_of(self, caller: Caller, text: str) -> pa.Schema:
        """The schema of a statement that is not run."""
        return client_schema((await self._looked_at(text, caller.session)).columns)

    def stream_of(self, caller: Caller, handle: bytes) -> ArrowStream:
        """The rows of a statement that this caller has started; to others there is no such statement."""
        query = self._query(caller, handle)
        stream = ArrowStream(self._dispatcher, query)
        try:
            stream.begin()
        except ProcessionError as error:
            raise statement_failure(error) from error
        return stream

    def cancel(self, caller: Caller, handle: bytes) -> bool:
        """Whether there was something to end."""
        query = self._query(caller, handle)
        was_active = query.active
        self._dispatcher.cancel(query)
        return was_active

    def _query(self, caller: Caller, handle: bytes) -> Query:
        query_id, _, slug = handle.decode("ascii", "replace").partition(".")
        query = self._dispatcher.registry.get(query_id)
        if query is None or query.result_format != "arrow" or not caller.owns(query.session):
            raise not_found("Statement not found: its ticket is not ours, or its results were dropped")
        if not compare_digest(query.slug.encode(), slug.encode()):
            raise not_found("Statement not found: its ticket is not ours, or its results were dropped")
        return query

    async def first(self, stream: ArrowStream) -> pa.Schema:
        """The schema of what will come, once the statement runs."""
        try:
            await stream.planned()
            return client_schema((await stream.dispatched()).columns)
        except ProcessionError as error:
            raise statement_failure(error) from error

    async def chunks(self, stream: ArrowStream) -> AsyncGenerator[list[Chunk]]:
        """Rows as they come."""
        try:
            async with aclosing(stream.chunks()) as chunks:
                async for each in chunks:
                    yield each
        except ProcessionError as error:
            raise statement_failure(error) from error

    async def rows(self, caller: Caller, text: str) -> pa.Table:
        """All rows of a statement of ours, of which there are few."""
        stream = self.submit(caller, text)
        try:
            schema = await self.first(stream)
            batches, size = [], 0
            async for chunks in self.chunks(stream):
                size += sum(len(chunk.data) for chunk in chunks)
                if size > _MOST_OF_METADATA:
                    raise statement_failure(ProcessionError(ErrorCode.NOT_SUPPORTED, "Too many tables; name a schema"))
                batches += [pa.ipc.read_record_batch(pa.py_buffer(chunk.data), schema) for chunk in chunks]
            return pa.Table.from_batches(batches, schema)
        finally:
            stream.leave()

    async def update(self, caller: Caller, text: str) -> tuple[int, SessionChange]:
        """Run a statement for what it changes: how many rows, 0 for what changes none, and what of the session.

        Flight SQL's JDBC driver would run a statement again whose number is unknown.
        """
        return await self._updated(self.submit(caller, text))

    async def _updated(self, stream: ArrowStream) -> tuple[int, SessionChange]:
        try:
            await self.first(stream)
            async for _ in self.chunks(stream):
                pass
        finally:
            stream.leave()
        planned = stream.query.planned
        return stream.query.update_count or 0, _NO_CHANGE if planned is None else planned.session_change

    async def ingest(self, caller: Caller, texts: IngestTexts, columns: Sequence[SentColumn], rows: SentRows) -> int:
        """Run what brings ``rows`` into a table; how many they were."""
        sent = tuple((column.name, column.type) for column in columns)
        brings = replace(caller, session=replace(caller.session, sent_columns=sent))
        text = await self._chosen(brings, texts)
        return (await self._updated(self.submit(brings, text, rows)))[0]

    async def _chosen(self, caller: Caller, texts: IngestTexts) -> str:
        """An append that is wrong is told as such, and one to no table is none."""
        if texts.if_missing is None or texts.probe is None:
            return texts.text
        try:
            await self._looked_at(texts.text, caller.session)
        except CallError:
            is_there = isinstance((await self._looked_at(texts.probe, caller.session)).work, ReturnRows)
            return texts.text if is_there else texts.if_missing
        return texts.text

    async def prepared(self, caller: Caller, text: str) -> Prepared:
        """What a statement takes and gives, without running it."""
        session = replace(caller.session, prepared_statements={**caller.session.prepared_statements, _NAME: text})
        taken = await self._described("INPUT", session) if "?" in text else []
        if not taken:
            planned = await self._looked_at(text, session)
            rows = update_type(planned) is None
            return Prepared(text, client_schema(planned.columns) if rows else None, None)
        parameters = pa.schema([_parameter(f"{row[0]}", f"{row[1]}") for row in taken])
        given = [Column(f"{row[0]}", f"{row[4]}") for row in await self._described("OUTPUT", session)]
        rows = query_type_of(text, session) in _GIVES_ROWS or text.lstrip()[:4].upper() == "CALL"
        return Prepared(text, client_schema(tuple(given)) if rows else None, parameters)

    async def _described(self, what: str, session: Session) -> list[tuple[object, ...]]:
        planned = await self._looked_at(f"DESCRIBE {what} {_NAME}", session)
        if not isinstance(planned.work, ReturnRows):
            return []
        return [tuple(row) for row in planned.work.rows]

    async def _looked_at(self, text: str, session: Session) -> PlannedStatement:
        limit = self._dispatcher.settings.max_query_length
        try:
            if self._dispatcher.refusal is not None:
                raise self._dispatcher.refusal
            if len(text) > limit:
                raise text_too_large(len(text), limit)
            return await self._planner.plan(text, session)
        except ProcessionError as error:
            raise statement_failure(error) from error


_GIVES_ROWS = frozenset({"SELECT", "DESCRIBE", "EXPLAIN"})


def _parameter(position: str, type_text: str) -> pa.Field:
    try:
        return client_field(f"parameter_{position}", type_text)
    except (ValueError, IndexError):  # a type without its own parameters
        return client_field(f"parameter_{position}", "unknown")

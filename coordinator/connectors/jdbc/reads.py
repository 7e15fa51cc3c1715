"""What one statement reads from one database: every connection it opens there, their one snapshot, their end.

The remote session carries the statement's id, in its name and in a comment of the query, so that a cancelled statement
finds its queries wherever they run, in the coordinator or in Spark's tasks: a JDBC driver that waits for the database
does not hear that its task was interrupted.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import cast

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from coordinator.connectors.jdbc import adbc
from coordinator.connectors.jdbc.cursor import read_batches
from coordinator.connectors.jdbc.database import Database
from coordinator.connectors.jdbc.failures import mapped_failures, remote_error
from coordinator.connectors.jdbc.spark_types import spark_schema
from shared.errors import ErrorCode, ProcessionError
from shared.spi.relation import ArrowStream, JdbcRelation

_LOG = logging.getLogger(__name__)
_ADBC_ROWS = 50_000
"""More rows are worth a connection of their own, by which they arrive as Arrow without a Python object each."""
_PARTITION_BYTES = 32 << 20
_ALIAS = "procession_remote"
_OF_SCHEMA = re.compile(rf"{_ALIAS}[^.]*\. (?P<reason>.*?)\.? The error occurred during", re.DOTALL)
"""How Spark tells that the database refused a query: the query, the reason, when."""
_CANCEL_SECONDS = 60.0
_CANCEL_PAUSE_SECONDS = 0.2


class StatementReads:
    """Implements ``shared.spi.relation.RemoteReads``. ``cancel`` may come from any thread."""

    def __init__(self, database: Database, query_id: str, relations: Sequence[JdbcRelation]) -> None:
        self._database = database
        self._settings = database.settings
        self._dialect = database.dialect
        self._name = f"procession {query_id}"
        self._several = len(relations) > 1
        self._open = ExitStack()
        self._transaction: Connection | None = None
        self._snapshot: str | None = None
        self._failure: ProcessionError | None = None
        self._closed = threading.Event()

    def rows(self, relation: JdbcRelation) -> ArrowStream:
        """The rows by a server-side cursor, many of them by ADBC; all of a statement in one snapshot."""
        with self._recorded_failures():
            batches = self._batches(relation)
            first = next(batches)
        return cast(ArrowStream, pa.RecordBatchReader.from_batches(first.schema, self._watched(first, batches)))

    def options(self, relation: JdbcRelation) -> Mapping[str, str]:
        """As ``RemoteReads.options``; by several tasks when it is worth it, all of a statement in one snapshot."""
        settings, dialect = self._settings, self._dialect
        options = {
            "url": settings.jdbc_url,
            "driver": dialect.driver_class,
            "fetchsize": str(settings.fetch_size),
            "preferTimestampNTZ": "false",
            **dialect.spark_options,
            **dialect.session_name(self._name),
        }
        if settings.user is not None:
            options["user"] = settings.user
        if settings.password is not None:
            options["password"] = settings.password
        with self._recorded_failures():
            partitions = self._partitions(relation)
            if partitions or (self._several and dialect.import_snapshot is not None):
                options |= self._shared_snapshot()
        sql = partitions.pop("sql") if partitions else relation.sql
        if not dialect.spark_knows_types:
            options["customSchema"] = spark_schema(relation)
        return {**options, **partitions, "dbtable": f"({self._marked(sql)}) {_ALIAS}"}

    def failure(self, error: ProcessionError) -> ProcessionError:
        """As ``RemoteReads.failure``: that of our own cursor, or the driver's among Spark's words."""
        if self._failure is not None:
            return self._failure
        text = "" if error.__cause__ is None else str(error.__cause__)
        found = _OF_SCHEMA.search(text) or re.search(self._dialect.driver_failure, text)
        return error if found is None else remote_error(self._settings, found["reason"])

    def cancel(self) -> None:
        """Again until none is left: a task may have been about to connect."""
        if self._dialect.end_queries is None:
            return
        deadline, idle = time.monotonic() + _CANCEL_SECONDS, 0
        try:
            while time.monotonic() < deadline and idle < 3:
                with self._database.alone() as connection:
                    ended = self._dialect.end_queries(connection, self._name)
                idle = idle + 1 if self._closed.is_set() and not ended else 0
                time.sleep(_CANCEL_PAUSE_SECONDS)
        except ProcessionError as error:
            _LOG.warning("the remote queries of %s were not cancelled: %s", self._name, error.message)

    def close(self) -> None:
        """As ``RemoteReads.close``."""
        self._closed.set()
        with mapped_failures(self._settings):
            self._open.close()

    def _batches(self, relation: JdbcRelation) -> Iterator[pa.RecordBatch]:
        many = relation.row_count is not None and relation.row_count >= _ADBC_ROWS
        if many and self._dialect.adbc:
            snapshot = self._exported() if self._several else None
            return adbc.read_batches(self._database, relation, self._name, snapshot, self._open)
        return read_batches(self._session(), relation, self._marked(relation.sql), keep=self._several)

    def _watched(self, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The engine that pulls sees only that the stream broke; why is kept for ``failure``."""
        yield first
        with self._recorded_failures():
            yield from rest

    @contextmanager
    def _recorded_failures(self) -> Iterator[None]:
        try:
            with mapped_failures(self._settings):
                yield
        except ProcessionError as error:
            self._failure = error
            raise
        except (pa.ArrowException, ValueError, ArithmeticError) as error:
            # Dates beyond year 9999, NaN among decimals: what the database holds and Presto cannot.
            message = f"Catalog {self._settings.catalog}: a value has no place in its Presto type: {error}"
            self._failure = ProcessionError(ErrorCode.JDBC_ERROR, message)
            raise self._failure from error

    def _session(self) -> Connection:
        """The one connection of the statement, in one read-only transaction with one snapshot."""
        if self._transaction is None:
            connection = self._open.enter_context(self._database.connection())
            isolation = self._dialect.read_isolation
            self._transaction = (
                connection if isolation is None else connection.execution_options(isolation_level=isolation)
            )
            self._dialect.begin_reads(self._transaction, self._name)
        return self._transaction

    def _exported(self) -> str | None:
        if self._snapshot is None and self._dialect.export_snapshot:
            self._snapshot = str(self._session().execute(sa.text(self._dialect.export_snapshot)).scalar_one())
        return self._snapshot

    def _shared_snapshot(self) -> dict[str, str]:
        snapshot = self._exported()
        if snapshot is None or self._dialect.import_snapshot is None:
            return {}
        return {"sessionInitStatement": self._dialect.import_snapshot(snapshot)}

    def _partitions(self, relation: JdbcRelation) -> dict[str, str]:
        """Spark's options of a partitioned read and the ``sql`` to partition; empty where one task does it."""
        partitioning = relation.partitioning
        wanted = math.ceil((relation.size_bytes or 0) / _PARTITION_BYTES)
        count = min(self._settings.partitions, wanted)
        if partitioning is None or count < 2:
            return {}
        low, high = self._session().execute(sa.text(partitioning.bounds.replace(":", r"\:"))).one()
        if low is None or low == high:
            return {}
        return {
            "sql": partitioning.sql,
            # Spark delimits it as it delimits the other columns.
            "partitionColumn": partitioning.column,
            "lowerBound": str(low),
            "upperBound": str(high),
            "numPartitions": str(count),
        }

    def _marked(self, sql: str) -> str:
        return f"/* {self._name} */ {sql}"

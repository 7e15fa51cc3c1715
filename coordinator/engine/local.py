"""DuckDB that answers queries over values and the rows that it is given, without Spark, the network or any file.

It runs what users write: a service has it in processes of its own (``coordinator.engine.processes``), not in the
coordinator. One database a process, a cursor a query. External access is off, the configuration locked, memory
bounded. Results leave as a stream of Arrow batches whose types are those of ``coordinator.values.arrow_types``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from coordinator.engine.local_errors import presto_error
from coordinator.engine.local_functions import register_functions
from coordinator.engine.local_inputs import FilesInput, LocalInput
from coordinator.engine.local_macros import MACROS
from coordinator.engine.processes.profile import operators_of
from coordinator.explain.operators import Operator
from coordinator.kernels.functions.patience import interruptible
from coordinator.values.python_functions import PythonFunction
from coordinator.vocabulary.nesting import DUCKDB_DEPTH

_BATCH_ROWS = 2048
"""DuckDB's own: rows may be large, and some thousand of them more than the memory there is."""
_INTERRUPTIONS, _INTERRUPTION_SECONDS = 600, 0.1


class Cancellable(Protocol):
    """As much of an ``Execution`` as running SQL in this process needs."""

    def check_cancelled(self) -> None: ...

    def on_cancel(self, callback: Callable[[], None]) -> None: ...


class LocalEngine:
    """DuckDB without tables. Thread-safe; close it when the process ends."""

    def __init__(self, memory_limit: str = "1GB", threads: int = 1) -> None:
        self._memory_limit, self._threads = memory_limit, threads
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()
        self._known: set[PythonFunction] = set()

    def run(
        self,
        sql: str,
        execution: Cancellable,
        inputs: Sequence[LocalInput] = (),
        operators: list[Operator] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The result of one statement in DuckDB's dialect over ``inputs``; raises ProcessionError with Presto's texts.

        Cancelling the execution interrupts the statement. ``operators``, when given, is filled with what was measured.
        """
        if operators is None:
            yield from self.rows(sql, execution, inputs)
            return
        profiles: list[str] = []
        yield from self.rows(sql, execution, inputs, profiles.append)
        operators += [each for profile in profiles for each in operators_of(profile, {})]

    def rows(
        self,
        sql: str,
        execution: Cancellable,
        inputs: Sequence[LocalInput] = (),
        profile: Callable[[str], None] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The same; ``profile`` is called at the end with what the database measured."""
        execution.check_cancelled()
        cursor = self._cursor(sql) if profile is None else self._profiled(sql)
        ended = threading.Event()
        execution.on_cancel(partial(_interrupt, cursor, ended))
        try:
            for made in inputs:
                cursor.register(made.name, _rows(made))
            with interruptible(execution.check_cancelled):
                reader = cursor.sql(sql).to_arrow_reader(_BATCH_ROWS)
            while (batch := _next(reader, execution)) is not None:
                yield batch
            if profile is not None:
                profile(cursor.get_profiling_information(format="json"))
        except duckdb.Error as error:
            execution.check_cancelled()
            raise presto_error(error) from error
        except (pa.ArrowException, OSError) as error:
            # OSError: an input's stream broke; who reads it knows why.
            execution.check_cancelled()
            raise presto_error(error) from error
        finally:
            ended.set()
            cursor.close()

    def open(self) -> None:
        """Make the database before the first statement needs it."""
        with self._lock:
            self._connection = self._connection or self._open()

    def close(self) -> None:
        """Closes the database; queries that still run fail."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self._known.clear()

    def _cursor(self, sql: str) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
            register_functions(self._connection, sql, self._known)
            return self._connection.cursor()

    def _profiled(self, sql: str) -> duckdb.DuckDBPyConnection:
        """A database for one statement: the configuration of the others is locked."""
        connection = self._open("SET enable_profiling = 'no_output'")
        register_functions(connection, sql, set())
        return connection

    def _open(self, setting: str = "") -> duckdb.DuckDBPyConnection:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self._memory_limit,
            "threads": self._threads,
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "temp_directory": "",
        }
        connection = duckdb.connect(":memory:", config=settings)
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"SET max_expression_depth = {DUCKDB_DEPTH}")
        connection.execute("SET enable_progress_bar = false")  # it goes to the standard output
        for macro in MACROS:
            connection.execute(macro)
        connection.execute(setting)
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET lock_configuration = true")
        return connection


def _rows(made: LocalInput) -> object:
    return ds.dataset(list(made.paths), format="parquet") if isinstance(made, FilesInput) else made.rows


def _next(reader: pa.RecordBatchReader, execution: Cancellable) -> pa.RecordBatch | None:
    """DuckDB does not look at its interruption while a function of ours runs: that looks for itself."""
    execution.check_cancelled()
    with interruptible(execution.check_cancelled):
        return next(reader, None)


def _interrupt(cursor: duckdb.DuckDBPyConnection, ended: threading.Event) -> None:
    """Again and again: DuckDB forgets an interruption that comes before it has begun."""
    with suppress(duckdb.ConnectionException):  # the statement has ended meanwhile
        for _ in range(_INTERRUPTIONS):
            cursor.interrupt()
            if ended.wait(_INTERRUPTION_SECONDS):
                return

"""A process of the embedded engine: one statement after the other, each in a database of its own.

Forked by ``coordinator.engine.processes.nursery``. The database reads the files of its statement and nothing else; it
is made while the process waits. Results go to a file in the scratch folder, so that a slow client holds no process.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from coordinator.engine.embedded.messages import Answer, Answered, EngineSettings, Failed, Statement
from coordinator.engine.embedded.parquet_scan import files_sql, parquet_files, parquet_sql, path_in_sql
from coordinator.engine.embedded.progress import Written
from coordinator.engine.embedded.row_deletes import RowDeletes, row_deletes
from coordinator.engine.embedded.sql_text import identifier, text
from coordinator.engine.embedded.store_files import StoreFiles, without_scheme
from coordinator.engine.local_errors import presto_error
from coordinator.engine.local_functions import register_functions
from coordinator.engine.local_macros import macros_of
from coordinator.engine.processes.memory import limit_memory
from coordinator.engine.processes.messages import END, joined, pieces
from coordinator.engine.processes.profile import MOST_BYTES
from coordinator.engine.processes.sent_rows import PulledRows
from coordinator.engine.processes.worker import received, send, serve
from coordinator.kernels.errors import KernelError
from coordinator.kernels.file_scan import FileScan, scan_reader
from coordinator.kernels.tasks import with_inputs
from coordinator.vocabulary.nesting import DUCKDB_DEPTH
from shared.errors import ErrorCode, ProcessionError

_BATCH_ROWS = 2048
_AHEAD = 2
"""Databases that wait for a statement, of some megabytes each: clients send one right after the other."""
_BESIDE_DATABASE = 1 << 30
"""Bytes for what the database does not count: vectors, files that the kernels read, results."""


def main(descriptors: Sequence[int]) -> None:
    """Serve until the coordinator closes the socket; never returns."""
    serve("sql-embedded", descriptors, _serve)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    settings = _received(requests)
    assert isinstance(settings, EngineSettings)
    limit_memory(2 * settings.memory_bytes + _BESIDE_DATABASE)
    databases = Databases(settings)
    _send(answers, Answered(""))
    while (statement := _received(requests)) is not None:
        database = databases.take()
        answer = answered(database, statement, settings, PulledRows(requests, answers))
        _send(answers, answer)
        databases.refill()
        database.close()
        pa.default_memory_pool().release_unused()


class Databases:
    """One for each statement. Making one takes longer than most statements, and is done in a thread between them."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1)
        self._made = 0
        self._ahead: deque[Future[duckdb.DuckDBPyConnection]] = deque()
        self.refill()
        self._ahead[0].result()

    def take(self) -> duckdb.DuckDBPyConnection:
        """A database of the caller's own, who closes it."""
        return self._ahead.popleft().result()

    def refill(self) -> None:
        """Begin to make those that are missing."""
        while len(self._ahead) < _AHEAD:
            self._made += 1
            self._ahead.append(self._thread.submit(database_of, self._settings, self._made))


def answered(database: Any, statement: Statement, settings: EngineSettings, pulled: PulledRows) -> Answer:
    """The result in a file, or why there is none."""
    try:
        return _answer(database, statement, settings, pulled)
    except ProcessionError as error:
        return Failed(error.code.name, error.message, error.retriable)
    except KernelError as error:
        known = error.name in ErrorCode.__members__
        return Failed(error.name if known else "GENERIC_INTERNAL_ERROR", error.message)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        failure = presto_error(error)
        return Failed(failure.code.name, without_scheme(failure.message), failure.retriable)
    except MemoryError:
        return Failed("EXCEEDED_LOCAL_MEMORY_LIMIT", "Query exceeded the embedded engine's memory limit")


def _answer(database: Any, statement: Statement, settings: EngineSettings, pulled: PulledRows) -> Answered:
    began = time.process_time()
    for name, stream in pulled.streams(statement.streams).items():
        database.register(name, stream)
    written = Written(settings.scratch)
    store = StoreFiles(written.fetched, settings.memory_bytes // (2 * settings.threads))
    try:
        return _result(database, statement, settings, store, written, began)
    except (duckdb.Error, pa.ArrowException, OSError):
        if store.failure is not None:
            raise store.failure from None
        raise
    finally:
        store.end_requests()
        written.close()


def _result(
    database: Any, statement: Statement, settings: EngineSettings, store: StoreFiles, written: Written, began: float
) -> Answered:
    _open_scans(database, statement, store, written, settings.threads)
    register_functions(database, statement.sql, set())
    for macro in macros_of(statement.sql):
        database.execute(macro)
    if statement.profiled:
        database.execute("SET enable_profiling = 'no_output'")
    database.execute("SET python_enable_replacements = false")
    database.execute("SET lock_configuration = true")
    reader = database.sql(statement.sql).to_arrow_reader(_BATCH_ROWS)
    handle, path = tempfile.mkstemp(prefix="result-", suffix=".arrow", dir=settings.scratch)
    try:
        with os.fdopen(handle, "wb") as file, pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in joined(reader):
                for piece in pieces(batch):
                    writer.write_batch(piece)
                _check_size(file.tell(), settings)
        profile = database.get_profiling_information(format="json") if statement.profiled else ""
    except BaseException:
        Path(path).unlink()
        raise
    return Answered(path, time.process_time() - began, profile if len(profile) <= MOST_BYTES else "")


def _check_size(written: int, settings: EngineSettings) -> None:
    if written > settings.result_bytes:
        message = "Query exceeded the embedded engine's limit of result bytes"
        raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)


def _open_scans(database: Any, statement: Statement, store: StoreFiles, written: Written, threads: int) -> None:
    """Makes scans and other files known, and lets the database open these files alone."""
    selects: dict[str, list[str]] = {name: [files_sql(files)] for name, files in statement.files.items()}
    paths: list[str] = [path for files in statement.files.values() for path in files]
    kernel_rows, direct_rows, direct_bytes = 0, 0, 0
    for name, scan in statement.scans.items():
        selects[name] = []
        plain: set[str] = set()
        for alike, files in parquet_files(scan, store).items():
            without = ""
            if alike.deleted:
                deletes = row_deletes(scan, files, f"{name}_deleted_{len(selects[name])}", threads)
                without = _without(database, deletes)
            selects[name].append(parquet_sql(scan, alike.names, files, without))
            paths += [path_in_sql(item, scan) for item in files]
            plain |= {item.path for item in files}
        share = _share(scan, plain)
        kernel_rows += scan.rows - int(scan.rows * share)
        direct_rows, direct_bytes = direct_rows + int(scan.rows * share), direct_bytes + int(scan.size * share)
        if len(plain) < len(scan.task.inputs) or not plain:
            rest = [item for item in scan.task.inputs if item.path not in plain]
            reader = scan_reader(replace(scan, task=with_inputs(scan.task, rest)))
            counted = pa.RecordBatchReader.from_batches(reader.schema, written.counted(reader))
            database.register(f"{name}_kernels", counted)
            columns = ", ".join(map(identifier, scan.schema.names)) or "*"
            selects[name].append(f"SELECT {columns} FROM {identifier(name + '_kernels')}")  # noqa: S608 - quoted
    written.begin(kernel_rows, direct_rows, direct_bytes)
    if store.files:
        database.register_filesystem(store)
    database.execute(f"SET allowed_paths = [{', '.join(text(path) for path in dict.fromkeys(paths))}]")
    database.execute("SET enable_external_access = false")
    for name, parts in selects.items():
        database.execute(f"CREATE TEMP VIEW {identifier(name)} AS {' UNION ALL '.join(parts)}")


def _without(database: Any, deletes: RowDeletes) -> str:
    """What takes deleted rows out, which the database knows now."""
    database.register(deletes.name, deletes.rows)
    database.execute(deletes.make)
    database.unregister(deletes.name)
    return deletes.clause


def _share(scan: FileScan, paths: set[str]) -> float:
    """Of a scan's bytes, what some of its files have."""
    total = sum(item.size for item in scan.task.inputs)
    return sum(item.size for item in scan.task.inputs if item.path in paths) / total if total else 0.0


def database_of(settings: EngineSettings, number: int = 0) -> duckdb.DuckDBPyConnection:
    """A database for one statement, which has read nothing yet; by its number it spills apart from the next one."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{settings.memory_bytes}B",
            "threads": settings.threads,
            "temp_directory": str(Path(settings.scratch) / f"spill-{os.getpid()}-{number}"),
            "max_temp_directory_size": f"{settings.spill_bytes}B",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET max_expression_depth = {DUCKDB_DEPTH}")
    connection.execute("SET enable_progress_bar = false")  # it goes to the standard output, also where nobody reads
    connection.execute("SET parquet_metadata_cache = true")
    return connection


def _received(requests: BinaryIO) -> Any:
    """The next message; None when the coordinator has closed the socket."""
    frame = received(requests)
    return None if frame is None else pickle.loads(frame)  # noqa: S301 - from the coordinator that started us


def _send(answers: BinaryIO, answer: Answer) -> None:
    send(answers, END, pickle.dumps(answer))

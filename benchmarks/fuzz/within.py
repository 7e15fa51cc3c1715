"""A coordinator in this process: the same parts plan, run and encode, without HTTP, other processes and Spark."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pyarrow as pa

from benchmarks.fuzz.client import Answer
from coordinator.config import CoordinatorConfig, read_config
from coordinator.dispatch.failures import internal_error
from coordinator.dispatch.pages import describe_columns, encode_batch
from coordinator.engine.embedded.messages import Answered, EngineSettings, Failed, Statement
from coordinator.engine.embedded.worker import answered, database_of
from coordinator.engine.execution import Execution, QueryProgress
from coordinator.engine.executor import Executor, SparkSql
from coordinator.engine.local import LocalEngine
from coordinator.engine.local_inputs import ArrowInput, FilesInput, LocalInput
from coordinator.engine.processes.sent_rows import PulledRows
from coordinator.engine.streams import reader_of
from coordinator.explain.operators import Operator
from coordinator.kernels.errors import KernelError
from coordinator.kernels.file_scan import FileScan, scan_reader
from coordinator.parts import make_parts
from coordinator.security.current_session import acting_for
from coordinator.security.redaction import Redactor
from coordinator.vocabulary.nesting import too_deep
from coordinator.vocabulary.planned_statement import PlannedStatement
from shared.errors import ErrorCode, ProcessionError
from shared.plan.types import parse_type
from shared.spi.session import Session

_PAGE_ROWS, _PAGE_BYTES = 5000, 1 << 20


class _NoSpark:
    """What asks for Spark is told that there is none."""

    shares_disk = True
    largest_page = None

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        def refused(*_given: object, **_named: object) -> NoReturn:
            raise ProcessionError(ErrorCode.NO_NODES_AVAILABLE, "There is no Spark")

        return refused

    def workers(self, _execution: Execution) -> None:
        """Few procedures use them."""


class _Embedded:
    """The embedded engine's own steps, in this process.

    A database for one statement costs more than most statements: of ``every`` so many one has it, and the others run
    in one that is kept, over rows that the kernels read.
    """

    def __init__(self, settings: EngineSettings, local: LocalEngine, every: int) -> None:
        self._settings, self._local, self._every = settings, local, every
        self._run_before = 0
        Path(settings.scratch).mkdir(parents=True, exist_ok=True)

    def run(
        self,
        sql: str,
        scans: Mapping[str, FileScan],
        execution: Execution,
        inputs: Sequence[LocalInput] = (),
        most_bytes: int | None = None,  # noqa: ARG002
        operators: list[Operator] | None = None,  # noqa: ARG002
    ) -> Iterator[pa.RecordBatch]:
        self._run_before += 1
        if self._run_before % self._every:
            read = [ArrowInput(name, scan_reader(scan).read_all()) for name, scan in scans.items()]
            return self._local.run(sql, execution, [*read, *inputs])
        return self._alone(sql, scans, inputs)

    def _alone(self, sql: str, scans: Mapping[str, FileScan], inputs: Sequence[LocalInput]) -> Iterator[pa.RecordBatch]:
        database = database_of(self._settings)
        try:
            files = {made.name: made.paths for made in inputs if isinstance(made, FilesInput)}
            for made in inputs:
                if isinstance(made, ArrowInput):
                    database.register(made.name, reader_of(made.rows))
            pulled = PulledRows(io.BytesIO(), io.BytesIO())
            answer = answered(database, Statement(sql, dict(scans), files), self._settings, pulled)
        finally:
            database.close()
        if isinstance(answer, Failed):
            raise ProcessionError(ErrorCode[answer.code], answer.message, retriable=answer.retriable)
        return _rows(answer)


def _rows(answer: Answered) -> Iterator[pa.RecordBatch]:
    with Path(answer.path).open("rb") as file:
        Path(answer.path).unlink()
        yield from pa.ipc.open_stream(file)


@dataclass
class _Run:
    """An execution that nobody watches."""

    session: Session
    query_id: str = "20260101_000000_00000_fuzzy"
    ignored: list[object] = field(default_factory=list)

    def report_progress(self, _progress: QueryProgress) -> None: ...

    def set_update_count(self, _count: int) -> None: ...

    def committed(self, _snapshot_id: int) -> None: ...

    def ran_on(self, _engine: str, _why: str) -> None: ...

    def report_operators(self, _operators: Sequence[Operator]) -> None: ...

    def check_cancelled(self) -> None: ...

    def kill(self, _message: str) -> None: ...

    def on_cancel(self, _callback: Callable[[], None]) -> None: ...


class Within:
    """Answers statements as a service without Spark does."""

    def __init__(self, etc: Path, data_dir: Path, schema: str, properties: Mapping[str, str], every: int = 10) -> None:
        config = _at(read_config(etc), data_dir)
        parts = make_parts(config, "http://127.0.0.1:1", "fuzz", Redactor())
        self._plan = replace(parts.planning.factory, memory_bytes=None)()
        self._admit = parts.governed.admit
        self._session = Session(user="fuzz", catalog="iceberg", schema=schema, properties=properties)
        local = LocalEngine()
        self._executor = Executor(
            parts.governed.catalogs,
            local,
            cast(SparkSql, _NoSpark()),
            lambda _work: "{}",
            embedded=_Embedded(EngineSettings(str(data_dir / "embedded"), threads=1), local, every),
        )

    def ask(self, sql: str) -> Answer:
        """As ``StatementClient.ask``."""
        started = time.monotonic()
        try:
            answer = self._answer(sql)
        except ProcessionError as error:
            answer = _failed(error)
        except KernelError as error:
            known = ErrorCode.__members__.get(error.name, ErrorCode.GENERIC_INTERNAL_ERROR)
            answer = _failed(ProcessionError(known, error.message))
        except RecursionError:
            answer = _failed(too_deep())
        except Exception as error:
            answer = _failed(internal_error(error), f"{type(error).__name__}: {error}")
        return replace(answer, seconds=time.monotonic() - started)

    def _answer(self, sql: str) -> Answer:
        session = self._admit(self._session)
        planned = self._plan(sql, session)
        types = tuple(parse_type(column.type) for column in planned.columns)
        describe_columns(planned.columns, "Presto")
        with acting_for(session):
            rows = [row for batch in self._batches(planned, session) for row in _shown(batch, types)]
        return Answer(200, tuple(map(tuple, rows)), tuple(str(type_) for type_ in types))

    def _batches(self, planned: PlannedStatement, session: Session) -> Iterator[pa.RecordBatch]:
        return self._executor.execute(planned, _Run(session))


def _shown(batch: pa.RecordBatch, types: Any) -> list[list[Any]]:
    """Rows as clients read them from the pages."""
    limits: Any = {"max_rows": _PAGE_ROWS, "max_size": _PAGE_BYTES, "nested_as_text": False}
    chunks = [bytes(chunk.data) for chunk in encode_batch(batch, types, **limits)]
    rows: list[list[Any]] = json.loads(b"[" + b",".join(chunks) + b"]")
    return rows


def _failed(error: ProcessionError, text: str | None = None) -> Answer:
    return Answer(200, error=(error.code.name, error.code.type, text or error.message))


def _at(config: CoordinatorConfig, data_dir: Path) -> CoordinatorConfig:
    """No sidecar is asked: the line in a planner ends before it."""
    return config.model_copy(
        update={
            "coordinator": config.coordinator.model_copy(update={"sidecar_url": "http://127.0.0.1:1"}),
            "node": config.node.model_copy(update={"data_dir": data_dir}),
            "catalogs": tuple(replace(catalog, data_dir=data_dir) for catalog in config.catalogs),
        }
    )

"""Kernels on Spark's executors: one task a payload, through ``mapInArrow`` over a frame with one row a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from coordinator.engine.spark.functions import sql_frame
from coordinator.engine.spark.kernel_package import PACKAGE

_RESULT = "result binary, attempt int"
_MOST_IN_FUNCTION = 256 << 10
"""Bytes of payloads that travel with the function, to every task; more would grow with the square of their number."""
MapInArrow = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


Slots = Callable[[], int | None]
"""Tasks that executors of a cluster run side by side now; None where that cannot be had."""


class FrameRunner(Protocol):
    """How a frame of one query is executed: tagged, cancellable, errors mapped."""

    @property
    def parallelism(self) -> int: ...

    def batches(self, frame: Callable[[SparkSession], DataFrame]) -> Iterator[pa.RecordBatch]: ...


class SparkWorkers:
    """Implements ``shared.spi.workers.WorkerRuntime`` for one query."""

    def __init__(
        self, runner: FrameRunner, slots: Slots = lambda: None, *, elsewhere: bool = False, speculative: bool = False
    ) -> None:
        """``elsewhere``: executors of a cluster, whose machines may be lost under a task.

        ``speculative``: Spark runs slow tasks twice, and ends the later attempt wherever it is.
        """
        self._runner = runner
        self._slots = slots
        self._elsewhere = elsewhere
        self._speculative = speculative
        self._attempts_lost = False

    @property
    def parallelism(self) -> int:
        return self._runner.parallelism

    @property
    def attempts_lost(self) -> bool:
        """As the SPI says."""
        return self._attempts_lost

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:  # noqa: ARG002
        """As the SPI says. Small payloads travel with the function: a range has its partitions without a shuffle.

        Large ones are a frame's rows, each sent to the partition of its number.
        """
        if not payloads:
            return
        small = sum(map(len, payloads)) <= _MOST_IN_FUNCTION
        frame = _numbered(kernel, payloads) if small else _shuffled(kernel, payloads)
        # When what was shuffled is lost, Spark counts attempts anew.
        self._attempts_lost |= self._elsewhere and (self._speculative or not small)
        for batch in self._runner.batches(frame):
            self._attempts_lost |= any(batch.column(1).to_pylist())
            yield from batch.column(0).to_pylist()

    def run_on_all_workers(
        self,
        kernel: str,
        payload: bytes,
        *,
        description: str = "",  # noqa: ARG002
    ) -> Iterator[tuple[str, bytes]]:
        """As the SPI says. As many tasks as slots, so that every Python process of an executor gets one.

        An executor answers once a process, under one name: its host and the process that forks its Python workers.
        On a cluster the tasks start together, once all slots are free: one that starts late would find another executor
        done with its own, and that one would get both.
        """
        slots = self._slots()
        together, count = slots is not None, self._runner.parallelism if slots is None else slots
        function = once_function(kernel, payload, together=together)
        answer = "worker string, process int, result binary"
        seen: set[tuple[str, int]] = set()
        if count == 0:
            return
        for batch in self._runner.batches(
            lambda s: s.range(0, count, 1, count).mapInArrow(function, answer, barrier=together)
        ):
            for worker, process, result in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if (worker, process) not in seen:
                    seen.add((worker, process))
                    yield worker, result

    def run_sql(self, sql: str, *, description: str = "") -> Sequence[Mapping[str, object]]:  # noqa: ARG002
        """As the SPI says. Commands such as CALL run while the frame is made, under the query's tag like the rest."""
        return [row for batch in self._runner.batches(lambda s: sql_frame(s, sql)) for row in batch.to_pylist()]


def streamed(kernel: str, payloads: Sequence[bytes], schema: StructType) -> Callable[[SparkSession], DataFrame]:
    """The batches that a kernel gives for each payload, a task each, as a frame."""
    small, count = sum(map(len, payloads)) <= _MOST_IN_FUNCTION, len(payloads)
    function = batches_function(kernel, tuple(payloads) if small else None)
    if small:
        return lambda session: session.range(0, count, 1, count).mapInArrow(function, schema)
    return lambda session: _sent(session, payloads).mapInArrow(function, schema)


def _numbered(kernel: str, payloads: Sequence[bytes]) -> Callable[[SparkSession], DataFrame]:
    function, count = kernel_function(kernel, tuple(payloads)), len(payloads)
    return lambda session: session.range(0, count, 1, count).mapInArrow(function, _RESULT)


def _shuffled(kernel: str, payloads: Sequence[bytes]) -> Callable[[SparkSession], DataFrame]:
    function = kernel_function(kernel, None)
    return lambda session: _sent(session, payloads).mapInArrow(function, _RESULT)


def _sent(session: SparkSession, payloads: Sequence[bytes]) -> DataFrame:
    count = len(payloads)
    rows = pa.table({"payload": pa.array(payloads, pa.binary()), "task": pa.array(range(count), pa.int32())})
    return session.createDataFrame(rows).repartitionById(count, "task")


def batches_function(kernel: str, payloads: tuple[bytes, ...] | None) -> MapInArrow:
    """As ``kernel_function``, for a kernel that gives batches."""
    module, function = kernel.split(":")
    package = PACKAGE

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib

        call = getattr(importlib.import_module(f"{package}.{module}"), function)
        for batch in batches:
            for value in batch.column(0).to_pylist():
                yield from call(value if payloads is None else payloads[value])

    return run


def kernel_function(kernel: str, payloads: tuple[bytes, ...] | None) -> MapInArrow:
    """Runs the payload in the first column, or the one whose number that is. Nested, so that it is shipped by value."""
    module, function = kernel.split(":")
    package = PACKAGE

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib

        import pyarrow
        from pyspark import TaskContext

        call = getattr(importlib.import_module(f"{package}.{module}"), function)
        context = TaskContext.get()
        attempt = pyarrow.array([0 if context is None else context.attemptNumber()], pyarrow.int32())
        for batch in batches:
            for value in batch.column(0).to_pylist():
                answer = call(value if payloads is None else payloads[value])
                for result in (answer,) if isinstance(answer, bytes) else answer:
                    column = pyarrow.array([result], pyarrow.binary())
                    yield pyarrow.RecordBatch.from_arrays([column, attempt], ["result", "attempt"])

    return run


def once_function(kernel: str, payload: bytes, *, together: bool = False) -> MapInArrow:
    """Runs the kernel in every task and names executor and process; ``together`` once all tasks have begun."""
    module, function = kernel.split(":")
    package = PACKAGE

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import os
        import socket
        import time

        import pyarrow

        call = getattr(importlib.import_module(f"{package}.{module}"), function)
        for batch in batches:
            for _ in batch.column(0).to_pylist():
                if together:
                    from pyspark import BarrierTaskContext

                    BarrierTaskContext.get().barrier()
                result = call(payload)
                # Long enough that no worker process takes two of the tasks while another has none.
                time.sleep(0.05)
                # Of an executor's Python processes all have one parent; a host may run several executors.
                worker = f"{socket.gethostname()}:{os.getppid()}"
                yield pyarrow.RecordBatch.from_arrays(
                    [
                        pyarrow.array([worker]),
                        pyarrow.array([os.getpid()], pyarrow.int32()),
                        pyarrow.array([result], pyarrow.binary()),
                    ],
                    ["worker", "process", "result"],
                )

    return run

"""What a distributed procedure sees of the engine: run kernels where the data is read and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class WorkerRuntime(Protocol):
    """Runs kernels on executors on behalf of one query; cancelling the query interrupts every call.

    A kernel is named ``module:function`` inside the shipped kernels package and is a function
    ``(payload: bytes) -> Iterator[bytes]`` or ``(payload: bytes) -> bytes``.
    """

    @property
    def parallelism(self) -> int:
        """How many tasks run at the same time over all executors."""
        ...

    def run_tasks(self, kernel: str, payloads: Sequence[bytes], *, description: str = "") -> Iterator[bytes]:
        """One task a payload; results arrive as tasks complete, in no order.

        Raises ProcessionError: what the kernel raised (mapped by its error name), REMOTE_TASK_ERROR or
        REMOTE_HOST_GONE (retriable) when executors or the engine were lost, USER_CANCELED when interrupted.
        """
        ...

    def run_on_all_workers(self, kernel: str, payload: bytes, *, description: str = "") -> Iterator[tuple[str, bytes]]:
        """The kernel once in every live process of every executor: ``(worker name, result)`` of each.

        All processes of one executor answer under the same worker name.
        """
        ...

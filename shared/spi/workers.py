"""What a distributed procedure sees of the engine: run kernels where the data is read and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol


class WorkerRuntime(Protocol):
    """Runs kernels on executors on behalf of one query; cancelling the query interrupts every call.

    A kernel is named ``module:function`` inside the shipped kernels package and is a function
    ``(payload: bytes) -> Iterator[bytes]`` or ``(payload: bytes) -> bytes``.
    """

    @property
    def parallelism(self) -> int:
        """How many tasks run at the same time over all executors."""
        ...

    @property
    def attempts_lost(self) -> bool:
        """Whether tasks of this query ran again, or may have, because an executor was lost under them.

        What the first attempt had written is still there, under names of its own.
        """
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

    def run_sql(self, sql: str, *, description: str = "") -> Sequence[Mapping[str, Any]]:
        """Run one statement of the engine's own dialect, once, and return its rows by column name.

        For work that the engine has a command for, such as a procedure of a table format's library. The caller
        encodes every name and value in ``sql``. Raises ProcessionError: REMOTE_TASK_ERROR with the engine's first
        line of explanation, or what ``run_tasks`` raises when the engine was lost or the call interrupted.
        """
        ...

"""Running kernels on behalf of a call that can be cancelled and reports how far it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from coordinator.kernels.wire import Kernel
from shared.spi.procedure import ProcedureContext, ProcedureProgress

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def run_kernel(
    context: ProcedureContext, kernel: Kernel[Task, Answer], tasks: Sequence[Task], phase: str, job: str = ""
) -> Iterator[Answer]:
    """The answers of all tasks as they come, in no order; progress is reported as ``phase``.

    The engine shows the work as ``job``, by default the phase.
    """
    for done, answer in enumerate(kernel.run(context.workers, tasks, job or phase), start=1):
        context.check_cancelled()
        context.report(ProcedureProgress(done, len(tasks), phase))
        yield answer

"""Partial progress: the groups of a rewrite in several commits, each durable alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from shared.errors import ErrorCode, ProcessionError

logger = logging.getLogger(__name__)
Row = list[int]
"""The result columns of the procedure, in their order."""
_FAILED = 3


def run_steps(
    steps: Sequence[Rewrite],
    step: Callable[[Rewrite], Row],
    undo: Callable[[Rewrite], None],
    check: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
) -> Row:
    """The sums of the steps that committed, with the data files of failed ones counted.

    Once ``max-seconds`` are over none begins any more but the first: what is left is for the next call.
    Raises ProcessionError when more steps failed than ``max-failed-commits`` allows or none committed, when the
    outcome of one is unknown, and what ``check`` raises between steps; what was committed stays.
    """
    total = [0] * 6
    failures: list[ProcessionError] = []
    begun, tried = clock(), 0
    for rewrite in steps:
        check()
        most = rewrite.options.max_seconds
        if tried and most is not None and clock() - begun >= most:
            logger.info("Call %s ends after %d of %d commits: its time is over", rewrite.call_id, tried, len(steps))
            break
        tried += 1
        try:
            row = step(rewrite)
        except CommitOutcomeUnknownError:
            raise
        except ProcessionError as error:
            if error.code is ErrorCode.USER_CANCELED:
                raise
            undo(rewrite)
            logger.warning("A step of call %s failed and was undone: %s", rewrite.call_id, error.message)
            failures.append(error)
            total[_FAILED] += len(rewrite.replaced)
            _check_failures(failures, rewrite.options.max_failed_commits, landed=len(failures) < tried)
            continue
        total = [a + b for a, b in zip(total, row, strict=True)]
    if failures and len(failures) == tried:
        raise failures[0]
    return total


def _check_failures(failures: Sequence[ProcessionError], most: int, *, landed: bool) -> None:
    if len(failures) > most:
        last = failures[-1]
        raise ProcessionError(
            last.code,
            f"partial-progress.enabled is true but {len(failures)} rewrite commits failed. "
            f"This is more than the maximum allowed failures of {most}: {last.message}",
            retriable=last.retriable and not landed,
        )

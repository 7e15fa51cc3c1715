"""Partial progress: the groups of a rewrite in several commits, each durable alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from coordinator.connectors.iceberg.failures import CommitOutcomeUnknownError
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from shared.errors import ErrorCode, ProcessionError

logger = logging.getLogger(__name__)
Row = list[int]
"""The result columns of the procedure, in their order."""
_FAILED = 3


def run_steps(
    steps: Sequence[Rewrite], step: Callable[[Rewrite], Row], undo: Callable[[Rewrite], None], check: Callable[[], None]
) -> Row:
    """The sums of the steps that committed, with the data files of failed ones counted.

    Raises ProcessionError when more steps failed than ``max-failed-commits`` allows or none committed, when the
    outcome of one is unknown, and what ``check`` raises between steps; what was committed stays.
    """
    total = [0] * 6
    failures: list[ProcessionError] = []
    for rewrite in steps:
        check()
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
            _check_failures(failures, rewrite.options.max_failed_commits)
            continue
        total = [a + b for a, b in zip(total, row, strict=True)]
    if failures and len(failures) == len(steps):
        raise failures[0]
    return total


def _check_failures(failures: Sequence[ProcessionError], most: int) -> None:
    if len(failures) > most:
        last = failures[-1]
        raise ProcessionError(
            last.code,
            f"partial-progress.enabled is true but {len(failures)} rewrite commits failed. "
            f"This is more than the maximum allowed failures of {most}: {last.message}",
            retriable=last.retriable,
        )

"""A rewrite of ours with somebody else at work beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import ErrorCode, ProcessionError


def rewrite_beside(lake: Any, name: str, given: Mapping[str, Any], meanwhile: Callable[[], None] | None) -> bool:
    """Whether it was committed; ``meanwhile`` runs before its first task, and only then may it lose by a conflict."""
    done: list[int] = []

    def before(_kernel: str, _number: int) -> None:
        if meanwhile is not None and not done:
            done.append(1)
            meanwhile()

    lake.workers.before = before
    arguments = dict(given)
    try:
        lake.rewrite(name, arguments.pop("options"), **arguments)
    except ProcessionError as error:
        assert error.code is ErrorCode.TRANSACTION_CONFLICT, error.message
        assert done, "nobody else was at work"
        return False
    finally:
        lake.workers.before = lambda _kernel, _number: None
    return True

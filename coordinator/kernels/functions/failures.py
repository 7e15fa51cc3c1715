"""Presto's errors of a function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import KernelError

TRIED = (
    "DIVISION_BY_ZERO", "GENERIC_USER_ERROR", "INVALID_ARGUMENTS", "INVALID_CAST_ARGUMENT",
    "INVALID_FUNCTION_ARGUMENT", "NOT_SUPPORTED", "NUMERIC_VALUE_OUT_OF_RANGE",
)  # fmt: skip
"""What TRY turns into NULL."""


def invalid(message: str) -> KernelError:
    """INVALID_FUNCTION_ARGUMENT."""
    return KernelError("INVALID_FUNCTION_ARGUMENT", message)


def unsupported(message: str) -> KernelError:
    """NOT_SUPPORTED."""
    return KernelError("NOT_SUPPORTED", message)


def out_of_range(message: str) -> KernelError:
    """NUMERIC_VALUE_OUT_OF_RANGE."""
    return KernelError("NUMERIC_VALUE_OUT_OF_RANGE", message)


def bad_cast(message: str) -> KernelError:
    """INVALID_CAST_ARGUMENT."""
    return KernelError("INVALID_CAST_ARGUMENT", message)


def by_zero(message: str = "/ by zero") -> KernelError:
    """DIVISION_BY_ZERO."""
    return KernelError("DIVISION_BY_ZERO", message)


def check(condition: bool, message: str) -> None:
    """INVALID_FUNCTION_ARGUMENT unless ``condition``."""
    if not condition:
        raise invalid(message)


@contextmanager
def own_faults() -> Iterator[None]:
    """What Python says of a fault of ours is for the engine's log and not for whoever asked."""
    try:
        yield
    except KernelError:
        raise
    except Exception as error:
        raise KernelError("GENERIC_INTERNAL_ERROR", "A function failed for a reason of its own") from error

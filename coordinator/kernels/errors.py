"""How a kernel fails: an error with the name of one of the coordinator's error codes."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SIGNATURE = re.compile(r"(\bsig=)[^&\s'\"]+", re.IGNORECASE)


class KernelError(Exception):
    """``name`` is an error code's name; the text form is ``NAME: message``, which survives a traceback as text."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return (KernelError, (self.name, self.message))


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Name the file and the right code for anything that goes wrong while reading ``path``."""
    try:
        yield
    except KernelError:
        raise
    except FileNotFoundError as error:
        raise KernelError("ICEBERG_MISSING_DATA", f"File is missing from storage: {path}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, EOFError) as error:
        raise KernelError("ICEBERG_BAD_DATA", f"File cannot be read: {path}: {_line(error)}") from error
    except OSError as error:
        raise KernelError("ICEBERG_CANNOT_OPEN_SPLIT", f"Reading failed: {path}: {_line(error)}") from _shown(error)


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name the file and the right code for anything that goes wrong while writing ``path``."""
    try:
        yield
    except KernelError:
        raise
    except OSError as error:
        if error.errno in _FULL or "No space left" in str(error):
            raise KernelError(
                "GENERIC_INSUFFICIENT_RESOURCES", f"No space left on the executor's storage while writing {path}"
            ) from error
        raise KernelError("ICEBERG_FILESYSTEM_ERROR", f"Writing failed: {path}: {_line(error)}") from _shown(error)


def without_signatures(text: str) -> str:
    """An error's text: of files in Azure, Arrow names addresses with what opens them."""
    return _SIGNATURE.sub(r"\1***", text)


def _shown(error: OSError) -> OSError:
    """The error as logs may have it."""
    text = str(error)
    shown = without_signatures(text)
    return error if shown == text else OSError(shown)


def _line(error: BaseException) -> str:
    text = without_signatures(str(error).strip())
    return text.splitlines()[0] if text else type(error).__name__

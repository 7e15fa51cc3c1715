"""A file of the configuration that may change while the coordinator runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import structlog

from shared.properties import ConfigurationError

_log = structlog.get_logger(__name__)
T = TypeVar("T")
_Stamp = tuple[tuple[int, int, int], ...]


class RefreshedFile(Generic[T]):
    """What ``read`` made of ``file``; read again when it has changed, looked at every ``seconds`` at most.

    A new file that is wrong is logged, and what was known stays. ``seconds`` None: it is never read again.
    """

    def __init__(
        self,
        file: Path,
        read: Callable[[Path], T],
        seconds: float | None,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        beside: tuple[Path, ...] = (),
    ) -> None:
        """``beside``: files whose change counts too. Raises ConfigurationError."""
        self._file, self._read, self._seconds, self._monotonic = file, read, seconds, monotonic
        self._files = (file, *beside)
        self._stamp = self._look()
        self._value = read(file)
        self._looked = monotonic()
        self.problem: str | None = None
        """Why the file as it is now does not count."""

    @property
    def file(self) -> Path:
        return self._file

    def get(self) -> T:
        """The newest right content; in any thread."""
        if self._seconds is None or self._monotonic() - self._looked < self._seconds:
            return self._value
        self._looked = self._monotonic()
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return self._value
        self._stamp = stamp
        try:
            self._value = self._read(self._file)
        except ConfigurationError as error:
            self.problem = str(error)
            _log.error("the file as it was counts on", file=str(self._file), reason=self.problem)
        else:
            self.problem = None
            _log.info("the file was read again", file=str(self._file))
        return self._value

    def _look(self) -> _Stamp | None:
        try:
            found = [file.stat() for file in self._files]
        except OSError:
            return None  # it may just be replaced
        return tuple((status.st_mtime_ns, status.st_size, status.st_ino) for status in found)


class RefreshedFiles:
    """Those that one process reads again, for whoever wants to know whether one of them is wrong."""

    def __init__(self) -> None:
        self._files: list[RefreshedFile[Any]] = []

    def add(self, file: RefreshedFile[T]) -> RefreshedFile[T]:
        self._files.append(file)
        return file

    def wrong(self) -> Mapping[Path, bool]:
        """Each file, and whether what it says now does not count."""
        for each in self._files:
            each.get()
        return {each.file: each.problem is not None for each in self._files}


def read_text(file: Path) -> str:
    """Raises ConfigurationError."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigurationError(f"{file}: cannot be read: {reason}") from error

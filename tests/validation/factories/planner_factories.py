"""Planners for pool tests, importable by planner processes: each obeys the statement's first word."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from coordinator.validation.worker import Planner
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ErrorLocation, ProcessionError, WireErrorCode
from shared.spi.session import Session


def obey(text: str, session: Session) -> PlannedStatement:  # noqa: C901  (one case a verb)
    verb, _, argument = text.partition(" ")
    match verb:
        case "sleep":
            time.sleep(float(argument))
        case "spin":
            until = time.monotonic() + float(argument)
            while time.monotonic() < until:
                pass
        case "fail":
            raise ProcessionError(ErrorCode.SYNTAX_ERROR, argument, location=ErrorLocation(3, 4), retriable=True)
        case "fail-wire":
            raise ProcessionError(WireErrorCode("ACME", 77, "EXTERNAL"), argument)
        case "bug":
            raise KeyError(argument)
        case "recurse":
            return obey(text, session)
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(int(argument))
        case "unpicklable":
            return PlannedStatement("SELECT", (), ReturnRows(((lambda: None,),)))
        case "bytes":
            return PlannedStatement("SELECT", (), ReturnRows(((b"x" * int(argument),),)))
        case "ignore-signals":
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(3600)
        case _:
            pass
    return PlannedStatement("SELECT", (), ReturnRows(((text, session.user, os.getpid()),)))


@dataclass(frozen=True)
class Obedient:
    """The planner above, and a file that counts the starts: those after ``fail_after`` fail, after ``slow_after`` last.

    A slow start lasts until there is a file beside, whose name ends in ``.go``.
    """

    starts: Path | None = None
    fail_after: int | None = None
    slow_after: int | None = None

    def __call__(self) -> Planner:
        if self.starts is not None:
            with self.starts.open("a") as file:
                file.write("x")
            count = len(self.starts.read_text())
            if self.fail_after is not None and count > self.fail_after:
                raise ProcessionError(ErrorCode.GENERIC_INTERNAL_ERROR, "no more planners")
            while self.slow_after is not None and count > self.slow_after:
                if self.starts.with_suffix(".go").exists():
                    break
                time.sleep(0.01)
        return obey


class _Told:
    """Answers with what it was told last."""

    def __init__(self, value: object) -> None:
        self._value = value

    def change(self, value: object) -> None:
        self._value = value

    def __call__(self, text: str, session: Session) -> PlannedStatement:
        if text == "exit":
            os._exit(1)
        return PlannedStatement("SELECT", (), ReturnRows(((self._value,),)))


@dataclass(frozen=True)
class Changeable:
    """A planner that is told of changes; ``value`` is what it knows from the start."""

    value: object = None

    def __call__(self) -> Planner:
        return _Told(self.value)

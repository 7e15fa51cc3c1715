"""Processes that are started when they are needed and used by one statement at a time; fair between users."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from coordinator.engine.execution import Execution
from coordinator.engine.processes.memory import resident_bytes
from coordinator.engine.processes.process import EngineProcess
from shared.errors import ErrorCode, ProcessionError

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class EngineStats:
    """``size`` processes at most, ``alive`` and ``busy`` ones; the rest counts statements up."""

    size: int
    alive: int = 0
    busy: int = 0
    answered: int = 0
    failed: int = 0
    died: int = 0
    busy_refused: int = 0


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """``size`` processes at most, ``each_user`` of them for one user.

    Who has waited for ``patience`` seconds is refused; None waits for ever. Of idle processes ``kept`` stay, without
    those that hold more than ``idle_bytes`` after ``tidy_seconds``: they answer before they give back what their last
    statement took. ``small`` further processes are for small statements alone; one that
    has run for ``small_seconds`` is none any more, and as many more may take its place.
    """

    size: int
    each_user: int
    patience: float | None = None
    kept: int = 2
    idle_bytes: int = 256 << 20
    tidy_seconds: float = 0.5
    small: int = 0
    small_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class _Ticket:
    user: str
    number: int
    small: bool = False
    since: float = field(default_factory=time.monotonic)


class ProcessPool:
    """Thread-safe. ``close`` ends all processes; those taken are given back by ``give_back`` or ``discard``."""

    def __init__(
        self,
        start: Callable[[], EngineProcess],
        limits: PoolLimits,
        name: str,
        room: Callable[[], bool] = lambda: True,
    ) -> None:
        """``room``: whether the machine has memory for one process more than ``limits.size``."""
        self.limits = limits
        self._start, self._name, self._room = start, name, room
        self._idle: list[EngineProcess] = []
        self._running: dict[EngineProcess, _Ticket] = {}
        self._starting: set[_Ticket] = set()
        self._changed = threading.Condition()
        self._line: list[_Ticket] = []
        self._asked = 0
        self._closed = False
        self._stats = EngineStats(size=limits.size)

    def take(self, execution: Execution, *, small: bool = False) -> EngineProcess:
        """A process of the caller's own, first for the user who has the fewest, then in the order of asking.

        ``small``: the statement is expected to take a moment, and does not wait for those that are not.

        Raises ProcessionError: EXCEEDED_LOCAL_MEMORY_LIMIT when patience ends, what ended the execution, and what
        starting a process raises.
        """
        began = time.monotonic()
        with self._changed:
            self._asked += 1
            ticket = _Ticket(execution.session.user, self._asked, small)
            self._line.append(ticket)
        try:
            while True:
                with self._changed:
                    found = self._found(ticket)
                    if isinstance(found, EngineProcess):
                        return found
                    if found:
                        break
                    self._changed.wait(_POLL_SECONDS)
                execution.check_cancelled()
                if self.limits.patience is not None and time.monotonic() > began + self.limits.patience:
                    self.count(busy_refused=1)
                    message = f"All processes of the {self._name} engine are busy"
                    raise ProcessionError(ErrorCode.EXCEEDED_LOCAL_MEMORY_LIMIT, message)
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()
        return self._started(ticket)

    def give_back(self, process: EngineProcess) -> None:
        """It has answered, and may run the next statement."""
        with self._changed:
            self._running.pop(process, None)
            surplus = self._closed or (len(self._idle) >= self.limits.kept and not self._line)
            if not surplus:
                self._idle.append(process)
            self._changed.notify_all()
        if surplus:
            process.kill()
        elif self._is_heavy(process):
            later = threading.Timer(self.limits.tidy_seconds, self._end_if_heavy, [process])
            later.daemon = True
            later.start()

    def _is_heavy(self, process: EngineProcess) -> bool:
        return resident_bytes(process.pid) > self.limits.idle_bytes

    def _end_if_heavy(self, process: EngineProcess) -> None:
        """One that works again by now is looked at when it is given back."""
        if not self._is_heavy(process):
            return
        with self._changed:
            if process not in self._idle:
                return
            self._idle.remove(process)
        process.kill()

    def discard(self, process: EngineProcess) -> None:
        """It is ended."""
        process.kill()
        with self._changed:
            self._running.pop(process, None)
            self._changed.notify_all()

    def running(self) -> list[EngineProcess]:
        """Those that work now."""
        with self._changed:
            return list(self._running)

    def count(self, **more: int) -> None:
        """Add to the counters of ``stats``."""
        with self._changed:
            counted = {name: getattr(self._stats, name) + count for name, count in more.items()}
            self._stats = replace(self._stats, **counted)

    def stats(self) -> EngineStats:
        """Now."""
        with self._changed:
            busy = len(self._running)
            return replace(self._stats, alive=busy + len(self._idle), busy=busy)

    def close(self) -> None:
        """Ends all processes; statements that run fail."""
        with self._changed:
            self._closed = True
            processes = [*self._idle, *self._running]
            self._idle.clear()
            self._changed.notify_all()
        for process in processes:
            process.kill()

    def _found(self, ticket: _Ticket) -> EngineProcess | bool:
        """A process that waits, or whether one may be started for the ticket."""
        if self._closed:
            raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
        working = [*self._running.values(), *self._starting]
        used = Counter(one.user for one in working)
        room = cache(self._room)  # the machine is asked once for all, and only if it matters
        within = [one for one in self._line if used[one.user] < self.limits.each_user]
        waiting = [one for one in within if self._may(one, working, room)]
        if min(waiting, key=lambda one: (used[one.user], one.number), default=None) is not ticket:
            return False
        while self._idle:
            process = self._idle.pop()
            if process.ended():
                process.kill()
                continue
            self._running[process] = replace(ticket, since=time.monotonic())
            return process
        self._starting.add(ticket)
        return True

    def _may(self, ticket: _Ticket, working: Sequence[_Ticket], room: Callable[[], bool]) -> bool:
        """Whether there is a process for a statement beside those that are at work."""
        limits, old = self.limits, time.monotonic() - self.limits.small_seconds
        small = sum(one.small and one.since > old for one in working)
        if not ticket.small:
            return len(working) - small < limits.size
        more = limits.small if small >= limits.small else 2 * limits.small
        return len(working) < limits.size or (len(working) < limits.size + more and room())

    def _started(self, ticket: _Ticket) -> EngineProcess:
        process: EngineProcess | None = None
        try:
            process = self._start()
        finally:
            with self._changed:
                self._starting.discard(ticket)
                closed = self._closed
                if process is not None and not closed:
                    self._running[process] = replace(ticket, since=time.monotonic())
        if closed:
            process.kill()
            raise ProcessionError(ErrorCode.SERVER_SHUTTING_DOWN, "Server is shutting down")
        return process


class Killer:
    """Kills a process as long as it works for one statement: it goes to another one later."""

    def __init__(self, process: EngineProcess) -> None:
        self._process: EngineProcess | None = process
        self._killed = False
        self._lock = threading.Lock()

    def kill(self) -> None:
        """From any thread."""
        with self._lock:
            if self._process is not None:
                self._killed = True
                self._process.kill()

    def disarm(self) -> bool:
        """The statement has ended; says whether its process lives on."""
        with self._lock:
            self._process = None
            return not self._killed

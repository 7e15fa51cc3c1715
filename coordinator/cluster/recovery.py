"""What coordinators that ended left open is taken up by the others, and what this one does while it counts as ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

import structlog

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.5
_TROUBLE_SECONDS = 10.0
"""How long a catalog is left alone in which something could not be settled."""
Recover = Callable[[], Iterable[object]]


class PeerRecovery:
    """Two threads, from ``start`` to ``stop``. ``catalogs`` tells how to recover each that shares its journal.

    ``connected`` tells whether the others take this coordinator to live; while they do not, ``refuse_commits`` is asked
    to let nothing land that one of them may have taken over, until it has.
    """

    def __init__(
        self,
        connected: Callable[[], bool],
        interval: float,
        catalogs: Callable[[], Mapping[str, Recover]],
        refuse_commits: Callable[[], bool],
    ) -> None:
        self._connected, self._interval = connected, interval
        self._catalogs, self._refuse = catalogs, refuse_commits
        self._stopping = threading.Event()
        self._not_before: dict[str, float] = {}
        self._threads = [
            threading.Thread(target=self._recovering, name="peer-recovery", daemon=True),
            threading.Thread(target=self._fencing, name="commit-fence", daemon=True),
        ]

    def start(self) -> None:
        """Returns at once."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Blocks for a moment; what is at work in a catalog ends by itself."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout=5)

    def recover(self, name: str, recover: Recover) -> None:
        """One catalog now, and told in the log."""
        try:
            outcomes = list(recover())
        except Exception as error:
            self._not_before[name] = time.monotonic() + _TROUBLE_SECONDS
            _log.warning("what others left open cannot be taken up yet", catalog=name, reason=str(error))
            return
        for outcome in outcomes:
            _log.info("recovered", catalog=name, outcome=str(outcome))
        if outcomes:
            self._not_before[name] = time.monotonic() + min(_TROUBLE_SECONDS, 5 * self._interval)

    def _recovering(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self._recover_all()
            except Exception as error:
                _log.error("what others left open cannot be looked for", reason=repr(error))

    def _recover_all(self) -> None:
        if not self._connected():
            return
        for name, recover in self._catalogs().items():
            if time.monotonic() >= self._not_before.get(name, 0.0) and not self._stopping.is_set():
                self.recover(name, recover)

    def _fencing(self) -> None:
        refused = False
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                refused = not self._connected() and (refused or self._refuse_now())
            except Exception as error:
                _log.error("writes that are under way cannot be refused yet", reason=repr(error))

    def _refuse_now(self) -> bool:
        refused = self._refuse()
        if refused:
            _log.warning("no write that was under way commits: other coordinators may have taken it over")
        return refused

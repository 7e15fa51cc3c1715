"""The sidecar of ``procession up``: one child on one port, started again when it ends or says nothing any more."""

from __future__ import annotations

import http.client
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from coordinator.engine.ports import reserved_port
from coordinator.engine.spark.child import GuardedChild
from coordinator.security.child_environment import child_environment
from shared.protocol.internal_authentication import SECRET_VARIABLE
from shared.protocol.sidecar import INFO_PATH

_LOG = logging.getLogger(__name__)
_START_SECONDS = 60.0
_LOOK_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0
"""Between two attempts to start a sidecar that does not start."""


class SidecarStartError(Exception):
    """The sidecar did not come up; the text ends with its last words."""


class SidecarChild:
    """A sidecar that answers at ``url`` from its making on until ``stop``, but for the seconds of a restart."""

    def __init__(self, log_file: Path, secret: str, silence: float, options: Sequence[str] = ()) -> None:
        """Starts it on a free port, for those who know ``secret``; raises SidecarStartError or OSError.

        ``silence``: seconds without an answer after which it is ended and started again.
        """
        self._log_file, self._secret, self._silence = log_file, secret, silence
        self._options = options
        self._port, self._holding = reserved_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._stopping = threading.Event()
        try:
            self._child = self._start()
        except BaseException:
            self._holding.close()
            raise
        self._keeper = threading.Thread(target=self._keep, name="sidecar-keeper", daemon=True)
        self._keeper.start()

    def stop(self) -> None:
        """Returns when no process of it is left."""
        self._stopping.set()
        self._keeper.join(timeout=2 * _START_SECONDS)
        self._child.stop()
        self._holding.close()

    def _keep(self) -> None:
        pause, heard, asked, unheard = _LOOK_SECONDS, time.monotonic(), time.monotonic(), 0
        while not self._stopping.wait(pause):
            if self._child.poll() is None:
                if time.monotonic() - asked < self._silence / 6:
                    continue
                answered = self._answers()
                asked = time.monotonic()
                heard, unheard = (asked, 0) if answered else (heard, unheard + 1)
                # One look in vain may be all there was: this process may have stood still itself.
                if unheard < 2 or asked - heard < self._silence:
                    continue
                _LOG.warning("the sidecar says nothing for %d s; starting it again", asked - heard)
            else:
                _LOG.warning("the sidecar ended; starting it again: %s", self._child.last_lines())
            self._child.stop()
            try:
                self._child = self._start()
                pause, heard, unheard = _LOOK_SECONDS, time.monotonic(), 0
                _LOG.warning("the sidecar answers again")
            except (SidecarStartError, OSError) as error:
                _LOG.error("%s", error)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _answers(self) -> bool:
        """Whatever it answers."""
        return self._status(timeout=max(self._silence / 3, 1.0)) is not None

    def _status(self, timeout: float) -> int | None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout)
        try:
            connection.request("GET", INFO_PATH)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return answer.status

    def _start(self) -> GuardedChild:
        command = [sys.executable, "-m", "sidecar", "--port", str(self._port), *self._options]
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        variables = {"PYTHONPATH": path, SECRET_VARIABLE: self._secret}
        child = GuardedChild(command, env=child_environment() | variables, log_file=self._log_file)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and child.poll() is None and not self._stopping.is_set():
            if self._status(timeout=1.0) == http.HTTPStatus.OK:
                return child
            time.sleep(0.05)
        if self._stopping.is_set():
            return child
        words = child.last_lines()
        child.stop()
        last = next(filter(None, reversed(words.splitlines())), "it said nothing").strip()
        flags = "its flags come from sidecar.options; " if self._options else ""
        raise SidecarStartError(f"the sidecar did not start: {last} ({flags}its log: {self._log_file})")

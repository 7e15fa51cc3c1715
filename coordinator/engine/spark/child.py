"""A child process that cannot outlive its parent (see guard.py)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

_GUARD = Path(__file__).with_name("guard.py")


class GuardedChild:
    """One running command. ``stop`` is idempotent and returns when no process of it is left."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        log_file: Path,
        cwd: Path | None = None,
        silence: float | None = None,
    ) -> None:
        """Start ``command`` with both outputs appended to ``log_file``; raises OSError.

        It is killed when this process was suspended for ``silence`` seconds, too.
        """
        self.command = tuple(command)
        self.log_file = log_file
        self._writing = threading.Lock()
        log_file.parent.mkdir(parents=True, exist_ok=True)
        limit = [] if silence is None else [f"--silence={silence}"]
        with log_file.open("ab") as log:
            self._log_start = log.tell()
            # An own session keeps Ctrl-C at a terminal from reaching the child before its parent stops it in order.
            self._process = subprocess.Popen(  # noqa: S603 - Java, with arguments of the configuration alone
                [sys.executable, "-I", "-S", str(_GUARD), *limit, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        if silence is not None:
            beats = threading.Thread(target=self._beat, args=(silence / 6,), name="guard-heartbeat", daemon=True)
            beats.start()

    @property
    def pid(self) -> int:
        """Of the guard; the command is its only direct child."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; raises subprocess.TimeoutExpired."""
        return self._process.wait(timeout)

    def stop(self, timeout: float = 30.0) -> None:
        """SIGTERM, then SIGKILL after the guard's grace period; ``timeout`` seconds at most for the whole."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        stdin: BinaryIO | None = self._process.stdin  # type: ignore[assignment]
        if stdin is not None:
            with self._writing:
                stdin.close()

    def _beat(self, interval: float) -> None:
        """Tell the guard that this process is at work."""
        assert self._process.stdin is not None
        while self.poll() is None:
            try:
                with self._writing:  # the number of a file that was closed may be another's by now
                    os.write(self._process.stdin.fileno(), b".")
            except (OSError, ValueError):  # it has ended, or is being stopped
                return
            time.sleep(interval)

    def last_lines(self, count: int = 5) -> str:
        """The end of what this child wrote to its log, for error texts."""
        try:
            with self.log_file.open("rb") as log:
                log.seek(max(self._log_start, self.log_file.stat().st_size - 8192))
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-count:])

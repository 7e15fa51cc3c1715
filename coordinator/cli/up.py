"""``procession up``: a sidecar child and a coordinator, which starts Spark itself; nothing outlives this process."""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx

from coordinator.app import Overrides, check_exposure, serve
from coordinator.config import read_config
from coordinator.engine.spark.child import GuardedChild
from coordinator.security.child_environment import child_environment
from coordinator.security.private_files import keep_files_private
from shared.properties import ConfigurationError

_START_SECONDS = 60.0


class SidecarStartError(Exception):
    """The sidecar did not come up; the text ends with its last words."""


def up(etc: Path, overrides: Overrides, ready: Callable[[str], None] = print) -> int:
    """Serve until Ctrl-C, SIGTERM or a graceful shutdown. 0 after a clean stop, 2 when it could not start."""
    if overrides.sidecar_url is not None:
        return serve(etc, overrides, ready)
    try:
        data_dir = _check(etc, overrides)
    except ConfigurationError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    try:
        child, url = start_sidecar(data_dir.absolute() / "logs" / "sidecar.log")
    except SidecarStartError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    try:
        return serve(etc, replace(overrides, sidecar_url=url), ready)
    finally:
        child.stop()


def _check(etc: Path, overrides: Overrides) -> Path:
    """The data directory of a configuration that can start; raises ConfigurationError before any child is made."""
    config = read_config(etc)
    settings = config.coordinator
    check_exposure(settings)
    port = settings.http_port if overrides.http_port is None else overrides.http_port
    try:
        socket.create_server((settings.http_host, port)).close()
    except OSError as error:
        reason = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise ConfigurationError(f"cannot listen on {settings.http_host}:{port}: {reason}") from error
    data_dir = overrides.data_dir or config.node.data_dir
    keep_files_private(data_dir)
    return data_dir


def start_sidecar(log_file: Path) -> tuple[GuardedChild, str]:
    """A sidecar on a free port that answers, and its base address; raises SidecarStartError."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sidecar", "--port", str(port)]
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    child = GuardedChild(command, env=child_environment() | {"PYTHONPATH": path}, log_file=log_file)
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        try:
            if httpx.get(f"{url}/v1/info", timeout=1.0).is_success:
                return child, url
        except httpx.TransportError:
            time.sleep(0.05)
    words = child.last_lines()
    child.stop()
    raise SidecarStartError(f"the sidecar did not start (log: {log_file}): {words}")

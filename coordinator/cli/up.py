"""``procession up``: a sidecar child and a coordinator, which starts Spark itself; nothing outlives this process."""

from __future__ import annotations

import errno
import shlex
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from coordinator.app import Overrides, check_exposure, check_writable, serve
from coordinator.cli.sidecar_child import SidecarChild, SidecarStartError
from coordinator.config import read_config
from coordinator.security.private_files import keep_files_private
from shared.properties import ConfigurationError


def up(etc: Path, overrides: Overrides, ready: Callable[[str], None] = print) -> int:
    """Serve until Ctrl-C, SIGTERM or a graceful shutdown. 0 after a clean stop, 2 when it could not start."""
    if overrides.sidecar_url is not None:
        return serve(etc, overrides, ready)
    try:
        data_dir, options = _check(etc, overrides)
    except ConfigurationError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    try:
        sidecar = SidecarChild(data_dir.absolute() / "logs" / "sidecar.log", options)
    except (SidecarStartError, OSError) as error:
        sys.stderr.write(f"procession: {error}\n".replace("\n", " ").rstrip() + "\n")
        return 2
    try:
        return serve(etc, replace(overrides, sidecar_url=sidecar.url), ready)
    finally:
        sidecar.stop()


def _check(etc: Path, overrides: Overrides) -> tuple[Path, list[str]]:
    """The data directory of a configuration that can start, and the sidecar's flags.

    Raises ConfigurationError before any child is made.
    """
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
    check_writable(data_dir)
    keep_files_private(data_dir)
    try:
        return data_dir, shlex.split(settings.sidecar_options)
    except ValueError as error:
        raise ConfigurationError(
            f"invalid value '{settings.sidecar_options}' for 'sidecar.options': {error}"
        ) from error

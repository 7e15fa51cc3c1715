"""``procession up``: a sidecar child and a coordinator, which starts Spark itself; nothing outlives this process."""

from __future__ import annotations

import errno
import shlex
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe

from coordinator.app import Overrides, serve
from coordinator.cli.sidecar_child import SidecarChild, SidecarStartError
from coordinator.config import CoordinatorSettings, read_config
from coordinator.data_directory import check_writable
from coordinator.exposure import check_exposure
from coordinator.security.private_files import keep_files_private
from shared.properties import ConfigurationError


def up(etc: Path, overrides: Overrides, ready: Callable[[str], None] = print) -> int:
    """Serve until Ctrl-C, SIGTERM or a graceful shutdown. 0 after a clean stop, 2 when it could not start."""
    if overrides.sidecar_url is not None:
        return serve(etc, overrides, ready)
    try:
        data_dir, settings, configured, options = _check(etc, overrides)
    except ConfigurationError as error:
        sys.stderr.write(f"procession: {error}\n")
        return 2
    try:
        secret = configured or token_urlsafe(32)
        log_file = data_dir.absolute() / "logs" / "sidecar.log"
        sidecar = SidecarChild(log_file, secret, settings.sidecar_watchdog_timeout, options)
    except (SidecarStartError, OSError) as error:
        sys.stderr.write(f"procession: {error}\n".replace("\n", " ").rstrip() + "\n")
        return 2
    try:
        return serve(etc, replace(overrides, sidecar_url=sidecar.url, sidecar_secret=secret), ready)
    finally:
        sidecar.stop()


def _check(etc: Path, overrides: Overrides) -> tuple[Path, CoordinatorSettings, str | None, list[str]]:
    """Data directory, settings and shared secret of a configuration that can start, and the sidecar's flags.

    Raises ConfigurationError, before any child is made.
    """
    config = read_config(etc)
    settings = config.coordinator
    check_exposure(settings, config.https, config.authentication)
    if config.https.http_enabled:
        _check_port(settings.http_host, settings.http_port if overrides.http_port is None else overrides.http_port)
    if config.https.enabled:
        _check_port(settings.http_host, config.https.port)
    data_dir = overrides.data_dir or config.node.data_dir
    check_writable(data_dir)
    keep_files_private(data_dir)
    try:
        options = shlex.split(settings.sidecar_options)
    except ValueError as error:
        raise ConfigurationError(
            f"invalid value '{settings.sidecar_options}' for 'sidecar.options': {error}"
        ) from error
    return data_dir, settings, config.internal.shared_secret, options


def _check_port(host: str, port: int) -> None:
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        reason = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise ConfigurationError(f"cannot listen on {host}:{port}: {reason}") from error

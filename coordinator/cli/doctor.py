"""``procession doctor``: what this machine lacks to run a coordinator, each with the exact fix."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from coordinator.checks.providers import load_plan_checkers
from coordinator.config import CoordinatorConfig, read_config
from coordinator.connectors.registry import Catalogs
from coordinator.engine.spark.jars import JarsUnavailableError, missing_jars, resolve_jars
from coordinator.engine.spark.java import JavaNotFoundError, find_java
from coordinator.engine.spark.remote_address import without_secrets
from coordinator.engine.spark.server import SparkStartError, pyspark_home
from coordinator.engine.spark.settings import default_jar_cache
from coordinator.exposure import why_exposed
from coordinator.security.access_control.load import load_access_policy
from coordinator.security.authentication.load import load_authentication
from coordinator.security.redaction import is_secret_name
from coordinator.server.tls import load_tls
from coordinator.values.settings_files import find_file
from shared.properties import ConfigurationError, read_properties
from shared.units import format_data_size

_DISK = 2 << 30
_BESIDE_SPARK = 1 << 30
_CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``fix`` is None when it is as it should be."""

    name: str
    detail: str
    fix: str | None = None


def doctor(etc: Path, port: int | None = None, data_dir: Path | None = None, *, fix: bool = False) -> int:
    """Print one line a finding; 0 when nothing is missing, 1 otherwise. ``fix`` fetches missing jars."""
    return tell(list(examine(etc, port, data_dir, fix=fix)))


def tell(findings: Sequence[Finding]) -> int:
    """Print one line a finding; 0 when nothing is wrong, 1 otherwise."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok     " if finding.fix is None else "PROBLEM"
        sys.stdout.write(f"{mark} {finding.name:<{width}}  {finding.detail}\n")
        if finding.fix is not None:
            sys.stdout.write(f"{'':8}{'':<{width}}  fix: {finding.fix}\n")
    problems = sum(finding.fix is not None for finding in findings)
    sys.stdout.write("nothing is missing\n" if not problems else f"{problems} to fix\n")
    return 1 if problems else 0


def examine(etc: Path, port: int | None, data_dir: Path | None, *, fix: bool) -> Iterator[Finding]:
    """Every finding; what needs a readable configuration is left out when there is none."""
    yield check_python(sys.version_info[:2])
    yield check_velox(platform.system(), platform.machine())
    configuration, config = check_configuration(etc)
    yield configuration
    remote = config.spark.remote if config is not None else None
    if remote is not None:
        yield check_remote("Spark Connect", remote)
    else:
        yield check_java()
        yield check_jars(config.spark.packages if config else (), default_jar_cache(), fetch=fix)
    if config is None:
        return
    if config.coordinator.sidecar_url is not None:
        yield check_remote("sidecar", config.coordinator.sidecar_url)
    yield check_exposed(config)
    if config.https.http_enabled:
        yield check_port(config.coordinator.http_host, config.coordinator.http_port if port is None else port)
    if config.https.enabled:
        yield check_port(config.coordinator.http_host, config.https.port)
    yield check_disk((data_dir or config.node.data_dir).absolute())
    if remote is None:
        yield check_memory(config.spark.heap_size, available_memory())


def check_python(version: tuple[int, ...]) -> Finding:
    """3.11 and 3.12 have wheels of pyvelox."""
    text = ".".join(map(str, version))
    if version in ((3, 11), (3, 12)):
        return Finding("python", f"{text} at {sys.executable}")
    return Finding("python", f"{text} at {sys.executable}", "use Python 3.11 or 3.12: make setup PYTHON=python3.12")


def check_velox(system: str, machine: str) -> Finding:
    """Whether pyvelox loads; tried in a child, since a native library may end its process."""
    if (system, machine) != ("Linux", "x86_64"):
        fix = "run the sidecar from docker/sidecar.Dockerfile and name it with sidecar.uri"
        return Finding("velox", f"pyvelox has no wheel for {system} {machine}", fix)
    tried = subprocess.run([sys.executable, "-c", "import pyvelox"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return Finding("velox", "pyvelox loads")
    last = tried.stderr.strip().splitlines()[-1:] or [f"exit code {tried.returncode}"]
    return Finding("velox", f"pyvelox does not load: {last[0]}", "pip install 'pyvelox==0.2.0'")


def check_configuration(etc: Path) -> tuple[Finding, CoordinatorConfig | None]:
    """Every file below ``etc``, catalogs and plan checkers included."""
    try:
        config = read_config(etc)
        catalogs = Catalogs(config.catalogs)
        catalogs.spark_conf()
        load_plan_checkers(etc / "plan-checker-providers", {"native": _ANY_SIDECAR})
        load_tls(etc, config.https)
        control = load_access_policy(etc, catalogs, authenticated=bool(config.authentication.types)).control
        load_authentication(etc, config.authentication, config.oauth2, config.coordinator.principal_header, control)
    except ConfigurationError as error:
        located = re.match(r"(?P<file>.+?):(?P<line>\d+): ", str(error))
        fix = f"correct line {located['line']} of {located['file']}" if located else "name one with --etc DIR"
        return Finding("configuration", str(error), f"{fix} (docs/configuration.md lists every setting)"), None
    names = ", ".join(catalogs.names()) or "none"
    return Finding("configuration", f"{etc}, catalogs: {names}"), config


_ANY_SIDECAR = {"native-plan-checker.sidecar-uri": "http://127.0.0.1:7778"}


def check_java() -> Finding:
    """Java 17 or newer, and where it was found."""
    try:
        return Finding("java", str(find_java(os.environ)))
    except JavaNotFoundError as error:
        detail, _, fix = str(error).partition(" Fix: ")
        return Finding("java", detail, fix)


def check_jars(packages: Iterable[str], cache: Path, *, fetch: bool) -> Finding:
    """pyspark itself, and the jars that the embedded server needs."""
    wanted = tuple(packages)
    try:
        home = pyspark_home()
    except SparkStartError as error:
        detail, _, fix = str(error).partition("; fix: ")
        return Finding("spark", detail, fix)
    missing = missing_jars(wanted, cache)
    if missing and fetch:
        try:
            resolve_jars(wanted, cache, find_java(os.environ), home)
        except (JarsUnavailableError, JavaNotFoundError) as error:
            detail, _, fix = str(error).partition(" Fix: ")
            return Finding("spark", detail, fix)
        missing = []
    if missing:
        names = ", ".join(str(coordinate) for coordinate in missing)
        return Finding("spark", f"not in {cache}: {names}", "procession doctor --fix, with a network (once)")
    return Finding("spark", f"pyspark at {home}, {len(wanted)} jars in {cache}")


def check_remote(name: str, url: str) -> Finding:
    """Whether something listens at ``sc://host:port`` or ``http://host:port``."""
    parts = urlsplit(url)
    port = parts.port or (15002 if parts.scheme == "sc" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS):
            return Finding(name, f"{parts.hostname}:{port} takes connections")
    except OSError as error:
        return Finding(
            name, f"{parts.hostname}:{port}: {error}", f"start it, or correct its address ({without_secrets(url)})"
        )


def check_exposed(config: CoordinatorConfig) -> Finding:
    """Who may come in, and whether files that hold secrets are for their owner alone."""
    settings = config.coordinator
    problem = why_exposed(settings, config.https, config.authentication)
    if problem is not None:
        allowed = ", and is allowed to" if settings.allow_unauthenticated else ", so that it does not start"
        fix = "set http-server.authentication.type (docs/authentication.md), or http-server.http.host=127.0.0.1"
        return Finding("exposure", f"{settings.http_host} lets everybody in: {problem}{allowed}", fix)
    open_files = sorted(str(file) for file in _secret_files(config) if file.stat().st_mode & 0o077)
    if open_files:
        fix = f"chmod 600 {' '.join(open_files)}"
        return Finding("exposure", f"other users of this machine read {', '.join(open_files)}", fix)
    types = ", ".join(config.authentication.types)
    return Finding("exposure", f"{settings.http_host}, {f'authenticated by {types}' if types else 'this machine only'}")


def _secret_files(config: CoordinatorConfig) -> Iterator[Path]:
    """Files of the configuration that say passwords, keys or hashes."""
    for file in sorted(config.etc.rglob("*.properties")):
        entries = read_properties(file)
        lines = file.read_text(encoding="utf-8").splitlines()
        if any(_says_secret(entry.name, lines[entry.line - 1]) for entry in entries.values()):
            yield file
        hashes = entries.get("file.password-file")
        if hashes is not None:
            yield find_file(config.etc, Path(hashes.value), file)
    if config.https.enabled and config.https.keystore_path is not None:
        yield find_file(config.etc, config.https.keystore_path, config.etc / "config.properties")


def _says_secret(name: str, line: str) -> bool:
    """Not where the secret is in another file, or in the environment."""
    return is_secret_name(name) and not name.endswith(("-file", "-files", ".path", ".name")) and "${ENV:" not in line


def check_port(host: str, port: int) -> Finding:
    """Whether the coordinator could listen there."""
    try:
        with socket.create_server((host, port)):
            return Finding("port", "a free one is taken" if port == 0 else f"{host}:{port} is free")
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return Finding(
                "port", f"{host}:{port}: {error.strerror}", "set http-server.http.host and http-server.http.port"
            )
        user = "a coordinator" if _answers(host, port) else "another program"
        fix = "stop it, or choose another port: --port or http-server.http.port"
        return Finding("port", f"{user} listens on {host}:{port}", fix)


def _answers(host: str, port: int) -> bool:
    try:
        return "nodeVersion" in httpx.get(f"http://{host}:{port}/v1/info", timeout=_CONNECT_SECONDS).json()
    except (httpx.HTTPError, ValueError):
        return False


def check_disk(data_dir: Path) -> Finding:
    """Room and the right to write in the data directory, or where it would be made."""
    existing = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        return Finding("disk", f"{existing} is not writable", f"chown it to {os.getuid()}, or set node.data-dir")
    free = shutil.disk_usage(existing).free
    detail = f"{format_data_size(free)} free for {data_dir}"
    if free >= _DISK:
        return Finding("disk", detail)
    return Finding("disk", detail, f"free {format_data_size(_DISK - free)}, or set node.data-dir to a larger disk")


def check_memory(heap: int, available: int | None) -> Finding:
    """Room for Spark's heap beside coordinator, planners and sidecar; ``available`` in bytes, None when unknown."""
    needed = heap + _BESIDE_SPARK
    if available is None:
        return Finding("memory", f"unknown; {format_data_size(needed)} are needed")
    detail = f"{format_data_size(available)} available, {format_data_size(needed)} are needed"
    if available >= needed:
        return Finding("memory", detail)
    return Finding("memory", detail, "end other programs, or set spark.driver-memory in etc/config.properties")


def available_memory() -> int | None:
    """Bytes that new programs can use, as Linux estimates it."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else None

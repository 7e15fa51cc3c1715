"""The embedded Spark Connect server: one child JVM, started by calling java directly (docs/adr/0002)."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shlex
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from coordinator.engine.ports import reserved_port
from coordinator.engine.spark.child import GuardedChild
from coordinator.engine.spark.class_archive import LISTING, Archiver, ClassArchive, flags, jars_of
from coordinator.engine.spark.jars import resolve_jars
from coordinator.engine.spark.java import Java, find_java
from coordinator.engine.spark.kernel_package import unpack_kernels
from coordinator.engine.spark.our_classes import LOCAL_FILES, OUR_JAR, with_our_catalogs
from coordinator.engine.spark.passed_settings import with_our_extensions
from coordinator.engine.spark.settings import SparkSettings
from coordinator.security.child_environment import JAVA, STORES, child_environment

_LOG = logging.getLogger(__name__)
_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
_OPENS = [
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
]
_WITH_OWN_SECRET = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?")
"""Masters for which Spark makes the secret of ``spark.authenticate`` itself."""
_ARROW_POOL, _REWRITES_POOL = "ARROW_DEFAULT_MEMORY_POOL", "jemalloc"
_BOOTSTRAP = Path(__file__).with_name("bootstrap")
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


class SparkStartError(Exception):
    """The server did not come up; the text holds its last words and where the whole log is."""


class EmbeddedServer:
    """A running server. ``url`` holds the token; ``child`` ends with this process, however it ends."""

    def __init__(
        self,
        child: GuardedChild,
        port: int,
        token: str,
        java: Java,
        archiver: Archiver | None = None,
        catalog_conf: Mapping[str, str] = {},
    ) -> None:
        self.child = child
        self.catalog_conf = catalog_conf
        """What it was told of catalogs when it was started."""
        self._archiver = archiver
        self.port = port
        self.java = java
        self._token = token
        self._given_up = threading.Event()

    @property
    def url(self) -> str:
        # Not 127.0.0.1: with a token in the URL the client switches to TLS for every host but "localhost".
        return f"sc://localhost:{self.port}/;token={self._token}"

    @property
    def alive(self) -> bool:
        return not self._given_up.is_set() and self.child.poll() is None

    @property
    def gone(self) -> bool:
        """Its process has ended; one that was given up may live on for a while."""
        return self.child.poll() is not None

    def give_up(self) -> None:
        """It lives and is of no use: count it as ended from now on. ``stop`` must follow."""
        self._given_up.set()

    def stop(self) -> None:
        """End the JVM and its Python workers; every session must be stopped before."""
        if self._archiver is not None:
            self._archiver.stop()
        self.child.stop()


def start_server(
    settings: SparkSettings,
    catalog_conf: Mapping[str, str],
    given_up: Callable[[], bool] = lambda: False,
    *,
    beside: bool = False,
) -> EmbeddedServer:
    """Start the server and wait until it takes connections; ``beside`` another one, whose files stay.

    Raises SparkStartError, JavaNotFoundError or JarsUnavailableError. ``given_up`` is polled while waiting.
    """
    port, holding = reserved_port()
    with holding:
        return _started(port, settings, catalog_conf, given_up, beside=beside)


def _started(
    port: int, settings: SparkSettings, catalog_conf: Mapping[str, str], given_up: Callable[[], bool], *, beside: bool
) -> EmbeddedServer:
    java = find_java(os.environ)
    home = pyspark_home()
    jars = [*resolve_jars(settings.packages, settings.jar_cache, java, home), *settings.jars, OUR_JAR]
    _prepare(settings.work_dir, beside=beside)
    token = secrets.token_hex(16)
    conf = _spark_conf(settings, catalog_conf, port, jars)
    class_path = jars_of([*jars, home / "jars" / "*"])
    archive = ClassArchive(java, class_path, settings.jar_cache / "class-archives")
    archiving = (
        flags(archive, settings.work_dir / "tmp" / "classes.lst") if settings.class_archive and not beside else []
    )
    arguments = [*archiving, *_java_arguments(settings, conf, class_path)]
    environment = _environment(settings, token, home)
    command = [str(java.executable), f"@{_write_arguments(settings.work_dir, arguments)}", _MAIN]
    child = GuardedChild(
        command, env=environment, log_file=settings.log_file, cwd=settings.work_dir, silence=settings.silence
    )
    archiver = Archiver(archive, settings.work_dir / "tmp" / "classes.lst", settings.work_dir)
    server = EmbeddedServer(child, port, token, java, archiver, with_our_catalogs(catalog_conf))
    try:
        _await_port(server, settings, given_up)
    except BaseException:
        server.stop()
        raise
    if any(flag.startswith(LISTING) for flag in archiving):
        archiver.start()
    return server


def pyspark_home() -> Path:
    """The installed pyspark package's directory."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkStartError("pyspark is not installed; fix: pip install 'pyspark[connect]==4.1.*'")
    return Path(spec.origin).parent


def _prepare(work_dir: Path, *, beside: bool) -> None:
    if beside:
        return
    shutil.rmtree(work_dir / "tmp", ignore_errors=True)
    for name in ("tmp", "logs", "kernels"):
        (work_dir / name).mkdir(parents=True, exist_ok=True)
    (work_dir / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    unpack_kernels(work_dir / "kernels")


def _spark_conf(
    settings: SparkSettings, catalog_conf: Mapping[str, str], port: int, jars: Sequence[Path]
) -> dict[str, str]:
    conf = {
        "spark.master": settings.master,
        "spark.app.name": "procession",
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.progress.reportInterval": "200ms",
        "spark.connect.session.manager.defaultSessionTimeout": "24h",
        "spark.local.dir": str(settings.work_dir / "tmp"),
        "spark.sql.warehouse.dir": str(settings.work_dir / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(max(8, 4 * (os.cpu_count() or 1))),
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
        "spark.python.worker.reuse": "true",
        # The worker of a cancelled task holds its slot for this long.
        "spark.python.task.killTimeout": "100ms",
    }
    if settings.on_cluster:
        conf["spark.jars"] = ",".join(str(jar) for jar in jars)
        # For the drivers of databases, as below.
        given = settings.conf.get("spark.executor.extraJavaOptions", "")
        executor_options = {"spark.executor.extraJavaOptions": f"-Duser.timezone=UTC {given}".rstrip()}
    else:
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        conf["spark.python.daemon.module"] = "procession_spark_daemon"
        conf["spark.hadoop.fs.file.impl"] = LOCAL_FILES
        # A stack overflow in a task ends the task: to Spark it is a reason to end the process, for all statements.
        conf["spark.executor.killOnFatalError.depth"] = "0"
        executor_options = {}
    if _WITH_OWN_SECRET.fullmatch(settings.conf.get("spark.master", settings.master)):
        # For its ports, to which other users of the machine can connect.
        conf["spark.authenticate"] = "true"
    elif settings.conf.get("spark.authenticate") != "true":
        _LOG.warning("Spark's connections to the cluster are not authenticated (docs/clusters.md)")
    conf |= with_our_catalogs(catalog_conf)
    iceberg = any("iceberg-spark-runtime" in jar.name for jar in jars)
    return conf | with_our_extensions(settings.conf, iceberg=iceberg) | executor_options


def _java_arguments(settings: SparkSettings, conf: Mapping[str, str], class_path: Sequence[Path]) -> list[str]:
    return [
        f"-Xmx{settings.heap_size}",
        f"-XX:MaxDirectMemorySize={settings.direct_size}",
        "-XX:+IgnoreUnrecognizedVMOptions",
        # Spark's parser, its rules and code that is too large to compile walk expressions by recursion.
        "-Xss16m",
        # On any number of cores: before JDK 26 no other collector counts a full heap as out of memory (below).
        "-XX:+UseParallelGC",
        # Loading its classes is no reason to collect the whole heap, which a start did four times.
        "-XX:MetaspaceSize=256m",
        # A server without memory answers nobody, or lives on with parts of it dead: it ends, and a new one is started.
        "-XX:+ExitOnOutOfMemoryError",
        # Collections that free next to nothing count as out of memory; by default only at 98 % of the time.
        "-XX:GCTimeLimit=90",
        "-XX:GCHeapFreeLimit=5",
        # Frames tell a damaged file from anything else (unreadable_files.py), also when it is met often.
        "-XX:-OmitStackTraceInFastThrow",
        "-Xshare:auto",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENS),
        "--enable-native-access=ALL-UNNAMED",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.allocator.type=pooled",
        # JDBC drivers read timestamps in the zone of the machine, and Spark shows them in that of the session.
        "-Duser.timezone=UTC",
        f"-Djava.io.tmpdir={settings.work_dir / 'tmp'}",
        f"-Dlog4j2.configurationFile={settings.work_dir / 'log4j2.properties'}",
        *(f"-D{name}={value}" for name, value in conf.items()),
        # Who starts Java by Spark's own script does these two.
        *shlex.split(conf.get("spark.driver.extraJavaOptions", "")),
        *shlex.split(settings.java_options),
        "-cp",
        os.pathsep.join([*filter(None, [conf.get("spark.driver.extraClassPath")]), *map(str, class_path)]),
    ]


def _write_arguments(work_dir: Path, arguments: Sequence[str]) -> Path:
    """An argument file only its owner can read: catalogs' passwords must not show in the process list."""
    file = work_dir / "java.args"
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        for argument in arguments:
            escaped = argument.replace("\\", "\\\\").replace('"', '\\"')
            out.write(f'"{escaped}"\n')
    return file


def _environment(settings: SparkSettings, token: str, home: Path) -> dict[str, str]:
    path = [str(settings.work_dir / "kernels"), str(_BOOTSTRAP), os.environ.get("PYTHONPATH", "")]
    # Executors elsewhere connect to the driver, and have their own Python; of this machine's it is the one that runs.
    given = settings.conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    place = {} if settings.on_cluster else {"SPARK_LOCAL_IP": "127.0.0.1"}
    return child_environment(*JAVA, *STORES) | {
        "SPARK_HOME": str(home),
        **place,
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "PYSPARK_PYTHON": given if settings.on_cluster else sys.executable,
        "PYTHONPATH": os.pathsep.join(part for part in path if part),
        **_arrow_pool(),
    }


def _arrow_pool() -> dict[str, str]:
    """Of Arrow's allocators the one with which a rewrite takes least time and memory; who sets another decides."""
    if given := os.environ.get(_ARROW_POOL):
        return {_ARROW_POOL: given}
    known: list[str] = pa.lib.supported_memory_backends()
    return {_ARROW_POOL: _REWRITES_POOL} if _REWRITES_POOL in known else {}


def _await_port(server: EmbeddedServer, settings: SparkSettings, given_up: Callable[[], bool]) -> None:
    deadline = time.monotonic() + settings.start_timeout
    while time.monotonic() < deadline:
        if not server.alive:
            raise SparkStartError(f"Spark ended while starting: {_last_words(server, settings)}")
        if given_up():
            raise SparkStartError("the start of Spark was given up")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.05)
    raise SparkStartError(f"Spark did not start in {settings.start_timeout:.0f} s: {_last_words(server, settings)}")


def _last_words(server: EmbeddedServer, settings: SparkSettings) -> str:
    """The exception that ended it rather than the frames below: a client may read this."""
    lines = [line.strip() for line in server.child.last_lines(80).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... "))]
    causes = [line for line in lines if re.search(r"\w(Exception|Error)\b", line)] or lines or ["it said nothing"]
    return f"{causes[-1]} (whole log: {settings.log_file})"

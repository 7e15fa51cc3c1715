"""Settings of the Spark engine; `coordinator.config` fills them from `spark.*` in etc/config.properties."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.8",
)
SESSION_CONF = {
    # Presto's decimals keep their scale; a map keeps one value of a repeated key; text is never silently NULL.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Text with ${…} in it stays as it is.
    "spark.sql.variable.substitute": "false",
    # Spark's UI and event log show every request, options of readers among them.
    "spark.sql.redaction.string.regex": r'(?s)key: "password"\s+value: "(?:[^"\\]|\\.)*"',
}


def default_jar_cache() -> Path:
    """``PROCESSION_JAR_CACHE``, else ``procession/jars`` under the user's cache directory."""
    chosen = os.environ.get("PROCESSION_JAR_CACHE")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "procession" / "jars"


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How Spark is reached or started.

    ``work_dir`` holds everything that the embedded server writes: logs/, kernels, scratch space.
    ``remote`` is ``sc://host:port`` of a server that others run; with it every other field is unused.
    ``driver_memory`` is a JVM heap size such as ``2g``. ``conf`` is added to the server's Spark settings and wins.
    ``start_timeout`` is in seconds. Every ``watchdog_interval`` seconds the server is asked something small; one that
    does not answer within ``watchdog_timeout`` is given up.
    """

    work_dir: Path
    remote: str | None = None
    warm_up: bool = False
    driver_memory: str = "2g"
    master: str = "local[*]"
    packages: tuple[str, ...] = DEFAULT_PACKAGES
    jars: tuple[Path, ...] = ()
    jar_cache: Path = field(default_factory=default_jar_cache)
    conf: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 120.0
    watchdog_interval: float = 5.0
    watchdog_timeout: float = 20.0

    @property
    def log_file(self) -> Path:
        return self.work_dir / "logs" / "spark.log"

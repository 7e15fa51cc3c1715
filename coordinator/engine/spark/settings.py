"""Settings of the Spark engine: ``spark.*`` of etc/config.properties."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from coordinator.engine.spark.memory import default_heap, direct_memory, reader_memory
from coordinator.engine.spark.passed_settings import SESSION_SAFE
from coordinator.values.machine import machine_memory
from coordinator.values.settings import Bytes, Names, Paths, Seconds, Settings
from coordinator.vocabulary.session_properties import LARGEST_PAGE
from shared.units import parse_data_size

DEFAULT_PACKAGES = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.8",
)


def default_jar_cache() -> Path:
    """``PROCESSION_JAR_CACHE``, else ``procession/jars`` under the user's cache directory."""
    chosen = os.environ.get("PROCESSION_JAR_CACHE")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "procession" / "jars"


class SparkSettings(Settings):
    """How Spark is reached or started.

    ``work_dir`` holds everything that the embedded server writes: logs/, kernels, scratch space. With ``remote`` every
    other field is unused. ``conf`` is added to the server's Spark settings and wins. ``start_timeout`` is in seconds.
    """

    work_dir: Path = Path("var/spark")
    remote: str | None = Field(
        None,
        alias="spark.remote",
        description="Address `sc://host:port` of a Spark Connect server. Without it an embedded server is started"
        " as a child. `sc://host:port/;use_ssl=true;token=…` takes TLS and sends a token.",
    )
    trust_store: Path | None = Field(
        None,
        alias="spark.remote.trust-store-path",
        description="PEM file with the certificate authorities of the server of `spark.remote`; those of the gRPC"
        " library without it.",
    )
    warm_up: bool = Field(
        False,
        alias="spark.warm-up",
        description="Start Spark and run a first task when the coordinator starts, instead of with the first"
        " statement that needs Spark.",
    )
    watchdog_interval: Seconds = Field(
        5.0,
        alias="spark.watchdog-interval",
        gt=0,
        description="How often Spark is asked something small, to see whether it still answers.",
    )
    watchdog_timeout: Seconds = Field(
        20.0,
        alias="spark.watchdog-timeout",
        gt=0,
        description="An embedded Spark that does not answer for this long is started again; it should be longer"
        " than a pause of the JVM's garbage collector. A Spark of `spark.remote` is given up after"
        " three such time-outs.",
    )
    driver_memory: str = Field(
        "auto",
        alias="spark.driver-memory",
        pattern=r"auto|\d+[mg]",
        description="Heap size of the embedded Spark server, such as `4g`. `auto` takes 40 % of the machine's memory,"
        " or of its container's limit, between 512 MB and 31 GB.",
    )
    direct_memory: Bytes | None = Field(
        None,
        alias="spark.max-direct-memory",
        ge=64 << 20,
        description="Memory of the embedded Spark server beside its heap, for batches of readers. Without it half"
        " of the heap, and at least 512 MB.",
    )
    max_reader_memory: Bytes | None = Field(
        None,
        alias="spark.max-reader-memory",
        ge=1 << 20,
        description="What a task of Spark may hold to read an Iceberg table by itself, as footers tell: a row group"
        " with all its dictionaries. Tables of more are read by the kernels, beside the heap. Without it a quarter of"
        " the embedded server's heap over all cores, and no limit for a Spark of `spark.remote`. Session property"
        " spark_max_reader_memory.",
    )
    max_page: Bytes | None = Field(
        None,
        alias="spark.max-parquet-page-size",
        ge=1 << 10,
        description="A query whose rows would have to be read from a larger Parquet page, decoded, than this fails with"
        " EXCEEDED_LOCAL_MEMORY_LIMIT instead of ending Spark and what else runs there, where the embedded engine"
        " cannot read them. Up to 256 MB the kernels read tables with such pages for Spark. Told by a few of a"
        " table's files, and by the pages that late materialization fetches. Without it a quarter of the embedded"
        " server's heap, and no limit for a Spark of `spark.remote`.",
    )
    java_options: str = Field(
        "",
        alias="spark.java-options",
        description="Further options of Java for the embedded Spark server, separated by blanks. They come last"
        " and win.",
    )
    session_settings: Names = Field(
        SESSION_SAFE,
        alias="spark.session-settings",
        description="Settings of Spark that a session may change by the session property spark_settings; `*` stands for"
        " any text. What is listed here must not change what statements mean or may reach.",
    )
    master: str = Field(
        "local[*]",
        alias="spark.master",
        description="Spark master of the embedded Spark server. With anything but `local…` its executors run on a"
        " cluster of your own, to which the kernels are shipped.",
    )
    packages: Names = Field(
        DEFAULT_PACKAGES,
        alias="spark.packages",
        description="Maven coordinates of the jars of the embedded Spark server.",
    )
    jars: Paths = Field((), alias="spark.jars", description="Paths of further jars for the embedded Spark server.")
    class_archive: bool = Field(
        True,
        alias="spark.class-archive",
        description="Keep an archive of the classes that the embedded Spark loads (some 250 MB in the cache of jars,"
        " made once by a process of the lowest priority): later starts take half as long.",
    )
    jar_cache: Path = Field(default_factory=default_jar_cache)
    conf: Mapping[str, str] = Field(default_factory=dict)
    start_timeout: float = 120.0
    silence: float | None = None
    """The embedded server is killed when this process was suspended for so many seconds."""

    @property
    def heap_size(self) -> int:
        """Bytes of the embedded server's heap."""
        if self.driver_memory == "auto":
            return default_heap(machine_memory())
        return parse_data_size(f"{self.driver_memory.upper()}B")

    @property
    def direct_size(self) -> int:
        """Bytes of the embedded server's memory beside the heap."""
        return direct_memory(self.heap_size) if self.direct_memory is None else self.direct_memory

    @property
    def largest_page(self) -> int | None:
        """Bytes of a page that Spark can decode at once, which takes several times as much."""
        if self.max_page is not None or self.remote is not None:
            return self.max_page
        return self.heap_size // 4

    def session_defaults(self) -> dict[str, str]:
        """Session properties whose default these are."""
        given = self.max_reader_memory
        if given is None:
            given = 0 if self.remote is not None else reader_memory(*self._executor())
        return {"spark_max_reader_memory": f"{given}B", LARGEST_PAGE: f"{self.largest_page or 0}B"}

    def _executor(self) -> tuple[int, int]:
        """Bytes of the heap in which tasks run, and how many of them at once."""
        if self.local_cores is not None:
            return self.heap_size, self.local_cores
        memory = re.fullmatch(r"(\d+)([mg])b?", self.conf.get("spark.executor.memory", "1g").lower())
        cores = self.conf.get("spark.executor.cores", "")
        heap = int(memory[1]) << (30 if memory[2] == "g" else 20) if memory else 1 << 30
        return heap, int(cores) if cores.isdecimal() else os.cpu_count() or 1

    @property
    def local_cores(self) -> int | None:
        """Tasks at once of an embedded Spark without executors elsewhere; None for any other."""
        local = re.fullmatch(r"local\[(\d+|\*)\]", self.master) if self.remote is None else None
        if local is None or self.on_cluster:
            return None
        return (os.cpu_count() or 1) if local[1] == "*" else int(local[1])

    @property
    def on_cluster(self) -> bool:
        """Whether the embedded server only drives executors that a cluster's manager starts elsewhere."""
        return self.remote is None and not self.conf.get("spark.master", self.master).startswith("local")

    @property
    def speculative(self) -> bool:
        """Whether Spark runs slow tasks twice."""
        return self.conf.get("spark.speculation", "false").lower() == "true"

    @property
    def log_file(self) -> Path:
        return self.work_dir / "logs" / "spark.log"

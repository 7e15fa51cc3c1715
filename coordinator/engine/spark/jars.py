"""Maven coordinates to jar files in a cache directory, with the Ivy that pyspark brings along."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator.engine.spark.java import Java
from coordinator.security.private_files import written_by_strangers


class JarsUnavailableError(Exception):
    """A jar is neither in the cache nor to be had from the repository; the text names it and the fix."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """``group:artifact:version``."""

    group: str
    artifact: str
    version: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


def parse_coordinate(text: str) -> Coordinate:
    """Raises ValueError for anything but three parts."""
    parts = text.split(":")
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"expected group:artifact:version, found: {text}")
    return Coordinate(*parts)


def missing_jars(packages: Sequence[str], cache: Path) -> list[Coordinate]:
    """Those of ``packages`` that are not in ``cache`` yet."""
    return [c for c in map(parse_coordinate, packages) if not (cache / c.file_name).is_file()]


def resolve_jars(packages: Sequence[str], cache: Path, java: Java, pyspark_home: Path) -> list[Path]:
    """Paths of the jars of ``packages``, fetched when they are not in ``cache``.

    Raises JarsUnavailableError, also for jars that other users of the machine can write.

    Dependencies are not followed: the Iceberg runtime and JDBC drivers are complete in themselves. Concurrent callers
    wait for each other.
    """
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    if missing_jars(packages, cache):
        with (cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for coordinate in missing_jars(packages, cache):
                _fetch(coordinate, cache, java, _ivy_jar(pyspark_home))
    # A jar that is named twice would be another class path, for which there is no archive of classes.
    found = [cache / parse_coordinate(package).file_name for package in dict.fromkeys(packages)]
    for jar in found:
        strange = written_by_strangers(jar)
        if strange is not None:
            raise JarsUnavailableError(
                f"{strange}, and its code would run with the rights of this service. "
                "Fix: let only its owner write it (chown, chmod o-w), or remove it"
            )
    return found


def _ivy_jar(pyspark_home: Path) -> Path:
    found = sorted((pyspark_home / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarsUnavailableError(f"{pyspark_home / 'jars'} holds no ivy jar; reinstall pyspark")
    return found[-1]


def _fetch(coordinate: Coordinate, cache: Path, java: Java, ivy: Path) -> None:
    incoming = cache / "incoming"
    pattern = f"{incoming}/[artifact]-[revision].[ext]"
    command = [str(java.executable), "-jar", str(ivy), "-notransitive", "-types", "jar", "-warn"]
    command += ["-cache", str(cache / "ivy"), "-retrieve", pattern]
    command += ["-dependency", coordinate.group, coordinate.artifact, coordinate.version]
    # Coordinates are the configuration's, each in an argument of its own.
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)  # noqa: S603
    fetched = incoming / coordinate.file_name
    if not fetched.is_file():
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise JarsUnavailableError(
            f"cannot fetch {coordinate} from Maven Central: {' '.join(line.strip() for line in last)}. "
            f"Fix: connect to the network once (procession doctor --fix), or put {coordinate.file_name} into {cache}"
        )
    fetched.chmod(0o644)  # whatever the umask, nobody else may change it
    # A rename, so that a reader without the lock never sees half a jar.
    fetched.rename(cache / coordinate.file_name)

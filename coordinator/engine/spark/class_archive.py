"""An archive of the classes that the embedded Spark loads: with it a start takes half the CPU time.

A server without one writes the list of its classes. When it has been up for a while, a second JVM of the lowest
priority makes the archive of that list, for later starts (JEP 310, "Application Class-Data Sharing"). The JVM itself
looks whether an archive fits its build and its class path, and goes on without one that does not.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coordinator.engine.spark.child import GuardedChild
from coordinator.engine.spark.java import Java
from coordinator.security.child_environment import JAVA, child_environment
from coordinator.security.private_files import written_by_strangers

_LOG = logging.getLogger(__name__)
_SETTLED_SECONDS = 60.0
"""Until then a server has loaded what its first statements need."""
_DUMP_SECONDS = 1200.0
_HEAP = "-Xmx512m"
LISTING = "-XX:DumpLoadedClassList="
_EARLY = (("spark-", "scala-"), ("log4j", "jackson", "netty", "janino", "arrow", "hadoop-client"))
"""Jars of which most classes come, by how many: a class is found after 20 jars on average, by name after 200."""
_KEPT = 3
"""Archives of some 250 MB: of so many versions of Spark, Java and class path."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one Java and one class path, which may not exist yet."""

    java: Java
    class_path: tuple[Path, ...]
    directory: Path

    @property
    def file(self) -> Path:
        """Named by what it depends on: a changed jar is another archive."""
        parts = [str(self.java.executable.resolve()), str(self.java.version)]
        for jar in self.class_path:
            status = jar.stat()
            parts.append(f"{jar}|{status.st_size}|{status.st_mtime_ns}")
        return self.directory / f"{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:24]}.jsa"


def flags(archive: ClassArchive, class_list: Path) -> list[str]:
    """What the server is started with: the archive, or the order to write the list that one is made of."""
    try:
        file = archive.file
        if not file.is_file():
            return [f"{LISTING}{class_list}"]
        strange = written_by_strangers(file)
    except OSError:  # a jar is missing, which the server tells better, or the archives are another user's
        return []
    if strange is not None:  # what is in it runs as this process
        _LOG.warning("The archive of Spark's classes is not used: %s", strange)
        return []
    return [f"-XX:SharedArchiveFile={file}"]


class Archiver:
    """Makes the archive beside a running server. ``start`` returns at once; after ``stop`` nothing of it is left."""

    def __init__(
        self, archive: ClassArchive, class_list: Path, work_dir: Path, settled: float = _SETTLED_SECONDS
    ) -> None:
        self._archive, self._class_list, self._work_dir = archive, class_list, work_dir
        self._stopping = threading.Event()
        self._child: GuardedChild | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, args=(settled,), name="class-archiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Idempotent; an archive that is not complete is given up."""
        self._stopping.set()
        with self._lock:
            if self._child is not None:
                self._child.stop(timeout=2)

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _run(self, settled: float) -> None:
        if self._stopping.wait(settled):
            return
        try:
            self._archive.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self._archive.directory / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._make()
        except BlockingIOError:
            _LOG.debug("Another process makes an archive of classes")
        except (OSError, subprocess.SubprocessError) as error:
            _LOG.warning("Spark starts go on without an archive of classes: %s", error)

    def _make(self) -> None:
        file = self._archive.file
        if file.exists():
            return
        made = file.with_suffix(f".{os.getpid()}")
        known = self._work_dir / "archived.lst"
        known.write_text(complete_lines(self._class_list.read_text(encoding="utf-8", errors="replace")))
        try:
            code = self._dump(known, made)
            if code == 0:
                made.replace(file)
                _forget_others(file)
                _LOG.info("Later starts of Spark use the archive of classes %s", file)
            elif not self._stopping.is_set():
                _LOG.warning("No archive of Spark's classes could be made: Java ended with code %d", code)
        finally:
            made.unlink(missing_ok=True)
            known.unlink(missing_ok=True)

    def _dump(self, known: Path, made: Path) -> int:
        command = [
            *(["nice", "-n", "19"] if shutil.which("nice") else []),
            *(str(self._archive.java.executable), "-Xshare:dump", "-Xlog:cds*=error", _HEAP),
            *(f"-XX:SharedClassListFile={known}", f"-XX:SharedArchiveFile={made}"),
            *("-cp", os.pathsep.join(map(str, self._archive.class_path))),
        ]
        log = self._work_dir / "logs" / "class-archive.log"
        with self._lock:
            if self._stopping.is_set():
                return -1
            self._child = GuardedChild(command, env=child_environment(*JAVA), log_file=log, cwd=self._work_dir)
        try:
            return self._child.wait(_DUMP_SECONDS)
        finally:
            self._child.stop()


def complete_lines(text: str) -> str:
    """Without a last line that the server has not finished."""
    return text[: text.rfind("\n") + 1]


def jars_of(class_path: Sequence[Path]) -> tuple[Path, ...]:
    """The files of a class path, wildcards of directories in an order of their own, which an archive knows."""
    found: list[Path] = []
    for entry in class_path:
        found += sorted(entry.parent.glob("*.jar"), key=_lateness) if entry.name == "*" else [entry]
    return tuple(found)


def _lateness(jar: Path) -> tuple[int, int, str]:
    """Java asks one jar after the other for each class: by name, Spark's own come after 200 that lack it."""
    group = next((place for place, names in enumerate(_EARLY) if jar.name.startswith(names)), len(_EARLY))
    return group, -jar.stat().st_size, jar.name


def _forget_others(file: Path) -> None:
    others = sorted(file.parent.glob("*.jsa"), key=lambda other: other.stat().st_mtime, reverse=True)
    for other in others[_KEPT:]:
        other.unlink(missing_ok=True)

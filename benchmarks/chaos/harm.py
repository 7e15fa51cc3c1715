"""Who is harmed and how. Every harm ends by itself after some seconds, but for death."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.chaos.store import Store
from tests.e2e.service import Service

_PARTS: dict[str, Callable[[str], bool]] = {
    "spark": lambda line: "SparkConnectServer" in line and "guard.py" not in line,
    "python worker": lambda line: "pyspark" in line and "daemon" in line,
    "planner": lambda line: "validation" in line or "spawn_main" in line or "forkserver" in line,
    "sidecar": lambda line: "-m sidecar " in line and "guard.py" not in line,
    "converter": lambda line: "sidecar.velox" in line or "sidecar/velox" in line or "sidecar.child" in line,
    "embedded worker": lambda line: line.startswith("sql-embedded "),
    "local worker": lambda line: line.startswith("sql-local "),
    "nursery": lambda line: "processes.nursery" in line and not line.startswith("sql-"),
}


@dataclass(frozen=True)
class Harm:
    """``how``: kill, stop (for ``seconds``), database or storage (gone for ``seconds``), disk (full).

    slow and failing are of the object store, for ``seconds``.
    """

    how: str
    whom: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        lasting = f" for {self.seconds:g} s" if self.seconds else ""
        return f"{self.how} {self.whom}{lasting}".strip()


def victims(service: Service, whom: str) -> list[psutil.Process]:
    """The processes of a part; the service's own process is the coordinator."""
    if whom == "coordinator":
        return [psutil.Process(service.process.pid)]
    family = psutil.Process(service.process.pid).children(recursive=True)
    found = [child for child in family if _is(child, whom)]
    if whom == "converter":  # whatever the sidecar holds
        sidecars = [child for child in family if _is(child, "sidecar")]
        found = [grandchild for child in sidecars for grandchild in child.children()]
    return found


def _is(child: psutil.Process, whom: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return _PARTS[whom](" ".join([child.name(), *child.cmdline()]))
    return False


def do(service: Service, harm: Harm, table_folder: Path, store: Store | None = None) -> str:
    """Do it and wait until it is over; what was done, for the log."""
    match harm.how:
        case "kill" | "stop":
            return _to_processes(service, harm)
        case "database":
            return _database(service, harm.seconds)
        case "storage":
            return _storage(table_folder, harm.seconds)
        case "disk":
            return _disk(table_folder)
        case "slow" | "failing" if store is not None:
            return _store(store, harm)
        case other:
            raise ValueError(other)


def _store(store: Store, harm: Harm) -> str:
    """Each request takes a second more, or every other one fails."""
    store.delay, store.failing = (1.0, 0.0) if harm.how == "slow" else (0.0, 0.5)
    try:
        time.sleep(harm.seconds)
    finally:
        store.delay = store.failing = 0.0
    return f"object store {harm.how} for {harm.seconds:g} s"


def _to_processes(service: Service, harm: Harm) -> str:
    found = victims(service, harm.whom)
    if not found:
        return f"no {harm.whom} was there"
    number = signal.SIGKILL if harm.how == "kill" else signal.SIGSTOP
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
    if harm.how == "stop":
        time.sleep(harm.seconds)
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
    return f"{harm} ({', '.join(str(process.pid) for process in found)})"


def _database(service: Service, seconds: float) -> str:
    """The catalog's database answers nobody: another has it for itself."""
    connection = sqlite3.connect(service.data_dir / "iceberg" / "catalog.db", timeout=30)
    connection.isolation_level = None
    try:
        connection.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        connection.execute("ROLLBACK")
    finally:
        connection.close()
    return f"catalog database away for {seconds:g} s"


def _disk(folder: Path) -> str:
    """The table's own disk has room for a quarter more, and for nothing after that."""
    for room in (1.25, 1.5, 2.0, 3.0):  # what writers add meanwhile may be more: then the smaller one is refused
        used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        size = round(used * room)
        remount = ["mount", "-o", f"remount,size={size}", str(folder)]
        if subprocess.run(remount, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return f"disk of {size >> 10} KB, {used >> 10} KB of it used"
    raise RuntimeError(f"{folder} cannot be made smaller")


def _storage(folder: Path, seconds: float) -> str:
    """The table's data folder cannot be read or written, as a store that fails."""
    away = folder.with_name("data.away")
    folder.rename(away)
    folder.write_text("away")
    time.sleep(seconds)
    folder.unlink()
    away.rename(folder)
    return f"storage away for {seconds:g} s"

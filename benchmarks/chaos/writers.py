"""Writers beside an operation: PyIceberg appends rows, a Spark of its own deletes some row by row."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyiceberg.exceptions import CommitFailedException

from benchmarks.chaos.ledger import DELETERS, Ledger
from benchmarks.chaos.tables import Lake, part
from coordinator.connectors.iceberg.connector import FACTORY
from coordinator.engine.spark.engine import SparkEngine
from coordinator.engine.spark.settings import SparkSettings
from shared.errors import ProcessionError
from tests.execution import FakeExecution
from tests.spark_packages import PACKAGES

FIRST_APPENDED = 5_000_000
_STRIDE = 997
"""Between two ids that are deleted: they are in all files."""


@contextmanager
def appending(lake: Lake, name: str, ledger: Ledger, log: list[str], pause: float = 0.5) -> Iterator[None]:
    """PyIceberg adds ten rows every ``pause`` seconds; what it is not sure of is in doubt."""
    counts = [0, 0]

    def write(number: int) -> None:
        ids = range(FIRST_APPENDED + 10 * number, FIRST_APPENDED + 10 * number + 10)
        counts[0] += 1
        try:
            lake.open().load_table(f"db.{name}").append(part(ids[0], 10))
            ledger.promise(ids)
        except CommitFailedException:
            counts[1] += 1
        except Exception:  # whatever the harm makes of its storage or catalog
            ledger.doubt(ids)
            counts[1] += 1

    with _again_and_again(write, pause):
        yield
    log.append(f"    writer: {counts[0]} appends, {counts[1]} refused or in doubt")


class SparkWriter:
    """A Spark that is nobody's but the bench's, which outlives all harm; it writes position deletes."""

    def __init__(self, home: Path, data_dir: Path) -> None:
        conf = FACTORY.spark_conf("iceberg", {}, data_dir)
        settings = SparkSettings(work_dir=home, driver_memory="1g", packages=PACKAGES, master="local[1]")
        self._engine = SparkEngine(settings, conf)

    def run(self, sql: str, number: int = 0) -> None:
        """Raises ProcessionError."""
        for _ in self._engine.write(sql, FakeExecution(), write_id=f"{DELETERS}-{number:012x}"):
            pass

    @contextmanager
    def deleting(self, name: str, rows: int, ledger: Ledger, log: list[str], pause: float = 0.2) -> Iterator[None]:
        """One row of the first ``rows`` ids after another."""
        counts = [0, 0]

        def write(number: int) -> None:
            victim = (1 + number) * _STRIDE % rows
            counts[0] += 1
            try:
                self.run(f"DELETE FROM iceberg.db.{name} WHERE id = {victim}", number)
                ledger.remove(victim)
            except ProcessionError as error:
                counts[1] += 1
                ledger.remove(victim, sure=False)
                if "ValidationException" not in error.message and "CommitFailed" not in error.message:
                    log.append(f"    deleter: {error.message[:120]}")

        with _again_and_again(write, pause):
            yield
        log.append(f"    deleter: {counts[0]} rows, {counts[1]} refused or in doubt")

    def stop(self) -> None:
        self._engine.stop()


@contextmanager
def _again_and_again(write: Callable[[int], None], pause: float) -> Iterator[None]:
    over = threading.Event()

    def run() -> None:
        number = 0
        while not over.wait(pause):
            write(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

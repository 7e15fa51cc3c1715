"""Statements that the coordinator may run by itself, and a warm Spark beside it (``engine=SPARK``), by turns."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.service import Service, start_service, write_etc

ENGINES = ("AUTO", "SPARK")


@contextmanager
def service_with_spark() -> Iterator[Service]:
    """Of its own, with the schema ``iceberg.db``."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        service = start_service(write_etc(home / "etc"), home / "data", home / "log", cold=True)
        try:
            service.execute("CREATE SCHEMA iceberg.db")
            yield service
        finally:
            service.stop()


def by_turns(
    service: Service, statement: Callable[[int, str], str], rounds: int, warm: int
) -> dict[str, dict[str, list[float]] | float]:
    """Milliseconds of an engine's statement in each round, p50 and the slowest, without the ``warm`` first ones."""
    taken: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(warm + rounds):
        for engine, found in taken.items():
            sql = statement(number, engine)
            begun = time.perf_counter()
            service.execute(sql, session_properties={"engine": engine})
            found.append((time.perf_counter() - begun) * 1000)
    figures = {
        engine: [round(statistics.median(found[warm:]), 1), round(max(found[warm:]), 1)]
        for engine, found in taken.items()
    }
    return {"ms_p50_max": figures, "ratio": round(figures["SPARK"][0] / figures["AUTO"][0], 1)}

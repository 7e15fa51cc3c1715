"""The same writers on a sample of tables that Spark's own procedures keep, called for each of them by cron."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.lab import Lab, peer
from benchmarks.lake.by_service import checked
from benchmarks.lake.checking import condition
from benchmarks.lake.schedule import Member, day
from benchmarks.lake.writers import Writers
from benchmarks.rewrite import cpu_seconds

_OPTIONS = "map('min-input-files', '2', 'delete-file-threshold', '1', 'remove-dangling-deletes', 'true')"
"""The health that the service is asked for; Iceberg's defaults leave four files, and deletes for ever."""


def by_cron(home: Path, lake: Sequence[Member], rounds: int) -> dict[str, Any]:
    """Every table ``rounds`` times a day. The writers rest meanwhile, so that none of either side ever loses."""
    home.mkdir()
    lab, cpu, seconds = Lab(home), 0.0, 0.0
    writers = Writers(home / "writers", f"sqlite:///{home}/catalog.db", f"file://{home}/wh", "lab")
    writers.create(lake)
    engine = lab.spark()
    try:
        peer(engine, "SELECT 1")
        spark = psutil.Process().children(recursive=True)
        for number in range(rounds):
            part = [write for write in day(lake) if number <= write.moment * rounds < number + 1]
            writers.play(part, 0)
            begun, start = cpu_seconds(spark), time.perf_counter()
            for member in lake:
                name = f"db.{member.name}"
                peer(engine, f"CALL lab.system.rewrite_data_files(table => '{name}', options => {_OPTIONS})")
                peer(engine, f"CALL lab.system.expire_snapshots(table => '{name}')")
            cpu, seconds = cpu + cpu_seconds(spark) - begun, seconds + time.perf_counter() - start
    finally:
        engine.stop()
    found = {m.name: condition(lab.catalog.load_table(f"db.{m.name}"), writers.ledgers[m.name]) for m in lake}
    return {
        "cpu_s": round(cpu, 1),
        "wall_s": round(seconds, 1),
        "commits": writers.commits,
        "writers_failed": writers.failed,
        **checked(found),
    }

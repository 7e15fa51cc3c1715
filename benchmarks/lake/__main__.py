"""A day of writers on a lake of many tables, kept by the maintenance service, and a sample of it kept from cron.

``python -m benchmarks.lake [tables] [seconds] [--peer-tables N] [--peer-rounds N]``. A fifth of the tables gets
upserts by equality deletes as Flink writes them, a fifth updates by deletion vectors (version 3), a fifth late rows
into old partitions, the rest appends; a tenth of all is written 30 times in a day of so many ``seconds``, two tenths 8
times, the rest not at all. The maintenance service of a whole coordinator works meanwhile, and then until nothing is
wanted. On a sample of tables of the same mix that the same writers wrote, Iceberg's ``rewrite_data_files`` and
``expire_snapshots`` are called for every table three times a day, as cron jobs do.

Prints JSON lines. In the last one ``ratio_cpu`` is Spark's CPU a table over the service's (the coordinator with all its
children, Spark among them, without their start and the first look), ``files_over`` how many tables have more than
twice the files that they need, data and delete files, ``writers_failed`` commits that failed beyond the retries of the
writer's own library, ``rows_wrong`` rows that are not as the writers' ledgers say, read past the service.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.lake.by_cron import by_cron
from benchmarks.lake.by_service import by_service
from benchmarks.lake.schedule import members, sample


def main(tables: int, seconds: float, peer_tables: int, peer_rounds: int) -> None:
    """Print the lines."""
    lake = members(tables)
    few = sample(lake, min(peer_tables, tables)) if peer_tables else ()
    line: dict[str, object] = {"bench": "lake", "tables": tables, "day_s": seconds, "peer_tables": len(few)}
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as scratch:
        ours = by_service(Path(scratch) / "ours", lake, seconds)
        print(json.dumps({"bench": "lake", "who": "procession", **ours}), flush=True)
        line["cpu_s_a_table"] = round(ours["cpu_s"] / tables, 3)
        if few:
            theirs = by_cron(Path(scratch) / "theirs", few, peer_rounds)
            print(json.dumps({"bench": "lake", "who": "cron", **theirs}), flush=True)
            line["peer_cpu_s_a_table"] = round(theirs["cpu_s"] / len(few), 3)
            line["ratio_cpu"] = round(theirs["cpu_s"] / len(few) / (ours["cpu_s"] / tables), 2)
    names = ("files_over", "writers_failed", "rows_wrong", "budget_held", "unexplained")
    print(json.dumps({**line, **{name: ours[name] for name in names}}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.lake")
    parser.add_argument("tables", type=int, nargs="?", default=20)
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("--peer-tables", type=int, default=40)
    parser.add_argument("--peer-rounds", type=int, default=3)
    given = parser.parse_args()
    main(given.tables, given.seconds, given.peer_tables, given.peer_rounds)

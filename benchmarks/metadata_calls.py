"""Milliseconds of every procedure that only needs metadata, end to end through HTTP with a real Presto client.

``python -m benchmarks.metadata_calls [rounds]``: a service without Spark, a table of five snapshots; the aim is a
median below 100 ms each. Prints a table and a JSON line.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa

from tests.e2e.service import Service, start_service, write_etc

LIMIT_MS = 100
IN_ORDER = """
show_snapshots; show_refs; show_savepoints; show_snapshot_files; show_snapshot_partitions; show_snapshot_stats
show_commits_metadata; ancestors_of; file_size_stats; write_amplification; table_storage; validate_files
create_tag tag => 't{i}'; replace_tag tag => 't{i}', snapshot_id => {first}; drop_tag tag => 't{i}'
create_branch branch => 'b{i}', snapshot_id => {first}; replace_branch branch => 'b{i}', snapshot_id => {second}
fast_forward branch => 'b{i}', to => 'main'; commits_compare ref => 'b{i}', other => 'main'
drop_branch branch => 'b{i}'; create_savepoint commit_time => '{first}', comments => 'round {i}'
rollback_to_savepoint instant_time => '{first}'; delete_savepoint instant_time => '{first}'
set_current_snapshot snapshot_id => {last}; rollback_to_snapshot snapshot_id => {second}
cherrypick_snapshot snapshot_id => {third}; rollback_to_instant instant_time => '{second}'
rollback_to_timestamp timestamp => TIMESTAMP '{after_first}'; set_current_snapshot snapshot_id => {last}
set_table_property key => 'round', value => '{i}'; upgrade_format_version format_version => 2
compute_partition_stats; expire_partitions older_than => TIMESTAMP '2001-01-01 00:00:00', dry_run => true
expire_snapshots older_than => TIMESTAMP '2001-01-01 00:00:00'; expire_snapshots dry_run => true; remove_orphan_files
rewrite_manifests dry_run => true; remove_dangling_deletes; convert_equality_deletes; auto_maintain dry_run => true
"""
"""With arguments, in an order in which each has something to do."""


def part(number: int) -> pa.Table:
    """One day of a hundred rows."""
    return pa.table({"id": range(number * 100, number * 100 + 100), "day": [date(2026, 11, number + 1)] * 100})


def metadata_calls(service: Service, rounds: int) -> dict[str, list[float]]:
    """Seconds of each call, by procedure; two more rounds warm."""
    table = service.create("small", [part(0)])
    with table.update_spec() as spec:
        spec.add_identity("day")
    for number in range(1, 5):
        table.append(part(number))
    line = [snapshot.snapshot_id for snapshot in table.refresh().snapshots()]
    at = datetime.fromtimestamp(table.snapshots()[0].timestamp_ms / 1000 + 0.001, UTC)
    known = {"first": line[0], "second": line[1], "third": line[2], "last": line[-1]}
    seconds: dict[str, list[float]] = {}
    for number in range(rounds + 2):
        for item in IN_ORDER.strip().replace("\n", ";").split(";"):
            name, _, given = item.strip().partition(" ")
            arguments = given.format(**known, after_first=f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3], i=number)
            told = ", ".join(filter(None, ("table => 'db.small'", arguments)))
            start = time.perf_counter()
            service.execute(f"CALL iceberg.system.{name}({told})")
            if number >= 2:
                seconds.setdefault(name, []).append(time.perf_counter() - start)
    return seconds


def main(rounds: int = 20) -> None:
    """Run and print."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        service = start_service(write_etc(home / "etc", spark=False), home / "data", home / "log")
        try:
            seconds = metadata_calls(service, rounds)
        finally:
            service.stop()
    figures = {name: round(1000 * statistics.median(values), 1) for name, values in seconds.items()}
    print(f"{'procedure':28} {'p50 ms':>8} {'max ms':>8}")
    for name, middle in sorted(figures.items(), key=lambda item: -item[1]):
        over = "" if middle < LIMIT_MS else "  over the limit"
        print(f"{name:28} {middle:8.1f} {1000 * max(seconds[name]):8.1f}{over}")
    print(json.dumps({"bench": "metadata_calls", "limit_ms": LIMIT_MS, "p50_ms": figures}))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

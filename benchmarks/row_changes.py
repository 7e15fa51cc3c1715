"""Few rows changed, inserted and made through HTTP: by the coordinator, and by a warm Spark (``engine=SPARK``).

By turns. ``python -m benchmarks.row_changes [rounds]`` (10 by default): tables of 1,000,000 rows in eight files, of
versions 2 and 3, of merge-on-read and copy-on-write, one for each engine. JSON lines of milliseconds, p50 and the
slowest; at the end both are equal. What changes no row is asked of tables of merge-on-read alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from benchmarks.beside_spark import ENGINES, by_turns, service_with_spark
from tests.e2e.service import Service

ROWS, FILES = 1_000_000, 8
MODES = ("merge-on-read", "copy-on-write")
_WARM = 2
_NUMBERS = (
    "SELECT thousand * 1000 + one AS n FROM UNNEST(sequence({}, {})) a (thousand), UNNEST(sequence(1, 1000)) b (one)"
)
_GENERATED = f"SELECT n, n % 100, 'row ' || cast(n AS varchar), n / 4e0 FROM ({_NUMBERS})"


def merged(number: int) -> str:
    """A hundred rows, of which half are there."""
    values = ", ".join(f"({number * 997 + i if i % 2 else ROWS + number * 100 + i}, 'new {i}')" for i in range(100))
    return (
        f"MERGE INTO {{t}} t USING (VALUES {values}) s (id, name) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = "
        "s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )


STATEMENTS: dict[str, Callable[[int], str]] = {
    "update of one row": lambda number: f"UPDATE {{t}} SET price = price + 1 WHERE id = {number * 7_919 + 1}",
    "update of 1 in 1,000": lambda number: f"UPDATE {{t}} SET kind = kind + 1 WHERE id % 1000 = {number}",
    "delete of ten rows": lambda number: (
        f"DELETE FROM {{t}} WHERE id BETWEEN {number * 5_000} AND {number * 5_000} + 9"
    ),
    "merge of 100 rows": merged,
    "insert of 100 rows of a query": lambda number: (
        f"INSERT INTO {{t}} SELECT id + {(number + 10) * ROWS}, kind, name, price FROM {{t}} WHERE id < 101"
    ),
    "table of 100 groups": lambda number: (
        f"CREATE TABLE {{t}}_{number} AS SELECT kind, count(*) AS n, sum(price) AS price FROM {{t}} GROUP BY kind"
    ),
}


def make(service: Service, version: str, mode: str, engine: str) -> str:
    name = f"iceberg.db.changed_{version}_{mode.partition('-')[0]}_{engine.lower()}"
    columns = "id bigint, kind bigint, name varchar, price double"
    modes = ", ".join(f"\"write.{kind}.mode\" = '{mode}'" for kind in ("delete", "update", "merge"))
    service.execute(f"CREATE TABLE {name} ({columns}) WITH (\"format-version\" = '{version}', {modes})")
    part = ROWS // FILES // 1000
    for number in range(FILES):
        rows = _GENERATED.format(number * part, (number + 1) * part - 1)
        service.execute(f"INSERT INTO {name} {rows}")
    return name


def compare(service: Service, version: str, mode: str, rounds: int) -> None:
    tables = {engine: make(service, version, mode, engine) for engine in ENGINES}
    for what, written in STATEMENTS.items():
        if mode == "copy-on-write" and not written(0).startswith(("UPDATE", "DELETE", "MERGE")):
            continue

        def statement(number: int, engine: str, written: Callable[[int], str] = written) -> str:
            return written(number).format(t=tables[engine])

        figures = by_turns(service, statement, rounds, _WARM)
        about = {"version": version, "mode": mode, "statement": what}
        print(json.dumps({"bench": "row_changes", **about, **figures}), flush=True)
    sums = "SELECT count(*), sum(id), sum(kind), sum(price), count_if(name LIKE 'new%') FROM"
    found = [service.execute(f"{sums} {table}") for table in tables.values()]
    if found[0] != found[1]:
        raise SystemExit(f"version {version}, {mode}: {found}")


def main(rounds: int = 10) -> None:
    with service_with_spark() as service:
        for version in ("2", "3"):
            for mode in MODES:
                compare(service, version, mode, rounds)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))

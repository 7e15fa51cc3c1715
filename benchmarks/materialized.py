"""Incremental refreshes of a materialized view beside whole ones, and beside Spark that writes the query's result anew.

``python -m benchmarks.materialized [SCALE] [ROUNDS]`` (scale 1 and 3 rounds by default) starts a service of its own and
derives ``lineitem`` from TPC-H. Each round appends one row in a hundred and then refreshes two views of groups and of
rows, incrementally and as a whole, and has Spark make a table of the same query (CREATE TABLE AS). Both views must
have the rows that the query has. It prints one JSON line a query: median seconds and their ratios to the incremental
refresh; the last line is the summary.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.service import Service, start_service, write_etc

QUERIES = {
    "groups": "SELECT shipdate, returnflag, count(*) AS n, sum(extendedprice_cents) AS total, max(quantity) AS most "
    "FROM lineitem GROUP BY shipdate, returnflag",
    "rows": "SELECT orderkey, linenumber, shipdate, extendedprice_cents FROM lineitem WHERE quantity > 25",
}
_COLUMNS = (
    "orderkey, linenumber, shipdate, returnflag, CAST(quantity AS bigint) AS quantity, "
    "CAST(extendedprice * 100 AS bigint) AS extendedprice_cents"
)


class Bench:
    """One service with its table and views."""

    def __init__(self, service: Service, scale: str) -> None:
        self._service = service
        self._source = f'tpch."sf{scale}".lineitem'
        self.run("CREATE SCHEMA iceberg.bench")
        self.run(f"CREATE TABLE lineitem AS SELECT {_COLUMNS} FROM {self._source}")
        for name, query in QUERIES.items():
            for way in ("INCREMENTAL", "FULL"):
                self.run(f"CREATE MATERIALIZED VIEW {name}_{way} WITH (refresh_type = '{way}') AS {query}")
                self.run(f"REFRESH MATERIALIZED VIEW {name}_{way}")

    def run(self, sql: str) -> list[list[object]]:
        return self._service.execute(sql, catalog="iceberg", schema="bench")

    def seconds(self, sql: str) -> float:
        start = time.perf_counter()
        self.run(sql)
        return time.perf_counter() - start

    def round(self, name: str, number: int) -> dict[str, float]:
        """Of one query, after its table got rows."""
        query = QUERIES[name]
        self.run(f"INSERT INTO lineitem SELECT {_COLUMNS} FROM {self._source} WHERE orderkey % 100 = {number}")
        said = str(self.run(f"EXPLAIN REFRESH MATERIALIZED VIEW {name}_INCREMENTAL")[0][0])
        assert "are merged" in said or "are added" in said, said
        took = {
            "incremental": self.seconds(f"REFRESH MATERIALIZED VIEW {name}_INCREMENTAL"),
            "whole": self.seconds(f"REFRESH MATERIALIZED VIEW {name}_FULL"),
            "spark": self.seconds(f"CREATE TABLE made AS {query}"),
        }
        self.run("DROP TABLE made")
        return took

    def check(self, name: str) -> None:
        """The stored rows are those of the query: as many, and the same ones."""
        stored, right = f"TABLE {name}_INCREMENTAL", QUERIES[name]
        assert "stored rows are read" in str(self.run(f"EXPLAIN {stored}")[0][0])
        assert self.run(f"SELECT count(*) FROM ({stored})") == self.run(f"SELECT count(*) FROM ({right})"), name
        for one, other in ((stored, right), (right, stored)):
            assert self.run(f"SELECT count(*) FROM (({one}) EXCEPT ({other}))") == [[0]], name


def main() -> None:
    """See the module."""
    scale, rounds = (sys.argv[1:] + ["1", "3"][len(sys.argv) - 1 :])[:2]
    summary: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        etc = Path(home) / "etc"
        write_etc(etc)
        (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")
        service = start_service(etc, Path(home) / "data", Path(home) / "log", cold=True)
        try:
            bench = Bench(service, scale)
            for name in QUERIES:
                taken = [bench.round(name, number) for number in range(int(rounds) + 1)][1:]  # the first one warms up
                bench.check(name)
                median = {way: statistics.median(each[way] for each in taken) for way in taken[0]}
                ratios = {f"{way}_ratio": median[way] / median["incremental"] for way in ("whole", "spark")}
                print(json.dumps({"query": name, **{k: round(v, 2) for k, v in (median | ratios).items()}}), flush=True)
                summary |= {f"{name}_{way}": round(value, 2) for way, value in ratios.items()}
        finally:
            service.stop()
    print(json.dumps({"benchmark": "materialized", "scale": scale, **summary}))


if __name__ == "__main__":
    main()

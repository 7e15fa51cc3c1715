"""Trino's spooling protocol beside plain pages: a result through trino-python-client, in each encoding.

``python -m benchmarks.segments [THOUSANDS] [ROUNDS]`` (300 and 3 by default) serves rows of four columns from memory,
without an engine, and reads them in a process of its own. JSON lines: seconds, rows a second, CPU seconds of the client
and of the server, as medians.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import Execution
from coordinator.vocabulary.planned_statement import Column
from tests.protocol.conftest import Answer, running_server

_AT_ONCE = 10_000
COLUMNS = (Column("n", "bigint"), Column("x", "double"), Column("t", "varchar"), Column("d", "date"))
CLIENT = """
import json, sys, time, trino
began, cpu = time.perf_counter(), time.process_time()
connection = trino.dbapi.connect(host="127.0.0.1", port=int(sys.argv[1]), user="benchmark", encoding=sys.argv[2])
rows = sum(1 for _ in iter(connection.cursor().execute("SELECT rows").fetchone, None))
print(json.dumps([rows, time.perf_counter() - began, time.process_time() - cpu]))
"""


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, _AT_ONCE):
        n = pa.array(range(start, start + _AT_ONCE), pa.int64())
        text = pc.binary_join_element_wise("carefully final deposits", pc.cast(n, pa.string()), " ")
        x, d = pc.divide(pc.cast(n, pa.float64()), 7.0), pc.cast(pc.cast(pc.bit_wise_and(n, 8191), "int32"), "date32")
        yield pa.record_batch({"n": n, "x": x, "t": text, "d": d})


def answer(rows: int) -> Answer:
    def run(_: Execution) -> Iterator[pa.RecordBatch]:
        return batches(rows)

    return Answer(COLUMNS, run)


def main() -> None:
    thousands = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    settings = DispatchSettings(spooling=True)
    answers = {"SELECT rows": lambda: answer(thousands * 1000)}
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(answers, settings, results_folder=Path(folder)) as server,
    ):
        for encoding in ("none", "json", "json+lz4", "json+zstd"):
            found = []
            for _ in range(rounds):
                own = process_time()
                command = [sys.executable, "-c", CLIENT, str(server.port), encoding]
                run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
                found.append([*json.loads(run.stdout), process_time() - own])
            rows, wall, client, ours = (median(column) for column in zip(*found, strict=True))
            line = {"bench": "segments", "encoding": "pages" if encoding == "none" else encoding, "rows": rows}
            figures = {"wall_s": wall, "client_cpu_s": client, "server_cpu_s": ours}
            line |= {name: round(value, 2) for name, value in figures.items()}
            print(json.dumps(line | {"rows_per_second": round(rows / wall)}), flush=True)


if __name__ == "__main__":
    main()

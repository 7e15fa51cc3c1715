"""Two versions over one PostgreSQL while one replaces the other: no statement fails, no row is wrong.

``python -m benchmarks.versions PYTHON FOLDER``: the interpreter of an environment with the older version, and its
checkout. Two coordinators of it are replaced one after the other under load; in between both versions answer for each
other, one of the older version is killed and started again, and each rewrites a table that the other has made. Prints a
JSON line a step; the last one is the summary, and the exit code is 1 when something was wrong.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import prestodb

from tests.cluster.load import Load, by_turns
from tests.databases import new_database
from tests.e2e.service import Service, start_service, write_etc
from tests.postgres import postgres_server

_SECRET = "one secret of both coordinators, for a moment"
_ALL = "SELECT orderkey, linenumber, comment FROM lineitem"


class Pair:
    """Two coordinators; ``old`` starts one of the older version in its home."""

    def __init__(self, home: Path, database: str, python: str, checkout: Path) -> None:
        self.home, self.python, self.checkout = home, python, checkout
        self.names = ("one", "two")
        for name in self.names:
            self._configure(home / name / "etc", name, database)
        self.services = [self.old(name) for name in self.names]
        self.wrong: list[str] = []

    def _configure(self, etc: Path, name: str, database: str) -> None:
        write_etc(etc, spark=False)
        (etc / "catalog" / "tpch.properties").write_text("connector.name=tpch\n")
        catalog = database.replace("postgresql:", "postgresql+psycopg2:", 1)
        (etc / "catalog" / "iceberg.properties").write_text(
            f"connector.name=iceberg\niceberg.catalog.uri={catalog}\n"
            f"iceberg.catalog.warehouse=file://{self.home}/warehouse\n"
        )
        (etc / "node.properties").write_text(f"node.id={name}\n")
        with (etc / "config.properties").open("a") as config:
            config.write(f"state.url={database}\ninternal-communication.shared-secret={_SECRET}\n")
            config.write("cluster.heartbeat-interval=300ms\ncluster.node-timeout=1500ms\n")
            config.write("shutdown.grace-period=500ms\nshutdown.drain-on-sigterm=true\n")

    def old(self, name: str) -> Service:
        home = self.home / name
        command = [self.python, "-m", "coordinator", "up", "--etc", str(home / "etc"), "--data-dir", str(home / "data")]
        with (home / "log").open("a") as log:
            process = subprocess.Popen(
                [*command, "--port", "0"], cwd=self.checkout, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "listening on " in line, (home / "log").read_text()[-3000:]
        return Service(process, line.split()[-1], home / "data", home / "etc")

    def new(self, name: str) -> Service:
        home = self.home / name
        return start_service(home / "etc", home / "data", home / "log", cold=True)

    def replace(self, number: int, start: Callable[[str], Service], urls: list[str], how: int) -> None:
        service = self.services[number]
        service.process.send_signal(how)
        service.process.wait(timeout=90)
        service.succeeded_by(start(self.names[number]))
        urls[number] = service.url
        limit = time.monotonic() + 60
        while any(len(each.get("/v1/status")["cluster"]["coordinators"]) < 2 for each in self.services):
            assert time.monotonic() < limit, "the two do not find each other"
            time.sleep(0.2)

    def answer_for_each_other(self, table: str) -> None:
        """Pages of one from the other, lists, history, a table of one that the other changes, and its files."""
        one, two = self.services
        for pair in ([one, two], [two, one]):
            if len(by_turns(pair, _ALL)) != 60_175:
                self.wrong.append("pages by turns lack rows")
        try:
            one.execute(f"CREATE TABLE iceberg.shared.{table} (id bigint)")
            before = two.execute(f'SELECT count(*) FROM iceberg.shared."{table}$snapshots"')
            two.execute(f"CALL iceberg.system.rewrite_data_files('shared', '{table}')")
            one.execute(f"CALL iceberg.system.expire_snapshots('shared', '{table}')")
            if before != [[0]]:
                self.wrong.append(f"{table}: {before} snapshots of an empty table")
            for service in self.services:
                nodes = {row[0] for row in service.execute("SELECT node_id FROM system.runtime.nodes")}
                seen = {row[0] for row in service.execute("SELECT node_id FROM system.history.queries")}
                if not set(self.names) <= nodes or not set(self.names) <= seen:
                    self.wrong.append(f"nodes {nodes}, in the history {seen}")
        except prestodb.exceptions.PrestoQueryError as error:
            self.wrong.append(f"{table}: {error.error_name}: {error.message}")


def main() -> int:
    python, checkout = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        pair = Pair(Path(folder), new_database(server, "versions"), python, checkout)
        try:
            pair.services[0].execute("CREATE SCHEMA iceberg.shared")
            pair.answer_for_each_other("before")
            urls = [service.url for service in pair.services]
            with Load(urls) as load:
                for step, number, start, how in (
                    ("the first is of the newer version", 0, pair.new, signal.SIGTERM),
                    ("the second, killed, is started again", 1, pair.old, signal.SIGKILL),
                    ("both are of the newer version", 1, pair.new, signal.SIGTERM),
                ):
                    killed = how == signal.SIGKILL
                    if killed:  # what ran there is lost, and told as lost
                        known = len(load.wrong)
                    pair.replace(number, start, urls, how)
                    if killed:
                        del load.wrong[known:]
                    pair.answer_for_each_other(f"step_{len(pair.wrong)}_{number}_{int(how)}")
                    print(
                        json.dumps({"step": step, "statements": load.done, "wrong": load.wrong + pair.wrong}),
                        flush=True,
                    )
        finally:
            for service in pair.services:
                service.stop(signal.SIGTERM)
        wrong = load.wrong + pair.wrong
        print(json.dumps({"bench": "versions", "statements": load.done, "wrong": len(wrong)}))
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

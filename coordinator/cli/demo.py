"""``procession demo``: the whole line on real data, from an empty directory to a compacted table, and out again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec
import pyarrow.parquet as pq
from rich.console import Console

from coordinator.cli import demo_report as report
from coordinator.cli.client import ClientSession, ServerUnreachableError, StatementClient, StatementError
from coordinator.cli.progress import StatementBar
from coordinator.cli.table_state import TableState, read_state
from coordinator.connectors.iceberg.sample import create_sample
from coordinator.engine.spark.child import GuardedChild

CATALOG, SCHEMA, TABLE = "iceberg", "demo", "lineitem"
CALL = f"CALL {CATALOG}.system.rewrite_data_files(schema => '{SCHEMA}', table_name => '{TABLE}')"
WAKE = f"CALL {CATALOG}.system.clean_data_cache('ALL_WORKERS')"
_START_SECONDS = 180.0
_ETC = {
    "config.properties": "spark.warm-up=true\nspark.driver-memory=1g\n",
    "node.properties": "node.environment=demo\nnode.id=demo\n",
    f"catalog/{CATALOG}.properties": "connector.name=iceberg\n",
    "plan-checker-providers/native.properties": "plan-checker-provider.name=native\nnative-plan-checker.mode=auto\n",
}


class DemoError(Exception):
    """The demo cannot go on; the text is one clear sentence and its fix."""


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """``scale_factor`` is TPC-H's: 1 is 6 million rows. ``files`` is how many small files the table starts from."""

    scale_factor: float = 0.1
    files: int = 240


def demo(options: DemoOptions, console: Console) -> int:
    """0 when the CALL kept every row and the file count fell, 1 when not, 2 when something is missing."""
    try:
        _require()
        with tempfile.TemporaryDirectory(prefix="procession-demo-") as directory:
            return _run(Path(directory), options, console)
    except DemoError as error:
        console.print(f"procession: {error}", style="red", markup=False, soft_wrap=True)
        return 2


def _run(home: Path, options: DemoOptions, console: Console) -> int:
    data_dir = home / "data"
    with _procession(_write_etc(home / "etc"), data_dir, home / "up.log") as await_url:
        report.heading(console, "Starting sidecar, coordinator and Spark; meanwhile making the table")
        begun = time.monotonic()
        _make_table(home, data_dir, options)
        made = time.monotonic() - begun
        before = read_state(CATALOG, data_dir, SCHEMA, TABLE)
        url = await_url()
        report.started(console, url, f"{CATALOG}.{SCHEMA}.{TABLE}", options.scale_factor, before, made)
        outcome = _statements(url, console)
    after = read_state(CATALOG, data_dir, SCHEMA, TABLE)
    report.compared(console, before, after)
    report.result_row(console, outcome.names, outcome.row)
    report.timeline(console, outcome.timeline)
    return _verdict(console, before, after)


@dataclass(frozen=True, slots=True)
class _Outcome:
    names: tuple[str, ...]
    row: tuple[object, ...]
    timeline: dict[str, float]


def _statements(url: str, console: Console) -> _Outcome:
    """EXPLAIN, EXPLAIN (TYPE NATIVE) and the CALL itself."""
    for title, prefix in (
        ("The plan", "EXPLAIN"),
        ("The Velox plan that the sidecar made of the worker fragment", "EXPLAIN (TYPE NATIVE)"),
    ):
        report.statement(console, title, f"{prefix} {CALL}", str(_execute(url, f"{prefix} {CALL}").rows[0][0]))
    # Spark starts in the background; the seconds of the call shall be the call's own.
    _execute(url, WAKE)
    report.statement(console, "The call", CALL, "")
    with StatementBar(console, "rewrite_data_files") as bar:
        answer = _execute(url, CALL, bar.update)
        bar.finish()
    info = httpx.get(f"{url}/v1/query/{answer.query_id}", timeout=30).raise_for_status().json()
    return _Outcome(answer.names, answer.rows[0], info["timeline"])


@dataclass(frozen=True, slots=True)
class _Answer:
    query_id: str
    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def _execute(url: str, sql: str, watch: Callable[[Mapping[str, object]], None] = lambda _stats: None) -> _Answer:
    """All rows; ``watch`` gets the statistics of each page as it comes."""
    rows: list[tuple[object, ...]] = []
    names: tuple[str, ...] = ()
    query_id = ""
    try:
        with StatementClient(url, ClientSession(user="demo", source="procession-demo")) as client:
            for page in client.execute(sql):
                query_id, names = page.query_id, tuple(column.name for column in page.columns) or names
                rows += page.rows
                watch(msgspec.structs.asdict(page.stats))
    except (StatementError, ServerUnreachableError) as error:
        raise DemoError(f"the statement failed: {error}\n  {sql}") from error
    return _Answer(query_id, names, tuple(rows))


@contextmanager
def _procession(etc: Path, data_dir: Path, log: Path) -> Iterator[Callable[[], str]]:
    """``procession up`` as a child, and a function that waits for its address."""
    command = [sys.executable, "-m", "coordinator", "up", "--etc", str(etc), "--data-dir", str(data_dir), "--port", "0"]
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    child = GuardedChild(command, env=environment, log_file=log)

    def await_url() -> str:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and child.poll() is None:
            found = re.search(r"listening on (http://\S+)", log.read_text(errors="replace"))
            if found is not None:
                return found[1]
            time.sleep(0.05)
        raise DemoError(f"procession did not start; run `procession doctor`. It said: {child.last_lines()}")

    try:
        yield await_url
    finally:
        child.stop(timeout=30)


def _write_etc(etc: Path) -> Path:
    for name, text in _ETC.items():
        file = etc / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return etc


def _make_table(home: Path, data_dir: Path, options: DemoOptions) -> None:
    command = [str(_generator()), "parquet", "-s", f"{options.scale_factor:g}", "--tables", "lineitem"]
    whole = [*command, "--output-dir", str(home), "--quiet"]
    made = subprocess.run(whole, capture_output=True, text=True, check=False)  # noqa: S603 - of our own words
    if made.returncode != 0:
        raise DemoError(f"tpchgen-cli failed: {made.stderr.strip()}")
    source = home / "lineitem.parquet"
    create_sample(CATALOG, data_dir, SCHEMA, TABLE, pq.read_table(source), options.files)
    source.unlink()


def _verdict(console: Console, before: TableState, after: TableState) -> int:
    if (before.rows, before.checksum) != (after.rows, after.checksum):
        return report.verdict(console, "The table's content changed.", good=False)
    if after.files >= before.files:
        return report.verdict(console, "The table has no fewer files than before.", good=False)
    text = f"Every row is there; {before.files} files became {after.files}."
    return report.verdict(console, text, good=True)


def _require() -> None:
    if not _generator().is_file():
        raise DemoError("the demo needs tpchgen-cli; fix: pip install tpchgen-cli")


def _generator() -> Path:
    return Path(sys.executable).with_name("tpchgen-cli")

"""What tests of several rooms share: one embedded Spark server a session, and a look at who is still running."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from hypothesis import HealthCheck, settings

from tests import compiled, fewer_events, files_in_memory, shared_trust, tiers, tpch_tables

SHARED = {
    "whole_service": "service",
    "spark_engine": "spark",
    "metastore": "spark",
    "quiet_service": "quiet",
    "secured": "secured",
    "system_service": "system",
}
"""What is costly to start, and the group of tests that share it: each group runs on one worker of xdist. The groups
that take longest come first; no test may name fixtures of two groups, for it would start both."""

FILES = pytest.StashKey[Path | None]()
TPCH = pytest.StashKey[Path | None]()
FAILED = pytest.StashKey[bool]()
_LONGEST_NAME = 120
ProcessesOf = Callable[[Path], list[int]]


def pytest_configure(config: pytest.Config) -> None:
    """A server that lives for minutes loses more to Java's optimizing compiler than it gains.

    Without that compiler Java keeps room for 48 MB of compiled code, which the shared Spark outgrows: it then sweeps
    through that code all the time, for a sixth of its CPU time.
    """
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")
    # Its handlers run in a child before exec where one has to be forked, and crash there now and then.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    # A time limit for an example, or for making some, tells how busy the machine is.
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")
    config.stash[FILES] = files_in_memory.begin()  # workers of xdist inherit it
    config.stash[TPCH] = tpch_tables.begin()
    shared_trust.share()
    gc.disable()


@pytest.hookimpl(trylast=True)  # Hypothesis looks at no files before its own
def pytest_sessionstart(session: pytest.Session) -> None:
    fewer_events.tell_less(session.config)
    compiled.compile_share(session.config)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Texts of a megabyte are told from each other by what is short: names go from worker to controller many times."""
    if not isinstance(val, str | bytes) or len(val) <= _LONGEST_NAME:
        return None
    begin = val[:_LONGEST_NAME]
    return f"{begin if isinstance(begin, str) else ascii(begin)}… of {len(val)}"


def pytest_collection_finish() -> None:
    """Modules and test items stay to the end: looking for garbage among them costs a third of the collection."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # trees of statements are many small objects, and hardly ever garbage in cycles
    gc.enable()
    if "pyiceberg.table" in sys.modules:
        from coordinator.connectors.iceberg.kept_configuration import keep_configuration
        from coordinator.connectors.iceberg.manifests.kept_readers import keep_readers
        from coordinator.connectors.iceberg.shared_models import share_models

        share_models()  # for tables that tests make by PyIceberg alone as well
        keep_readers()
        keep_configuration()
    if "sqlalchemy" in sys.modules:
        from tests import shared_statements

        shared_statements.share()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[FAILED] = exitstatus != 0


def pytest_unconfigure(config: pytest.Config) -> None:
    """What was frozen ends with the interpreter as usual, for extension modules look for leaks then.

    After what pytest cleans up by itself, which would look for garbage among all modules and tests.
    """
    if (tables := config.stash.get(TPCH, None)) is not None:
        tpch_tables.end(tables)
    if (files := config.stash.get(FILES, None)) is not None:
        files_in_memory.end(files, failed=config.stash.get(FAILED, True))
    atexit.register(gc.unfreeze)


FAST = "not slow and not spark and not lake"
"""What `make check` asks for."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files in which every test is slow are not even imported for `make check`: two of each worker's ten seconds."""
    if config.getoption("markexpr") != FAST or collection_path.suffix != ".py":
        return None
    return True if tiers.all_slow(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Tests of a group stay together, those of other files with their file; what takes longest comes first.

    Whatever needs a shared server is slow. What is for a full run alone is left out of others.
    """
    tiers.leave_out(config, items)
    groups = {item: _group(item) for item in items}
    sizes = Counter(group for item, group in groups.items() if item.get_closest_marker("slow"))
    first = {group: -len(items) - place for place, group in enumerate(reversed(dict.fromkeys(SHARED.values())))}
    items.sort(key=lambda item: first.get(groups[item], -sizes[groups[item]]))
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
        if group in SHARED.values():
            item.add_marker(pytest.mark.slow)
    return (yield)


def _group(item: pytest.Item) -> str:
    used = [group for fixture, group in SHARED.items() if fixture in getattr(item, "fixturenames", ())]
    return used[0] if used else item.path.name.removesuffix(".py") + "-" + item.path.parent.name


def _processes_of(path: Path) -> list[int]:
    """Ids of living processes whose command line or environment names ``path``, without this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if (entry / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                continue
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if str(path).encode() in text:
                found.append(int(entry.name))
    return found


@pytest.fixture(scope="session")
def processes_of() -> ProcessesOf:
    """Living processes that belong to a directory."""
    return _processes_of


@pytest.fixture(scope="session")
def gone_within() -> Callable[[Path, float], list[int]]:
    """Wait until no process belongs to a directory; those that are left after so many seconds."""

    def wait(path: Path, seconds: float) -> list[int]:
        deadline = time.monotonic() + seconds
        while (left := _processes_of(path)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    return wait


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL that holds ``shop`` (tests/jdbc/kinds.py)."""
    from tests.jdbc.kinds import filled_postgres

    with filled_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The address of a MariaDB that holds ``shop`` (tests/jdbc/maria.py)."""
    from tests.jdbc.maria import filled_server

    with filled_server() as address:
        yield address


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A real Hive metastore; each test takes a schema or a table of its own."""
    from tests.hive_metastore import hive_metastore

    with hive_metastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


@pytest.fixture(scope="session")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The embedded server of all tests that need Spark and no service: no catalogs, the drivers of both databases."""
    from tests.spark_server import shared_engine

    with shared_engine(tmp_path_factory.mktemp("spark-engine")) as engine:
        yield engine


@pytest.fixture(scope="session")
def whole_service(
    postgres: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[object]:
    """One Procession with Spark, the native checker and every kind of catalog, for tests that harm nothing."""
    from tests.services import whole_service as running

    mariadb: str | None
    try:
        mariadb = request.getfixturevalue("mariadb")
    except pytest.skip.Exception:
        mariadb = None
    with running(tmp_path_factory.mktemp("whole"), postgres, mariadb) as service:
        yield service


@pytest.fixture(scope="session")
def rule_cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Plans over TPC-H's tables beside DuckDB's rows (tests/optimizer/rule_cases.py); it makes the tables once."""
    from tests.optimizer.rule_cases import RuleCases

    yield from RuleCases.over(tmp_path_factory.mktemp("tpch"))


@pytest.fixture(scope="session")
def quiet_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One Procession with the native checker, ``iceberg`` and ``tpch``, whose Spark is never started."""
    from tests.services import quiet_service as running

    with running(tmp_path_factory.mktemp("quiet")) as service:
        yield service


@pytest.fixture(scope="session")
def jdbc_jar() -> Path:
    """presto-jdbc from Maven, resolved by the Ivy that pyspark brings; kept in the user's cache."""
    if shutil.which("javac") is None:
        pytest.skip("no JDK: javac is not on PATH")
    cache = Path.home() / ".cache" / "procession" / "jars"
    jar = cache / "presto-jdbc-0.296.jar"
    if not jar.exists():
        ivy = next(Path(pyspark.__file__).parent.joinpath("jars").glob("ivy-*.jar"))
        command = ["java", "-jar", str(ivy), "-dependency", "com.facebook.presto", "presto-jdbc", "0.296"]
        target = f"{cache}/[artifact]-[revision].[ext]"
        options = ["-notransitive", "-retrieve", target, "-cache", str(cache / "ivy"), "-types", "jar", "-warn"]
        subprocess.run([*command, *options], check=True, timeout=240, capture_output=True)
    return jar

"""A real uvicorn on a free port over fakes of the ports: what a statement does is said by its text.

The fakes implement the ports of ``coordinator.dispatch.ports`` and nothing more.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
import uvicorn

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.events import QueryEvents
from coordinator.dispatch.query import Query
from coordinator.dispatch.settings import DispatchSettings
from coordinator.engine.execution import Execution, QueryProgress
from coordinator.resource_groups.manager import ResourceGroups
from coordinator.resource_groups.specification import ManagerSpec
from coordinator.server.app import create_server
from coordinator.server.settings import Cluster, NodeInfo, ServerSettings
from coordinator.vocabulary.planned_statement import Column, PlannedStatement, RunLocally, SessionChange
from shared.errors import ErrorCode, ErrorLocation, ProcessionError
from shared.spi.plan_checker import PrestoWarning
from shared.spi.session import Session

ALL_TYPES: list[tuple[str, str, pa.Array]] = [
    ("c_boolean", "boolean", pa.array([True, None])),
    ("c_tinyint", "tinyint", pa.array([-128, None], pa.int8())),
    ("c_smallint", "smallint", pa.array([32767, None], pa.int16())),
    ("c_integer", "integer", pa.array([2147483647, None], pa.int32())),
    ("c_bigint", "bigint", pa.array([9007199254740993, None], pa.int64())),
    ("c_real", "real", pa.array([0.1, None], pa.float32())),
    ("c_double", "double", pa.array([2.5, None], pa.float64())),
    ("c_decimal", "decimal(22,2)", pa.array([Decimal("12345678901234567890.10"), None], pa.decimal128(22, 2))),
    ("c_varchar", "varchar", pa.array(["é☃", None])),
    ("c_varchar_10", "varchar(10)", pa.array(["abc", None])),
    ("c_char", "char(5)", pa.array(["ab", None])),
    ("c_varbinary", "varbinary", pa.array([b"\x00\xff", None], pa.binary())),
    ("c_date", "date", pa.array([dt.date(2020, 2, 29), None], pa.date32())),
    ("c_time", "time", pa.array([dt.time(1, 2, 3, 456000), None], pa.time64("us"))),
    ("c_timestamp", "timestamp", pa.array([dt.datetime(2020, 2, 29, 1, 2, 3, 456000), None], pa.timestamp("us"))),
    (
        "c_timestamptz",
        "timestamp with time zone",
        pa.array([dt.datetime(2020, 2, 29, 9, 2, 3, 456000), None], pa.timestamp("us", "America/Los_Angeles")),
    ),
    ("c_day_second", "interval day to second", pa.array([93_784_500, None], pa.int64())),
    ("c_year_month", "interval year to month", pa.array([18, None], pa.int32())),
    ("c_json", "json", pa.array(['{"a":[1,2]}', None])),
    ("c_uuid", "uuid", pa.array(["12151fd2-7586-11e9-8f9e-2a86e4085a59", None])),
    ("c_ipaddress", "ipaddress", pa.array(["10.0.0.1", None])),
    ("c_array", "array(integer)", pa.array([[1, 2, None], None], pa.list_(pa.int32()))),
    ("c_map", "map(varchar,integer)", pa.array([[("a", 1), ("b", None)], None], pa.map_(pa.string(), pa.int32()))),
    (
        "c_row",
        'row(x bigint,"Y z" double)',
        pa.array([{"x": 1, "Y z": 2.5}, None], pa.struct([("x", pa.int64()), ("Y z", pa.float64())])),
    ),
    ("c_unknown", "unknown", pa.nulls(2)),
]


def single(name: str, presto_type: str, *values: Any, arrow_type: pa.DataType | None = None) -> Answer:
    return Answer((Column(name, presto_type),), lambda _: iter([pa.record_batch({name: pa.array(values, arrow_type)})]))


def mismatched(word: str) -> ProcessionError:
    return ProcessionError(ErrorCode.SYNTAX_ERROR, f"mismatched input '{word}'", location=ErrorLocation(1, 1))


@dataclass(frozen=True)
class Answer:
    """What a fake statement returns."""

    columns: tuple[Column, ...]
    batches: Callable[[Execution], Iterator[pa.RecordBatch]]
    update_type: str | None = None
    change: SessionChange = field(default_factory=SessionChange)


def done(update_type: str, **change: Any) -> Answer:
    answer = single("result", "boolean", True)
    return Answer(answer.columns, answer.batches, update_type, SessionChange(**change))


def all_types() -> Answer:
    batch = pa.record_batch({name: array for name, _, array in ALL_TYPES})
    return Answer(tuple(Column(name, text) for name, text, _ in ALL_TYPES), lambda _: iter([batch]))


def numbers(count: int, rows_per_batch: int = 1000, width: int = 100) -> Answer:
    """``count`` rows of a number and a text of ``width`` characters."""

    def batches(_: Execution) -> Iterator[pa.RecordBatch]:
        for start in range(0, count, rows_per_batch):
            ids = range(start, min(count, start + rows_per_batch))
            yield pa.record_batch({"n": pa.array(ids, pa.int64()), "t": pa.array(["x" * width] * len(ids))})

    return Answer((Column("n", "bigint"), Column("t", "varchar")), batches)


def slow(execution: Execution) -> Iterator[pa.RecordBatch]:
    """Runs until cancelled, reporting progress."""
    woken = threading.Event()
    execution.on_cancel(woken.set)
    execution.report_progress(QueryProgress(completed_splits=3, total_splits=12, running_splits=2, processed_rows=7))
    if not woken.wait(60):
        raise AssertionError("nobody cancelled")
    execution.check_cancelled()
    yield pa.record_batch({"n": pa.array([1], pa.int64())})


def endless(execution: Execution) -> Iterator[pa.RecordBatch]:
    """Two rows, and then none until it is stopped, of which it makes an error as engines do."""
    woken = threading.Event()
    execution.on_cancel(woken.set)
    yield pa.record_batch({"n": pa.array([1, 2], pa.int64())})
    assert woken.wait(60)
    raise ProcessionError(ErrorCode.REMOTE_HOST_GONE, "the engine was ended", retriable=True)


def failing(execution: Execution) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"n": pa.array([1], pa.int64())})
    raise ProcessionError(ErrorCode.DIVISION_BY_ZERO, "/ by zero")


def lost_engine(execution: Execution) -> Iterator[pa.RecordBatch]:
    raise ProcessionError(ErrorCode.REMOTE_HOST_GONE, "Spark is gone")
    yield


def defect(execution: Execution) -> Iterator[pa.RecordBatch]:
    raise KeyError("secret internals")
    yield


def nothing(execution: Execution) -> Iterator[pa.RecordBatch]:
    return
    yield


BIGINT = (Column("n", "bigint"),)

ANSWERS: dict[str, Callable[[], Answer]] = {
    "SELECT 1": lambda: single("_col0", "integer", 1, arrow_type=pa.int32()),
    "SELECT all": all_types,
    "SELECT none": lambda: Answer(BIGINT, nothing),
    "SELECT slow": lambda: Answer(BIGINT, slow),
    "SELECT endless": lambda: Answer(BIGINT, endless),
    "SELECT 1/0": lambda: Answer(BIGINT, failing),
    "SELECT lost": lambda: Answer(BIGINT, lost_engine),
    "SELECT defect": lambda: Answer(BIGINT, defect),
    "SELECT many": lambda: numbers(20_000),
    "SELECT huge": lambda: numbers(2_000_000, width=200),
    "SELECT nan": lambda: single("x", "double", float("nan"), float("inf"), float("-inf"), -0.0, 1e100),
    "DELETE FROM t": lambda: Answer(
        (Column("rows", "bigint"),), lambda _: iter([pa.record_batch({"rows": pa.array([5], pa.int64())})]), "DELETE"
    ),
    "CALL show": lambda: replace(numbers(3, width=1), update_type="CALL"),
    "CREATE": lambda: done("CREATE TABLE"),
    "SELECT version()": lambda: single("_col0", "varchar", "0.1.0"),
    "USE tpch.sf1": lambda: done("USE", set_catalog="tpch", set_schema="sf1"),
    "SET SESSION a = 'b c'": lambda: done("SET SESSION", set_session={"a": "b c"}),
    "RESET SESSION a": lambda: done("RESET SESSION", clear_session=("a",)),
    "PREPARE p FROM SELECT 1": lambda: done("PREPARE", added_prepare={"p": "SELECT 1"}),
    "DEALLOCATE PREPARE p": lambda: done("DEALLOCATE", deallocated_prepare=("p",)),
    "START TRANSACTION": lambda: done("START TRANSACTION", started_transaction_id="tx-1"),
    "COMMIT": lambda: done("COMMIT", clear_transaction_id=True),
    "ROLLBACK": lambda: done("ROLLBACK", clear_transaction_id=True),
    "SET ROLE": lambda: done("SET ROLE", set_role={"hive": "ROLE{admin}"}),
}


class FakePlanner:
    """Knows the statements of ANSWERS, ``-- comment`` lines left out; the rest are syntax errors."""

    def __init__(self, answers: dict[str, Callable[[], Answer]]) -> None:
        self.answers = answers
        self.sessions: list[Session] = []
        self.waiting = 0

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        self.sessions.append(session)
        sql = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        if sql == "PLAN slowly":
            self.waiting += 1
            await asyncio.sleep(20)
        if sql == "PLAN defect":
            raise KeyError("planner internals")
        sql = self._prepared(sql, session)
        if sql not in self.answers:
            raise mismatched(sql.split(" ")[0][:40])
        answer = self.answers[sql]()
        verbs = {"parse": 0.001, "analyze": 0.002, "plan": 0.003, "optimize": 0.004, "fragment": 0.005}
        return PlannedStatement(
            query_type="SELECT",
            columns=answer.columns,
            work=RunLocally(sql),
            update_type=answer.update_type,
            session_change=answer.change,
            verb_seconds=verbs,
        )

    def _prepared(self, sql: str, session: Session) -> str:
        """What JDBC makes of prepareStatement, and its spelling of START TRANSACTION."""
        match sql.split(" ", 3):
            case ["PREPARE", name, "FROM", text]:
                self.answers[sql] = lambda: done("PREPARE", added_prepare={name: text})
            case ["EXECUTE", name]:
                return session.prepared_statements[name]
            case ["DESCRIBE", _, _]:
                return "SELECT none"
            case ["DEALLOCATE", "PREPARE", name]:
                self.answers[sql] = lambda: done("DEALLOCATE", deallocated_prepare=(name,))
            case ["START", "TRANSACTION", *_]:
                return "START TRANSACTION"
        return sql


class FakeChecker:
    """Warns about everything; vetoes nothing but ``SELECT vetoed``."""

    async def check(self, planned: PlannedStatement, session: Session, note: Any) -> tuple[PrestoWarning, ...]:
        assert isinstance(planned.work, RunLocally)
        if planned.work.sql == "SELECT vetoed":
            raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Error from native plan checker: no")
        return (PrestoWarning(1, "TEST_WARNING", "be careful"),) if session.source == "warn" else ()


class FakeExecutor:
    def __init__(self, answers: dict[str, Callable[[], Answer]]) -> None:
        self.answers = answers

    def execute(self, planned: PlannedStatement, execution: Execution) -> Iterator[pa.RecordBatch]:
        assert isinstance(planned.work, RunLocally)
        return self.answers[planned.work.sql]().batches(execution)


class MovableClock:
    """Real time plus what a test adds."""

    def __init__(self) -> None:
        self.offset = 0.0

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC) + dt.timedelta(seconds=self.offset)

    def monotonic(self) -> float:
        return time.monotonic() + self.offset

    def advance(self, seconds: float) -> None:
        self.offset += seconds


def parse_prepared(sql: str) -> None:
    if sql.startswith("SELEC "):
        raise mismatched("SELEC")


@dataclass
class Server:
    """A running server and its inside."""

    url: str
    port: int
    dispatcher: Dispatcher
    planner: FakePlanner
    clock: MovableClock
    stopped: threading.Event
    client: httpx.Client
    app: Any = None

    def post(self, sql: str, headers: dict[str, str] | None = None, **parameters: Any) -> httpx.Response:
        merged = {"X-Presto-User": "tester"} if headers is None else headers
        return self.client.post("/v1/statement", content=sql, headers=merged, params=parameters)

    def pages(self, sql: str, headers: dict[str, str] | None = None) -> list[httpx.Response]:
        """Every response of a whole conversation, the POST's first."""
        responses = [self.post(sql, headers)]
        while "nextUri" in responses[-1].json():
            responses.append(self.client.get(responses[-1].json()["nextUri"]))
            assert responses[-1].status_code == 200, responses[-1].text
        return responses

    def until(self, response: httpx.Response, state: str) -> httpx.Response:
        """Poll from ``response`` on until a page says ``state``."""
        while response.json()["stats"]["state"] != state:
            response = self.client.get(response.json()["nextUri"] + "&maxWait=20ms")
        return response

    def sweep(self, query: Query) -> None:
        """Sweep once on the server's loop, and wait for it."""
        swept = threading.Event()

        async def sweep() -> None:
            await self.dispatcher.sweep()
            swept.set()

        tasks: list[asyncio.Task[None]] = []
        query.call_on_loop(lambda: tasks.append(asyncio.create_task(sweep())))
        assert swept.wait(60)

    def wait_for(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        limit = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < limit, "condition never held"
            time.sleep(0.005)


@contextmanager
def running_server(
    answers: dict[str, Callable[[], Answer]] | None = None,
    settings: DispatchSettings | None = None,
    server_settings: ServerSettings | None = None,
    group: ManagerSpec | None = None,
    results_folder: Path | None = None,
    events: QueryEvents | None = None,
    id_suffix: str | None = None,
    cluster: Callable[[Dispatcher], Cluster] | None = None,
    traced: bool = False,
) -> Iterator[Server]:
    known = ANSWERS | {"SELECT vetoed": ANSWERS["SELECT 1"]} | (answers or {})
    planner, clock, stopped = FakePlanner(known), MovableClock(), threading.Event()
    groups = ResourceGroups(group)
    dispatcher = Dispatcher(
        planner,
        FakeChecker(),
        FakeExecutor(known),
        groups,
        settings or DispatchSettings(sweep_interval=0.05),
        clock,
        results_folder=results_folder,
        events=events,
        id_suffix=id_suffix,
        traced=traced,
    )
    chosen = server_settings or ServerSettings(shutdown_grace_period=0.0)
    app = create_server(
        dispatcher,
        chosen if cluster is None else replace(chosen, cluster=cluster(dispatcher)),
        NodeInfo("test-node", "0.1.0", "test"),
        parse_statement=parse_prepared,
        stop=stopped.set,
    )
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", proxy_headers=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=60) as client:
            while not server.started:
                assert thread.is_alive(), "server did not start"
                time.sleep(0.005)
            yield Server(url, port, dispatcher, planner, clock, stopped, client, app)
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
        assert not thread.is_alive(), "server did not stop"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Shared by a module's tests that leave no state behind."""
    with running_server() as running:
        yield running


@pytest.fixture
def start_server() -> Callable[..., Any]:
    """A server of the test's own: ``with start_server(settings=…) as server``."""
    return running_server


@pytest.fixture
def types_table() -> list[tuple[str, str, pa.Array]]:
    return ALL_TYPES


@pytest.fixture
def number_answer() -> Callable[..., Answer]:
    return numbers


@pytest.fixture
def make_answer() -> type[Answer]:
    return Answer

"""The audit log: a line for each statement whatever clients send, files that only grow, and disks that are full."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.dispatch.audited import AuditedPlanner
from coordinator.parts import Parts, _show_runtime
from coordinator.security.audit_log import file as audit_file
from coordinator.security.audit_log.file import AuditFile
from coordinator.security.audit_log.refused_logins import RefusedLogins
from coordinator.security.audit_log.settings import AuditSettings
from coordinator.security.audit_log.trail import Trail
from coordinator.security.redaction import Redactor
from coordinator.vocabulary.planned_statement import PlannedStatement, ReturnRows
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError
from shared.spi.access_control import AccessDeniedError, Identity
from shared.spi.accesses import AskedAccess, SelectFromColumns, TableName
from shared.spi.session import Session


def settings(**given: Any) -> AuditSettings:
    made = AuditSettings.model_validate({})
    return made.model_copy(update={"enabled": True, "file": Path("audit.jsonl"), **given})


def lines(folder: Path) -> list[dict[str, Any]]:
    files = [*sorted(folder.glob("audit.jsonl.*")), folder / "audit.jsonl"]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[AuditFile]:
    made = AuditFile(settings(), tmp_path)
    made.start()
    yield made
    made.close()


class Planner:
    def __init__(self, outcome: PlannedStatement | ProcessionError) -> None:
        self.outcome = outcome

    async def plan(self, text: str, session: Session) -> PlannedStatement:
        if isinstance(self.outcome, ProcessionError):
            raise self.outcome
        return self.outcome


TABLE = TableName("lake", "db", "orders")
READS = PlannedStatement(
    "SELECT",
    (),
    ReturnRows(()),
    accesses=(AskedAccess(SelectFromColumns(TABLE, ("id", "price")), "alice"),),
    inputs=("lake.db.orders", "lake.db.lines"),
)
SESSION = Session(user="alice", query_id="q1", principal="alice@lake", groups=("sales",), remote_address="10.0.0.9")


def told(opened: AuditFile, tmp_path: Path, outcome: PlannedStatement | ProcessionError, text: str) -> dict[str, Any]:
    trail = Trail(opened, "node-1", required=True, redact=Redactor(["hunter2"]))
    try:
        asyncio.run(AuditedPlanner(Planner(outcome), trail).plan(text, SESSION))
    except ProcessionError as error:
        assert error is outcome
    opened.close()
    (line,) = lines(tmp_path)
    return line


def test_what_a_statement_may(opened: AuditFile, tmp_path: Path) -> None:
    line = told(opened, tmp_path, READS, "SELECT id, price FROM orders WHERE x = 'hunter2'")
    assert line["decision"] == "allowed"
    assert (line["user"], line["principal"], line["groups"], line["clientAddress"]) == (
        "alice", "alice@lake", ["sales"], "10.0.0.9",
    )  # fmt: skip
    assert line["accesses"] == [
        {"access": "SelectFromColumns", "object": "lake.db.orders", "columns": ["id", "price"]},
        {"access": "Read", "object": "lake.db.lines"},
    ]
    assert "hunter2" not in json.dumps(line)
    assert (line["sequence"], line["queryType"], line["queryId"]) == (1, "SELECT", "q1")


@pytest.mark.parametrize(
    ("outcome", "decision"),
    [
        (
            AccessDeniedError("Cannot select from table orders", "rule 3", "SelectFromColumns", "lake.db.orders"),
            "denied",
        ),
        (ProcessionError(ErrorCode.SYNTAX_ERROR, "mismatched input 'hunter2'"), "failed"),
    ],
)
def test_what_it_may_not(opened: AuditFile, tmp_path: Path, outcome: ProcessionError, decision: str) -> None:
    line = told(opened, tmp_path, outcome, 'SELECT 1 -- \n{"event": "forged"}\n')
    assert line["decision"] == decision
    assert line["error"] == outcome.code.name
    assert line.get("rule") == ("rule 3" if decision == "denied" else None)
    assert "hunter2" not in json.dumps(line)
    assert line["event"] == "statement", "a line break in a statement begins no line"


def test_only_its_owner_can_read_it(opened: AuditFile, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600
    (tmp_path / "other").symlink_to(tmp_path / "audit.jsonl")
    with pytest.raises(ConfigurationError, match="cannot write"):
        AuditFile(settings(file=Path("other")), tmp_path)


def test_files_are_set_aside_and_nothing_is_lost(tmp_path: Path) -> None:
    made = AuditFile(settings(max_size=5000), tmp_path)
    trail = Trail(made, "n")
    made.start()
    for number in range(200):
        trail.access(AccessDeniedError(f"number {number}"), Identity("u", None)) if number else trail.done(
            "x", "y", Identity("u", None)
        )
        if number % 50 == 49:
            made.write(b"").result(60)
    made.close()
    assert [line["sequence"] for line in lines(tmp_path)] == list(range(1, 201))
    assert len(list(tmp_path.glob("audit.jsonl.*"))) >= 3
    kept = AuditFile(settings(max_size=4096, max_files=2), tmp_path)
    kept.start()
    for _ in range(6):
        kept.write(b"x" * 5000 + b"\n").result(60)
    kept.close()
    assert len(list(tmp_path.glob("audit.jsonl.*"))) == 2


def test_an_old_file_that_cannot_be_deleted_costs_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EPERM, "append-only")

    made = AuditFile(settings(max_size=4096, max_files=1), tmp_path)
    monkeypatch.setattr(Path, "unlink", refused)
    made.start()
    for _ in range(4):
        made.write(b"x" * 5000 + b"\n").result(60)
    made.close()
    assert made.stats().lost == 0
    assert len(list(tmp_path.glob("audit.jsonl.*"))) == 3


def test_a_file_that_somebody_took_away_is_begun_again(opened: AuditFile, tmp_path: Path) -> None:
    opened.write(b"{}\n").result(60)
    (tmp_path / "audit.jsonl").rename(tmp_path / "taken")
    opened.write(b'{"a": 1}\n').result(60)
    assert (tmp_path / "audit.jsonl").read_text() == '{"a": 1}\n'


def full(monkeypatch: pytest.MonkeyPatch, after: int) -> dict[str, bool]:
    """A disk with room for ``after`` bytes more."""
    state, write = {"full": True}, os.write

    def limited(descriptor: int, content: Any) -> int:
        nonlocal after
        if not state["full"]:
            return write(descriptor, content)
        if after <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = write(descriptor, bytes(content)[:after])
        after -= done
        return done

    monkeypatch.setattr(audit_file.os, "write", limited)
    return state


def test_a_full_disk_refuses_statements_where_that_is_asked(
    opened: AuditFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = full(monkeypatch, after=10)
    strict = AuditedPlanner(Planner(READS), Trail(opened, "n", required=True))
    with pytest.raises(ProcessionError) as refused:
        asyncio.run(strict.plan("SELECT 1", SESSION))
    assert (refused.value.code, refused.value.retriable) == (ErrorCode.GENERIC_INSUFFICIENT_RESOURCES, True)
    assert (opened.stats().failing, opened.stats().lost) == (True, 1)
    lenient = AuditedPlanner(Planner(READS), Trail(opened, "n"))
    assert asyncio.run(lenient.plan("SELECT 1", SESSION)) is READS
    with pytest.raises(OSError, match="No space"):  # by then the thread has tried the line before, too
        opened.write(b"{}\n").result(60)
    state["full"] = False
    assert asyncio.run(strict.plan("SELECT 2", SESSION)) is READS
    assert not opened.stats().failing
    # The half of a line that still fitted was taken back.
    assert [line["query"] for line in lines(tmp_path)] == ["SELECT 2"]
    assert [line["sequence"] for line in lines(tmp_path)] == [2], "the gap tells that lines are missing"


def test_a_file_that_may_only_grow(opened: AuditFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with the append-only attribute of a file system: neither renamed nor cut."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(audit_file.os, "ftruncate", refused)
    monkeypatch.setattr(Path, "replace", refused)
    opened._settings = settings(max_size=5)
    state = full(monkeypatch, after=5)
    with pytest.raises(OSError, match="not permitted"):
        opened.write(b'{"a": 1}\n').result(60)
    state["full"] = False
    opened.write(b'{"a": 2}\n').result(60)
    assert (tmp_path / "audit.jsonl").read_text() == '{"a":\n{"a": 2}\n'


def test_a_statement_that_is_cancelled_takes_no_line_back(tmp_path: Path) -> None:
    made = AuditFile(settings(), tmp_path)  # nobody writes yet
    planner = AuditedPlanner(Planner(READS), Trail(made, "n", required=True))

    async def cancelled() -> None:
        task = asyncio.create_task(planner.plan("SELECT 1", SESSION))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    made.start()
    asyncio.run(planner.plan("SELECT 2", SESSION))
    made.close()
    assert [line["query"] for line in lines(tmp_path)] == ["SELECT 1", "SELECT 2"]


@pytest.mark.parametrize("sync", ["never", "second", "always"])
def test_many_wait_for_one_write(tmp_path: Path, sync: str, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(audit_file.os, "fdatasync", synced.append)
    monkeypatch.setattr(audit_file, "time", SimpleNamespace(monotonic=lambda: 0.0))  # no second goes by
    made = AuditFile(settings(sync=sync), tmp_path)
    waiting = [made.write(b"{}\n") for _ in range(3000)]
    made.start()
    for each in waiting:
        each.result(60)
    made.close()
    assert len(lines(tmp_path)) == 3000
    assert len(synced) == {"never": 1, "second": 2, "always": 4}[sync], "one for each batch, and at the end"


def test_refused_logins_of_one_address_fill_no_disk(opened: AuditFile, tmp_path: Path) -> None:
    trail = Trail(opened, "n")
    for _ in range(1000):
        trail.login("Invalid credentials", "mallory", "10.0.0.6")
    trail.login("Invalid credentials", "alice", "10.0.0.7")
    trail.finish()
    opened.close()
    found = lines(tmp_path)
    assert [line["sequence"] for line in found] == list(range(1, len(found) + 1))
    of_one = [line for line in found if line["clientAddress"] == "10.0.0.6"]
    assert len(of_one) < 100
    assert len([line for line in of_one if "leftOut" not in line]) + of_one[-1]["leftOut"] == 1000
    assert [line["user"] for line in found if line["clientAddress"] == "10.0.0.7"] == ["alice"]


def test_what_was_counted_is_said_when_the_minute_is_over() -> None:
    now = 0.0
    refused = RefusedLogins(lambda: now)
    taken = [refused.take("a") for _ in range(70)]
    assert refused.left_out() == []
    now = 61.0
    assert refused.left_out() == [("a", taken.count(False))]
    assert refused.take("a")
    assert len([address for address in map(str, range(5000)) if refused.take(address)]) < 1200
    assert sum(number for _, number in refused.left_out(at_the_end=True)) > 3800


def test_a_refused_kill_of_anothers_query_has_a_line(opened: AuditFile, tmp_path: Path) -> None:
    class Control:
        def check_can_view_query_owned_by(self, _identity: Identity, _owner: Identity) -> None:
            pass

        def check_can_kill_query_owned_by(self, _identity: Identity, _owner: Identity) -> None:
            raise AccessDeniedError("Cannot kill query")

    query = SimpleNamespace(session=Session(user="bob"))
    around = SimpleNamespace(
        auditing=SimpleNamespace(trail=Trail(opened, "n")),
        delivery=SimpleNamespace(history=None),
        clustering=None,
        service=None,
    )
    governed = SimpleNamespace(control=Control(), catalogs=SimpleNamespace())
    dispatcher = SimpleNamespace(registry={"q2": query})
    _show_runtime(cast(Parts, SimpleNamespace(around=around, governed=governed, dispatcher=dispatcher)))
    with pytest.raises(AccessDeniedError):
        governed.catalogs.runtime.kill(SESSION, "q2", "why")
    opened.close()
    (line,) = lines(tmp_path)
    assert (line["decision"], line["user"], line["queryId"]) == ("denied", "alice", "q1")

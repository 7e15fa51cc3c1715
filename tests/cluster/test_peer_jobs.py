"""Calls of all coordinators in one list: own ones as they are, those of others as the shared history has them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from coordinator.engine.guarded_jobs import GuardedJobLog
from coordinator.history.reader import HistoryReader
from coordinator.history.recorder import HistoryRecorder
from coordinator.history.settings import HistorySettings
from coordinator.history.store import HistoryStore, sqlite_address
from coordinator.peer_jobs import Kill, PeerJobs
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.current_session import acting_for
from shared.errors import ErrorCode, ProcessionError
from shared.spi.access_control import SystemAccessControl
from shared.spi.jobs import Job
from shared.spi.session import Session
from tests.engine_local.test_jobs import shown
from tests.event_samples import CREATED, progress
from tests.security.test_access_control import OwnQueries

EVERYBODY = AllowAll()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    opened = HistoryStore(sqlite_address(tmp_path / "history.db"))
    yield opened
    opened.close()


def nobody(_session: Session, _job: str, _message: str) -> bool | None:
    raise AssertionError


def log_of_a(
    store: HistoryStore, kill: Kill = nobody, control: SystemAccessControl = EVERYBODY, file: Path | None = None
) -> GuardedJobLog:
    peers = PeerJobs(HistoryReader(store.engine), control, "a", kill)
    return GuardedJobLog(file, control, str, node_id="a", elsewhere=peers)


def test_calls_of_all_with_their_coordinators(store: HistoryStore, tmp_path: Path) -> None:
    theirs = HistoryRecorder(store, HistorySettings.model_validate({}), "b")
    theirs.receive([progress("theirs", completed=2, total=5, phase="rewriting"), progress("lost", "RUNNING")])
    store.settle("b", "lost")
    theirs.receive([progress("later", "FAILED", started=CREATED + timedelta(hours=1), ended=CREATED, error="no")])
    # What an earlier start of this coordinator told, with another data directory, and what it tells of now.
    ours = HistoryRecorder(store, HistorySettings.model_validate({}), "a")
    ours.receive([progress("old", "FINISHED", started=CREATED - timedelta(hours=1), ended=CREATED), progress("mine")])
    log = log_of_a(store, file=tmp_path / "jobs.db")
    now = Job("mine", "expire_snapshots", None, "ann", "RUNNING", CREATED + timedelta(minutes=1), phase="now")
    with log.running(now, print):
        rows = shown(log)
        assert [(row["job_id"], row["state"], row["node_id"], row["phase"]) for row in rows] == [
            ("later", "FAILED", "b", ""),
            ("mine", "RUNNING", "a", "now"),
            ("theirs", "RUNNING", "b", "rewriting"),
            ("lost", "LOST", "b", ""),
            ("old", "FINISHED", "a", ""),
        ]
        assert (rows[2]["completed"], rows[2]["total"], rows[2]["table_name"]) == (2, 5, "lake.db.orders")
        assert (rows[3]["elapsed_ms"], rows[3]["ended"]) == (None, None)
        assert [row["job_id"] for row in shown(log, state="running")] == ["mine", "theirs"]
        assert [row["job_id"] for row in shown(log, limit=2)] == ["later", "mine"]
    assert [row["job_id"] for row in shown(log, state="running")] == ["theirs"], "the history is late"
    log.close()


def test_only_what_the_user_may_see(store: HistoryStore) -> None:
    HistoryRecorder(store, HistorySettings.model_validate({}), "b").receive(
        [progress("anns"), progress("bobs", user="bob")]
    )
    log = log_of_a(store, control=OwnQueries())
    with acting_for(Session(user="bob")):
        assert [row["job_id"] for row in shown(log)] == ["bobs"]
        assert not log.kill("anns", "mine")


def test_a_call_is_ended_where_it_runs(store: HistoryStore) -> None:
    told: list[tuple[str, str, str]] = []

    def kill(session: Session, job_id: str, message: str) -> bool | None:
        told.append((session.user, job_id, message))
        return True

    theirs = HistoryRecorder(store, HistorySettings.model_validate({}), "b")
    theirs.receive([progress("theirs"), progress("done", "FINISHED", ended=CREATED)])
    log = log_of_a(store, kill)
    with acting_for(Session(user="ann")):
        assert log.kill("theirs", "enough")
        assert not log.kill("done", "enough"), "another statement is no job, and neither is one that has ended"
        assert not log.kill("a query", "enough")
    assert told == [("ann", "theirs", "enough")]


def test_one_that_may_not_be_ended_is_told_as_such(store: HistoryStore) -> None:
    def kill(_session: Session, _job: str, _message: str) -> bool | None:
        raise ProcessionError(ErrorCode.PERMISSION_DENIED, "Access Denied: Cannot kill query")

    HistoryRecorder(store, HistorySettings.model_validate({}), "b").receive([progress("theirs")])
    with acting_for(Session(user="ann")), pytest.raises(ProcessionError, match="Cannot kill query"):
        log_of_a(store, kill).kill("theirs", "enough")


def test_without_the_database_own_calls_are_listed() -> None:
    class Away(HistoryStore):
        def __init__(self) -> None:
            self.engine = sa.create_engine("sqlite:////nowhere/history.db")

    log = log_of_a(Away())
    with log.running(Job("mine", "p", None, "ann", "RUNNING", CREATED), print):
        assert [row["job_id"] for row in shown(log)] == ["mine"]

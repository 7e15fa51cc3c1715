"""The job log: what runs, what ran, what a dead coordinator left, and stopping a job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.system.procedures.kill_job import KillJob
from coordinator.connectors.system.procedures.show_jobs import ShowJobs
from coordinator.engine import jobs
from coordinator.engine.jobs import JobLog
from shared.errors import ErrorCode, ProcessionError
from shared.spi.jobs import Job
from shared.spi.procedure import ProcedureContext, ProcedureProgress
from shared.spi.session import Session


def job(name: str, minute: int = 0) -> Job:
    started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    return Job(name, "rewrite_data_files", "lake.db.t", "ann", "RUNNING", started)


def nothing(_message: str) -> None: ...


def shown(log: JobLog, **given: Any) -> list[dict[str, Any]]:
    workers: Any = None
    context = ProcedureContext(Session(user="t"), "system", workers, datetime(2026, 1, 2, tzinfo=UTC), jobs=log)
    arguments = {"limit": 100, "state": None} | given
    columns = [column.name for column in ShowJobs.declaration.output]
    return [dict(zip(columns, row, strict=True)) for row in ShowJobs().call(context, arguments).rows]


def test_progress_and_outcomes(tmp_path: Path) -> None:
    log = JobLog(tmp_path / "a" / "jobs.db")
    with log.running(job("one"), nothing) as progress:
        progress(ProcedureProgress(2, 5, "rewriting"))
        (row,) = shown(log)
        assert (row["state"], row["phase"], row["completed"], row["total"]) == ("RUNNING", "rewriting", 2, 5)
        assert (row["elapsed_ms"], row["ended"]) == (24 * 3600 * 1000, None)
    for number, code in ((1, ErrorCode.TRANSACTION_CONFLICT), (2, ErrorCode.USER_CANCELED)):
        with pytest.raises(ProcessionError), log.running(job(code.name, number), nothing):
            raise ProcessionError(code, "it's over")
    with pytest.raises(RuntimeError), log.running(job("bug", 3), nothing):
        raise RuntimeError("secret")
    assert [(r["job_id"], r["state"], r["error"]) for r in shown(log)] == [
        ("bug", "FAILED", "RuntimeError"),
        ("USER_CANCELED", "CANCELED", "it's over"),
        ("TRANSACTION_CONFLICT", "FAILED", "it's over"),
        ("one", "FINISHED", None),
    ]
    assert [r["job_id"] for r in shown(log, state="failed", limit=1)] == ["bug"]
    log.close()


def test_jobs_of_a_dead_coordinator_are_lost(tmp_path: Path) -> None:
    first = JobLog(tmp_path / "jobs.db")
    with first.running(job("orphan"), nothing):
        second = JobLog(tmp_path / "jobs.db")
        (row,) = shown(second)
        assert (row["job_id"], row["state"], row["elapsed_ms"]) == ("orphan", "LOST", None)
        second.close()
    first.close()


def test_a_lost_job_is_shown_with_what_it_had_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = JobLog(tmp_path / "jobs.db")
    with first.running(job("orphan"), nothing) as progress:
        monkeypatch.setattr(jobs, "_SAVED_SECONDS", 0.0)
        progress(ProcedureProgress(2, 5, "rewriting"))
        monkeypatch.setattr(jobs, "_SAVED_SECONDS", 60.0)
        progress(ProcedureProgress(3, 5, "rewriting"))
        second = JobLog(tmp_path / "jobs.db")
        (row,) = shown(second)
        assert (row["state"], row["phase"], row["completed"], row["total"]) == ("LOST", "rewriting", 2, 5)
        second.close()
    first.close()


def test_kill_reaches_the_running_job_only(tmp_path: Path) -> None:
    log = JobLog()
    told: list[str] = []
    workers: Any = None
    context = ProcedureContext(Session(user="t"), "system", workers, datetime.now(UTC), jobs=log)
    kill: Callable[[str], Any] = lambda job_id: KillJob().call(context, {"job_id": job_id, "message": "now"})  # noqa: E731
    with log.running(job("one"), told.append):
        assert kill("one").rows == [(True,)]
        assert [r["job_id"] for r in shown(log)] == ["one"]
    assert told == ["now"]
    with pytest.raises(ProcessionError, match="Target job is not running: one"):
        kill("one")
    assert shown(log) == [], "without a file only running jobs are known"


def test_wrong_arguments() -> None:
    with pytest.raises(ProcessionError, match="Invalid state: odd"):
        shown(JobLog(), state="odd")
    with pytest.raises(ProcessionError, match="limit must be at least 1"):
        shown(JobLog(), limit=0)

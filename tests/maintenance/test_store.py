"""What maintenance remembers, also in another process of the same file."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from coordinator.maintenance.records import Decision, JobState, MaintenanceJob, Pause, TableKey
from coordinator.maintenance.store import MaintenanceStore
from tests.maintenance.states import NOW

KEY = TableKey("lake", "db", "t")
OTHER = TableKey("lake", "db", "u")


def job(number: int, state: JobState = "FINISHED", minutes: int = 0, **given: object) -> MaintenanceJob:
    started = NOW - timedelta(minutes=minutes)
    ended = None if state == "RUNNING" else started + timedelta(seconds=10)
    made = MaintenanceJob(f"q{number}", KEY, "rewrite_data_files", "policy", state, started, ended, 100, 7.0)
    return replace(made, **given)  # type: ignore[arg-type]


def test_jobs_survive_and_those_that_ran_are_lost(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "new" / "m.db")
    done, running = job(1, minutes=9, error="x"), job(2, "RUNNING", 1)
    for each in (done, running):
        store.save_job(each)
    assert store.jobs(10) == [running, done]
    store.close()
    again = MaintenanceStore(tmp_path / "new" / "m.db")
    assert again.lose_running(NOW) == 1
    assert [(each.job_id, each.state) for each in again.jobs(10)] == [("q2", "LOST"), ("q1", "FINISHED")]
    assert again.jobs(10, OTHER) == []


def test_setbacks_count_until_the_last_good_job_and_stops_are_none(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    states: tuple[JobState, ...] = ("FAILED", "STOPPED", "LOST", "FINISHED", "FAILED")
    for number, state in enumerate(states):
        store.save_job(job(number, state, minutes=number))
    past = store.past(KEY, NOW)
    assert (past.setbacks, past.last_setback) == (2, NOW)
    assert past.last_rewrite == NOW - timedelta(minutes=3)
    assert store.past(OTHER, NOW).setbacks == 0


def test_what_a_day_took_counts_running_jobs_by_their_estimate(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    for each in (job(1), job(2, "RUNNING"), job(3, minutes=3 * 24 * 60), job(4, key=OTHER)):
        store.save_job(each)
    spent = store.spent(NOW - timedelta(days=1))
    assert (spent.size, spent.seconds, spent.jobs) == (300, 27.0, 3)
    assert store.spent(NOW - timedelta(days=1), OTHER).jobs == 1


def test_seconds_by_table_are_those_of_its_jobs_of_the_day(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    fraction = NOW - timedelta(hours=5) + timedelta(microseconds=123_456)
    for each in (job(1), job(2, "RUNNING"), job(3, minutes=3 * 24 * 60), job(4, key=OTHER, ended=None)):
        store.save_job(each)
    store.save_job(job(5, key=OTHER, started=fraction, ended=fraction + timedelta(milliseconds=2500)))
    assert store.seconds_by_table(NOW - timedelta(days=1)) == {KEY: 17.0, OTHER: 9.5}


def test_decisions_are_bounded_in_number_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.maintenance.store.MOST_DECISIONS", 3)
    store = MaintenanceStore(tmp_path / "m.db")
    for number in range(10):
        store.save_decision(Decision(NOW, KEY, "s", "SKIP", str(number)))
    store.clear(NOW - timedelta(days=1))
    assert [decision.reason for decision in store.decisions(10)] == ["9", "8", "7"]


def test_scans_are_averaged_over_the_days_since_the_first(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    assert store.past(KEY, NOW).scans_per_day is None
    store.count_scans(NOW.date() - timedelta(days=3), [(KEY, 10)])
    store.count_scans(NOW.date(), [(KEY, 1), (OTHER, 5)])
    store.count_scans(NOW.date(), [(KEY, 1)])
    store.count_scans(NOW.date() - timedelta(days=30), [(KEY, 1000)])
    assert store.past(KEY, NOW).scans_per_day == 3.0
    assert store.scans_per_day(NOW) == {KEY: 3.0, OTHER: 5.0}


def test_pauses_and_old_history(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    pause = Pause("lake.db", "ann", NOW, "release")
    store.pause(pause)
    store.pause(replace(pause, reason="again"))
    assert store.pauses() == [replace(pause, reason="again")]
    assert store.resume("lake.db")
    assert not store.resume("lake.db")
    for minutes in (1, 100):
        store.save_decision(Decision(NOW - timedelta(minutes=minutes), KEY, "s", "SKIP", "why"))
        store.save_job(job(minutes, "RUNNING" if minutes == 100 else "FINISHED", minutes))
    store.clear(NOW - timedelta(minutes=50))
    assert [decision.moment for decision in store.decisions(10)] == [NOW - timedelta(minutes=1)]
    assert len(store.jobs(10)) == 2, "a running job is not forgotten"


def test_a_file_of_an_earlier_release_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    store = MaintenanceStore(tmp_path / "m.db")
    store.save_job(job(1))
    store.close()
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute("ALTER TABLE looks DROP COLUMN overlap_depth")
        for name in ("size_before", "size_after"):
            connection.execute(f"ALTER TABLE jobs DROP COLUMN {name}")
    again = MaintenanceStore(tmp_path / "m.db")
    assert again.looks() == []
    assert len(again.jobs(10)) == 1


def test_the_speed_of_rewrites_is_measured_by_catalog(tmp_path: Path) -> None:
    """The median of enough finished ones that had something to do, within bounds; what was assumed until then."""
    store = MaintenanceStore(tmp_path / "m.db")
    size = 90 << 20
    store.save_job(job(1, estimated_size=size))
    store.save_job(job(2, estimated_size=size, files_before=50, minutes=1))
    for number, unlike in enumerate(({"state": "FAILED"}, {"procedure": "rewrite_manifests"}, {"estimated_size": 100})):
        store.save_job(replace(job(10 + number, estimated_size=size), **unlike))
    store.save_job(replace(job(20, estimated_size=size), key=replace(KEY, catalog="other")))
    assert (store.past(KEY, NOW).bytes_per_second, store.past(KEY, NOW).measured) == (30 << 20, False)
    store.save_job(job(3, estimated_size=2 * size, key=OTHER))
    past = store.past(KEY, NOW)
    assert (past.bytes_per_second, past.measured) == (2 * size / 8, True)
    for number in range(30, 50):
        store.save_job(job(number, estimated_size=1 << 50))
    assert store.past(KEY, NOW).bytes_per_second == 3000 << 20

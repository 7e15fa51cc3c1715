"""What maintenance remembers in the database of several coordinators: the same as in a file, of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.cluster.store import ClusterStore, Node
from coordinator.cluster.work import ClusterWork
from coordinator.maintenance.records import Decision, Pause
from coordinator.maintenance.store import MaintenanceStore
from tests.databases import new_database
from tests.maintenance import test_store
from tests.maintenance.test_store import KEY, NOW, OTHER, job

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(postgres: str) -> Iterator[ClusterStore]:
    made = ClusterStore(new_database(postgres, "maintenance"))
    yield made
    made.close()


def living(cluster: ClusterStore, suffix: str) -> MaintenanceStore:
    cluster.register(Node(suffix, f"node-{suffix}", f"http://{suffix}", "1"), 60.0)
    return MaintenanceStore(ClusterWork(cluster.engine, suffix, 0.0))


@pytest.mark.parametrize(
    "check",
    [
        test_store.test_setbacks_count_until_the_last_good_job_and_stops_are_none,
        test_store.test_what_a_day_took_counts_running_jobs_by_their_estimate,
        test_store.test_seconds_by_table_are_those_of_its_jobs_of_the_day,
        test_store.test_scans_are_averaged_over_the_days_since_the_first,
        test_store.test_pauses_and_old_history,
    ],
)
def test_as_in_a_file(
    cluster: ClusterStore, check: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_store, "MaintenanceStore", lambda _file: living(cluster, "aaaaa"))
    check(tmp_path)


def test_one_sees_what_the_other_did(cluster: ClusterStore) -> None:
    first, second = living(cluster, "aaaaa"), living(cluster, "bbbbb")
    first.pause(Pause("lake.db", "ann", NOW, "release"))
    first.save_decision(Decision(NOW, KEY, "rewrite_data_files", "RUN", "small files", 1.5, 5 << 40, 7.0))
    first.save_job(replace(job(1), job_id="20261124_000000_00001_aaaaa", estimated_size=5 << 40))
    assert [pause.by for pause in second.pauses()] == ["ann"]
    assert [decision.size for decision in second.decisions(5)] == [5 << 40]
    assert second.spent(NOW).size == 5 << 40
    assert second.jobs(5, OTHER) == []
    assert second.resume("lake.db")
    assert first.pauses() == []


def test_jobs_of_those_that_live_run_on(cluster: ClusterStore) -> None:
    first, second = living(cluster, "aaaaa"), living(cluster, "bbbbb")
    first.save_job(replace(job(1, "RUNNING"), job_id="20261124_000000_00001_aaaaa"))
    second.save_job(replace(job(2, "RUNNING"), job_id="20261124_000000_00001_bbbbb"))
    assert second.lose_running(NOW) == 0
    cluster.leave("aaaaa")
    assert second.lose_running(NOW) == 1
    assert {each.job_id[-5:]: each.state for each in second.jobs(5)} == {"aaaaa": "LOST", "bbbbb": "RUNNING"}

"""Health scores beside Apache Amoro's formula, worked out by hand."""

from __future__ import annotations

from coordinator.maintenance.health import health_of
from tests.maintenance.states import MB, partition, table


def test_a_table_without_files_and_one_of_full_files_are_healthy() -> None:
    assert health_of(table()).score == 100
    full = partition(files=3, size=3 * 512 * MB, small_files=0, small_size=0)
    assert health_of(table(full)).score == 100


def test_small_files_cost_up_to_forty_points() -> None:
    # p = 12/12 * 384/384 = 1, average 1 MB: 40 - 40 * (1 - 1/384) rounded up
    tiny = partition(files=384, size=384 * MB)
    assert health_of(table(tiny)).sizes == 1
    # p = 6/12 * 6/384
    small = partition(files=6, size=6 * MB)
    assert health_of(table(small)).sizes == 40


def test_deletes_cost_points_however_small_the_partition_is() -> None:
    eq = partition(files=384, size=384 * MB * 384, small_files=0, small_size=0, equality_deletes=50, records=1000)
    assert health_of(table(eq)).equality_deletes == 20
    pos = partition(files=384, size=384 * MB * 384, small_files=0, small_size=0, position_deletes=200, records=1000)
    assert health_of(table(pos)).position_deletes == 0
    tiny = partition(files=1, equality_deletes=500, records=1000)
    assert health_of(table(tiny)).equality_deletes == 30


def test_the_worst_partition_is_told_beside_the_mean() -> None:
    good = [partition(str(i), 1, 512 * MB, small_files=0, small_size=0) for i in range(9)]
    found = health_of(table(*good, partition("bad", 384, 384 * MB)))
    assert found.score == 97
    assert (found.worst, found.worst_partition) == (61, "bad")
    assert found.files_needed == 10

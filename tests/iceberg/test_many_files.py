"""Tables of many files that exist in manifests alone: what a commit reads and writes."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.million import NoKernels, make_table, one_partition
from coordinator.connectors.iceberg.snapshots import producer


class _Lab:
    """What the benchmark's table needs."""

    def __init__(self, lake: Any) -> None:
        self.catalog, self.folder = lake.other, lake.home / "wh" / "db" / "t"


@pytest.fixture
def many(lake: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Four partitions of 100 files, a manifest each."""
    monkeypatch.setattr("benchmarks.million._MANIFEST_FILES", 100)
    monkeypatch.setattr("benchmarks.million._partition", lambda number, _partitions: number // 100)
    make_table(_Lab(lake), 400)  # type: ignore[arg-type]
    lake.workers.run_tasks = NoKernels().run_tasks
    lake.workers.parallelism = 1  # a file of one part
    return lake


def manifests(lake: Any) -> dict[str, int]:
    """Live files by manifest."""
    table = lake.table("t")
    found = table.current_snapshot().manifests(table.io)
    return {m.manifest_path: (m.added_files_count or 0) + (m.existing_files_count or 0) for m in found}


def test_a_commit_makes_only_the_manifests_anew_that_it_has_to(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[str] = []
    real = producer.each_entries

    def each_entries(io: Any, some: Any, *, statistics: Any = True) -> Any:
        for manifest, listed in real(io, some, statistics=statistics):
            if statistics is True:
                whole.append(manifest.manifest_path)
            yield manifest, listed

    monkeypatch.setattr(producer, "each_entries", each_entries)
    before = manifests(many)
    result = many.rewrite("t", predicate=one_partition(2))
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (100, 1)
    after = manifests(many)
    assert len(before.keys() & after.keys()) == 3, "three manifests are as they were"
    assert sorted(after[path] for path in after.keys() - before.keys()) == [0, 1]
    assert set(whole) == before.keys() - after.keys(), "statistics are read of the one that is made anew"


def test_every_file_of_many_groups(many: Any) -> None:
    result = many.rewrite("t", {"max-file-group-input-files": "10"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (400, 40)
    table = many.table("t")
    files = [
        e.data_file for m in table.current_snapshot().manifests(table.io) for e in m.fetch_manifest_entry(table.io)
    ]
    assert sum(file.record_count for file in files) == 400_000
    assert len(files) == 40

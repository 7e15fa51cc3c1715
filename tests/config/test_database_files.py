"""A damaged database of the service's own is set aside, and one that is whole or busy is left alone."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

import pytest

from coordinator.maintenance.store import MaintenanceStore
from coordinator.values import database_files
from coordinator.values.database_files import set_aside_if_damaged


def test_a_damaged_file_is_kept_beside_a_new_one(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    file.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    (tmp_path / "m.db-wal").write_bytes(b"x")
    set_aside_if_damaged(file, "memory")
    assert sorted(entry.name.split("-")[0] for entry in tmp_path.iterdir()) == ["m.db.damaged"]
    store = MaintenanceStore(file)
    assert store.jobs(1) == []
    store.close()


def test_whole_busy_and_missing_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_files, "connect", partial(sqlite3.connect, timeout=0.1))  # nobody ends it meanwhile
    file = tmp_path / "m.db"
    set_aside_if_damaged(file, "memory")
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("BEGIN EXCLUSIVE")
        set_aside_if_damaged(file, "memory")
    connection.close()
    assert [entry.name for entry in tmp_path.glob("m.db*")] == ["m.db"]

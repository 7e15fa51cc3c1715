"""Listings of a store beside those of a disk: the same files, whatever lies in how many directories."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from coordinator.connectors.iceberg.maintenance import listing
from coordinator.connectors.iceberg.maintenance.listing import walk


class SlowStore:
    """The disk as a store that takes a while for each directory."""

    def __init__(self) -> None:
        self._disk = pafs.LocalFileSystem()
        self._lock = threading.Lock()
        self._running = self.most_at_once = 0

    def get_file_info(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        with self._lock:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        time.sleep(0.005)
        found: list[pafs.FileInfo] = self._disk.get_file_info(selector)
        with self._lock:
            self._running -= 1
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for day in range(40):
        for hour in range(day % 3):
            folder = tmp_path / f"day={day}" / f"hour={hour}"
            folder.mkdir(parents=True)
            for number in range(day % 4):
                (folder / f"{number}.parquet").write_text("x" * number)
    (tmp_path / "_hidden").mkdir()
    (tmp_path / "_hidden" / "a").touch()
    (tmp_path / "top #1.parquet").touch()
    return tmp_path


def as_store(monkeypatch: pytest.MonkeyPatch) -> SlowStore:
    store = SlowStore()
    monkeypatch.setattr(listing, "local_path", lambda _location: None)
    monkeypatch.setattr(listing, "_filesystem", lambda _io, location: (store, location.removeprefix("file://")))
    return store


def test_a_store_is_listed_as_a_disk_some_directories_at_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {str(Path(top) / name) for top, _, names in os.walk(tree) for name in names if "_hidden" not in top}
    io, hidden = PyArrowFileIO(), (lambda name: name.startswith("_"))
    disk = {(f.location, f.size) for f in walk(io, f"file://{tree}", hidden=hidden)}
    assert {location.removeprefix("file://") for location, _ in disk} == wanted
    store = as_store(monkeypatch)
    found = list(walk(io, f"file://{tree}/", hidden=hidden))
    assert {(f.location, f.size) for f in found} == disk
    assert len(found) == len(disk)
    assert store.most_at_once > 1
    assert list(walk(io, f"file://{tree}/none")) == []


def test_a_failure_of_the_store_is_one_of_the_listing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = as_store(monkeypatch)

    def refused(selector: pafs.FileSelector) -> Any:
        if "day=4" in selector.base_dir:
            raise PermissionError(selector.base_dir)
        return pafs.LocalFileSystem().get_file_info(selector)

    monkeypatch.setattr(store, "get_file_info", refused)
    with pytest.raises(PermissionError):
        list(walk(PyArrowFileIO(), f"file://{tree}"))


def test_a_file_that_goes_meanwhile_is_left_out(tree: Path) -> None:
    found = []
    for file in walk(PyArrowFileIO(), f"file://{tree}"):
        found.append(file.location)
        for other in tree.rglob("*.parquet"):
            other.unlink()
    assert len(found) < 10

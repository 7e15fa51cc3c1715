"""Entry points of installed packages: looked for once, and again where Python looks elsewhere."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import shared.installed
from shared.installed import installed

GROUP = "procession.of_this_test"


def package(folder: Path, name: str) -> None:
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = json:loads\n")


def test_a_package_is_found_once_python_looks_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(installed(GROUP)) == []
    package(tmp_path, "late")
    monkeypatch.syspath_prepend(tmp_path)
    (point,) = installed(GROUP)
    assert point.name == "late"
    assert point.load()("[1]") == [1]


def test_packages_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def counted(**given: Any) -> metadata.EntryPoints:
        asked.append(given)
        return metadata.entry_points(**given)

    monkeypatch.setattr(shared.installed, "entry_points", counted)
    monkeypatch.syspath_prepend(tmp_path)
    assert installed(GROUP) is installed(GROUP)
    assert asked == [{"group": GROUP}]

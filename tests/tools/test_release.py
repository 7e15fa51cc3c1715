"""Releases are made in a repository of its own, with copies of the files that say the version."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
import yaml

from tools import release

ROOT = Path(__file__).parents[2]
DAY = date(2026, 11, 27)
CHANGELOG = """# Changelog
Form: Keep a Changelog

## [Unreleased]
### Added (a)
- first
### Fixed
- second
### Added (a)
- third

## [0.1.0] - 2026-01-01
### Added
- old
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "deploy/helm/procession/Chart.yaml", "deploy/kubernetes/coordinator.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.email", "a@b.c")
    git(tmp_path, "config", "user.name", "a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_release(repository: Path) -> None:
    release.make(repository, "0.2.0", DAY)
    text = (repository / "CHANGELOG.md").read_text()
    assert text.partition("## [0.1.0]")[0] == (
        "# Changelog\nForm: Keep a Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-27\n"
        "### Added (a)\n- first\n- third\n### Fixed\n- second\n\n"
    )
    assert text.endswith("## [0.1.0] - 2026-01-01\n### Added\n- old\n")
    assert re.search(r'^version = "0\.2\.0"$', (repository / "pyproject.toml").read_text(), re.MULTILINE)
    chart = yaml.safe_load((repository / "deploy/helm/procession/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == ("0.2.0", "0.2.0")
    images = re.findall(r"image: (\S+)", (repository / "deploy/kubernetes/coordinator.yaml").read_text())
    assert images == ["procession-sidecar:0.2.0", "procession-coordinator:0.2.0"]
    assert git(repository, "tag", "--points-at", "HEAD") == "v0.2.0"
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "-1", "--format=%s") == "Release 0.2.0"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.2", "'0.2' is no version such as 1.2.3"),
        ("0.1.0", "0.1.0 is not after 0.1.0"),
        ("0.0.9", "0.0.9 is not after 0.1.0"),
    ],
)
def test_versions_that_are_refused(repository: Path, version: str, said: str) -> None:
    with pytest.raises(release.ReleaseError, match=re.escape(said)):
        release.make(repository, version, DAY)
    assert git(repository, "status", "--porcelain") == ""


def test_a_dirty_tree_and_an_empty_changelog(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "pyproject.toml").write_text("x")
    assert release.main(["0.2.0"], repository) == 1
    assert capsys.readouterr().err == "procession: no release: there are changes that are not committed\n"
    git(repository, "checkout", "-q", "pyproject.toml")
    release.make(repository, "0.2.0", DAY)
    with pytest.raises(release.ReleaseError, match="nothing that is unreleased"):
        release.make(repository, "0.3.0", DAY)
    assert release.main([], repository) == 1


def test_this_version_is_released_or_comes_next() -> None:
    """Images, chart and package have one version, which the changelog has not passed."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    chart = yaml.safe_load((ROOT / "deploy/helm/procession/Chart.yaml").read_text())
    assert version is not None
    assert chart["version"] == chart["appVersion"] == version[1]
    known = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert known == sorted(known, key=release.number, reverse=True)
    assert known[:1] in ([], [version[1]])

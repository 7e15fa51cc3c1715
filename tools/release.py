"""Makes a release: changelog, versions in all places, a wheel, a commit and a tag. ``make release VERSION=0.2.0``.

Rules: Keep a Changelog 1.1.0 and SemVer 2.0.0. Nothing is pushed; docs/howto.md says what comes before and after.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\]", re.MULTILINE)
_UNRELEASED = "## [Unreleased]\n"
_PLACES = (
    ("pyproject.toml", r'^(version = ")[^"]+(")'),
    ("deploy/helm/procession/Chart.yaml", r"^(version: )\S+()"),
    ("deploy/helm/procession/Chart.yaml", r'^(appVersion: ")[^"]+(")'),
    ("deploy/kubernetes/coordinator.yaml", r"^(\s*image: procession-(?:sidecar|coordinator):)\S+()"),
)
"""Files that say the version, and the text around it."""


class ReleaseError(Exception):
    """Why no release is made."""


def number(version: str) -> tuple[int, int, int]:
    """Its parts. Raises ReleaseError."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ReleaseError(f"{version!r} is no version such as 1.2.3")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def released(changelog: str, version: str, day: date) -> str:
    """The changelog with all that is unreleased under ``version``, equal headings as one. Raises ReleaseError."""
    head, found, rest = changelog.partition(_UNRELEASED)
    known = _RELEASED.findall(rest)
    unreleased, mark, older = rest.partition("## [") if known else (rest, "", "")
    if not found or not unreleased.strip():
        raise ReleaseError("CHANGELOG.md has nothing that is unreleased")
    if known and number(version) <= max(map(number, known)):
        raise ReleaseError(f"{version} is not after {max(known, key=number)}")
    return f"{head}{_UNRELEASED}\n## [{version}] - {day.isoformat()}\n{''.join(_joined(unreleased))}{mark}{older}"


def _joined(text: str) -> Iterable[str]:
    """Under each heading, in the order of their first places, the lines of all that are called so."""
    sections: dict[str, list[str]] = {}
    lines = sections.setdefault("", [])
    for line in text.splitlines(keepends=True):
        if line.startswith("### "):
            lines = sections.setdefault(line, [])
        elif line.strip():
            lines.append(line)
    for heading, own in sections.items():
        yield from (heading, *own)
    yield "\n"


def set_version(root: Path, version: str) -> list[Path]:
    """Writes it wherever it is said; those files. Raises ReleaseError for a place that does not say one."""
    changed = []
    for name, pattern in _PLACES:
        file = root / name
        text, count = re.subn(pattern, rf"\g<1>{version}\g<2>", file.read_text(), flags=re.MULTILINE)
        if not count:
            raise ReleaseError(f"{name} says no version")
        file.write_text(text)
        changed.append(file)
    return changed


def make(root: Path, version: str, day: date) -> None:
    """Edits, commits and tags. Raises ReleaseError, and CalledProcessError of git."""
    number(version)
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("there are changes that are not committed")
    if _git(root, "tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} is there")
    changelog = root / "CHANGELOG.md"
    text = released(changelog.read_text(), version, day)
    changed = set_version(root, version)
    changelog.write_text(text)
    _git(root, "add", *map(str, {changelog, *changed}))
    _git(root, "commit", "-q", "-m", f"Release {version}")
    _git(root, "tag", "-a", f"v{version}", "-m", f"Procession {version}")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - our words


def main(arguments: Sequence[str], root: Path) -> int:
    """0, or 1 with the reason in one line."""
    try:
        (version,) = arguments
        make(root, version, datetime.now(UTC).date())
        wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", "."]
        subprocess.run(wheel, check=True, cwd=root)  # noqa: S603 - our words
    except ValueError:
        sys.stderr.write("usage: make release VERSION=1.2.3\n")
        return 1
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"procession: no release: {error}\n")
        return 1
    sys.stdout.write(
        f"v{version} is committed and tagged here, its wheel is in dist; docs/howto.md says what is left\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main([each for each in sys.argv[1:] if each], Path(__file__).parents[1]))

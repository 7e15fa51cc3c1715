"""Looks for known vulnerabilities of the packages in ``constraints.txt``: ``python -m tools.audit PIP_AUDIT``.

``PIP_AUDIT`` is the command pip-audit. The exit code is 1 when one is found. Where the registry cannot be asked, or
does not know (a mirror without this data), a line says so and the exit code is 0: a network is no fault of the code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
ACCEPTED: dict[str, str] = {}
"""Ids of vulnerabilities that do not concern us, and why."""
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found; ``asked`` packages were known to the registry, ``unknown`` were not."""

    asked: int
    unknown: int
    found: tuple[str, ...]


def read(answer: str) -> Audit:
    """pip-audit's JSON. What the registry does not know is "skipped" there. Raises ValueError."""
    packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    known = [package for package in packages if "skip_reason" not in package]
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}, {_mended(vulnerability)}"
        for package in known
        for vulnerability in package["vulns"]
        if ACCEPTED.keys().isdisjoint({vulnerability["id"], *vulnerability["aliases"]})
    ]
    return Audit(len(known), len(packages) - len(known), tuple(found))


def _mended(vulnerability: dict[str, Any]) -> str:
    versions = vulnerability["fix_versions"]
    return f"mended in {', '.join(versions)}" if versions else "not mended yet"


def asked(command: str) -> str:
    """What pip-audit answers. Raises OSError, TimeoutExpired."""
    options = ["-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "--progress-spinner", "off", "-f", "json"]
    # The command is the caller's own.
    done = subprocess.run([command, *options], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    return done.stdout


def main(arguments: Sequence[str], ask: Callable[[str], str] = asked) -> int:
    """Prints what was found."""
    try:
        audit = read(ask(arguments[0]))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        return _tell(f"dependency audit skipped: pip-audit has no answer ({type(error).__name__})", 0)
    if audit.found:
        return _tell("known vulnerabilities:\n" + "\n".join(f"  {each}" for each in audit.found), 1)
    if not audit.asked:
        return _tell("dependency audit skipped: the package registry has no vulnerability data", 0)
    rest = f"; the registry does not know {audit.unknown} others" if audit.unknown else ""
    return _tell(f"dependency audit: none of {audit.asked} packages has a known vulnerability{rest}", 0)


def _tell(text: str, code: int) -> int:
    sys.stdout.write(text + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

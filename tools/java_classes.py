"""Our own Java classes for Spark, compiled into the jar that is committed beside their sources.

    python -m tools.java_classes write

Users' machines need no compiler, so the jar is part of the package. Needs a JDK from 17 on, and the jars that
Spark's first start fetches.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from coordinator.engine.spark.our_classes import OUR_JAR
from coordinator.engine.spark.server import pyspark_home
from coordinator.engine.spark.settings import SparkSettings

_ALWAYS = (1980, 1, 1, 0, 0, 0)
"""The same classes give the same jar, byte by byte."""


DIGEST = "sources.sha256"
"""The entry that tells which sources the classes were made of."""


def digest() -> str:
    """Of the sources, with their names."""
    found = hashlib.sha256()
    for source in sorted(OUR_JAR.parent.rglob("*.java")):
        found.update(source.relative_to(OUR_JAR.parent).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return found.hexdigest()


def compiled(folder: Path) -> dict[str, bytes]:
    """The bytes of each class by its name in the jar; raises subprocess.CalledProcessError."""
    jars = [*(pyspark_home() / "jars").glob("*.jar"), *SparkSettings().jar_cache.glob("iceberg-spark-runtime-*.jar")]
    sources = sorted(OUR_JAR.parent.rglob("*.java"))
    path = ":".join(map(str, jars))
    subprocess.run(  # noqa: S603 - the compiler, on our own sources
        ["javac", "--release", "17", "-g:none", "-d", folder, "-cp", path, *sources],  # noqa: S607
        check=True,
    )
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*.class"))}


def main() -> int:
    """Write the jar; 2 for anything but the one command."""
    if sys.argv[1:] != ["write"]:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    with TemporaryDirectory() as folder:
        classes = compiled(Path(folder))
    fresh = OUR_JAR.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w") as jar:
        for name, data in {**classes, DIGEST: digest().encode()}.items():
            jar.writestr(zipfile.ZipInfo(name, _ALWAYS), data, zipfile.ZIP_DEFLATED)
    # A JVM that runs keeps the file that it has.
    fresh.replace(OUR_JAR)
    return 0


if __name__ == "__main__":
    sys.exit(main())

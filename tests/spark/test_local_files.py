"""Files of Spark on this machine have the rights that Hadoop gives them, without a program for each."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from coordinator.engine.spark.java import find_java
from coordinator.engine.spark.our_classes import LOCAL_FILES, OUR_JAR
from coordinator.engine.spark.server import pyspark_home

pytestmark = pytest.mark.slow
HADOOP = "org.apache.hadoop.fs.LocalFileSystem"


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs one of the classes beside; it lacks the class and its arguments."""
    folder = tmp_path_factory.mktemp("classes")
    jars = sorted((pyspark_home() / "jars").glob("*.jar"), key=lambda jar: not jar.name.startswith("hadoop"))
    path = os.pathsep.join(map(str, [folder, OUR_JAR, *jars]))
    program = find_java(os.environ).executable
    sources = sorted(map(str, (Path(__file__).parent / "java").glob("*.java")))
    subprocess.run([str(program.parent / "javac"), "-d", str(folder), "-cp", path, *sources], check=True)
    return [str(program), "-cp", path]


def made(java: list[str], kind: str, home: Path, path: str) -> dict[str, str]:
    """The rights of each file and folder by its name."""
    home.mkdir()
    done = subprocess.run(
        [*java, "MakesFiles", kind, str(home)],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {str(each.relative_to(home)): stat.filemode(each.stat().st_mode) for each in sorted(home.rglob("*"))}


def test_the_same_rights_without_a_program(java: list[str], tmp_path: Path) -> None:
    theirs = made(java, HADOOP, tmp_path / "theirs", os.environ["PATH"])
    assert {"folder/file", "folder/.file.crc", "closed", "mine"} <= set(theirs)
    nowhere = str(tmp_path / "nothing")  # no chmod is found there
    assert made(java, LOCAL_FILES, tmp_path / "ours", nowhere) == theirs
    with pytest.raises(AssertionError, match="chmod"):
        made(java, HADOOP, tmp_path / "no-program", nowhere)

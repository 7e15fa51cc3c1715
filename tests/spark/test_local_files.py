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
def maker(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that makes files by the named class in the named folder."""
    folder = tmp_path_factory.mktemp("classes")
    jars = sorted((pyspark_home() / "jars").glob("*.jar"), key=lambda jar: not jar.name.startswith("hadoop"))
    path = os.pathsep.join(map(str, [folder, OUR_JAR, *jars]))
    source = Path(__file__).parent / "java" / "MakesFiles.java"
    java = find_java(os.environ).executable
    subprocess.run([str(java.parent / "javac"), "-d", str(folder), "-cp", path, str(source)], check=True)
    return [str(java), "-cp", path, "MakesFiles"]


def made(maker: list[str], kind: str, home: Path, path: str) -> dict[str, str]:
    """The rights of each file and folder by its name."""
    home.mkdir()
    done = subprocess.run(
        [*maker, kind, str(home)], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {str(each.relative_to(home)): stat.filemode(each.stat().st_mode) for each in sorted(home.rglob("*"))}


def test_the_same_rights_without_a_program(maker: list[str], tmp_path: Path) -> None:
    theirs = made(maker, HADOOP, tmp_path / "theirs", os.environ["PATH"])
    assert {"folder/file", "folder/.file.crc", "closed", "mine"} <= set(theirs)
    nowhere = str(tmp_path / "nothing")  # no chmod is found there
    assert made(maker, LOCAL_FILES, tmp_path / "ours", nowhere) == theirs
    with pytest.raises(AssertionError, match="chmod"):
        made(maker, HADOOP, tmp_path / "no-program", nowhere)

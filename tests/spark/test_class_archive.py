"""An archive of classes that a real JVM takes, is made once, and goes when its maker has to."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from coordinator.engine.spark.class_archive import Archiver, ClassArchive, complete_lines, flags, jars_of
from coordinator.engine.spark.java import Java, find_java

LISTED = ("java/lang/Object", "java/lang/String", "java/util/HashMap")


@pytest.fixture(scope="module")
def java() -> Java:
    return find_java(os.environ)


def archive_of(java: Java, home: Path) -> ClassArchive:
    jar = home / "a.jar"
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("nothing.txt", "")
    return ClassArchive(java, (jar,), home / "archives")


def made_by(archive: ClassArchive, home: Path, settled: float = 0.0) -> Archiver:
    classes = home / "classes.lst"
    classes.write_text("\n".join(LISTED) + "\njava/lang/Thr")
    (home / "logs").mkdir(exist_ok=True)
    return Archiver(archive, classes, home, settled)


def test_the_virtual_machine_takes_it(java: Java, tmp_path: Path) -> None:
    archive = archive_of(java, tmp_path)
    assert flags(archive, tmp_path / "list") == [f"-XX:DumpLoadedClassList={tmp_path / 'list'}"]
    archiver = made_by(archive, tmp_path)
    archiver.start()
    archiver.join(120)
    (flag,) = flags(archive, tmp_path / "list")
    assert flag == f"-XX:SharedArchiveFile={archive.file}"
    command = [str(java.executable), "-Xshare:on", flag, "-cp", str(archive.class_path[0]), "-version"]
    assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    assert sorted(file.name for file in archive.directory.iterdir()) == sorted([".lock", archive.file.name])
    assert archive.directory.stat().st_mode & 0o077 == 0


def test_jars_with_most_classes_come_first(tmp_path: Path) -> None:
    """Java asks one after the other; what was given by name keeps its place."""
    sizes = {"aws.jar": 9, "zstd.jar": 20, "netty.jar": 3, "spark-core.jar": 5, "scala-library.jar": 7, "b.jar": 9}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    given = tmp_path / "given" / "a.jar"
    found = [jar.name for jar in jars_of([given, tmp_path / "*"])]
    assert found == ["a.jar", "scala-library.jar", "spark-core.jar", "netty.jar", "zstd.jar", "aws.jar", "b.jar"]


def test_other_jars_are_another_archive(java: Java, tmp_path: Path) -> None:
    archive = archive_of(java, tmp_path)
    before = archive.file
    os.utime(archive.class_path[0], ns=(1, 1))
    assert archive.file != before
    archive.class_path[0].unlink()
    assert flags(archive, tmp_path / "list") == []


def test_archives_of_another_user_are_left_alone(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path) -> bool:
        raise PermissionError("not yours")

    archive = archive_of(java, tmp_path)
    monkeypatch.setattr(Path, "is_file", refused)
    assert flags(archive, tmp_path / "list") == []


@pytest.mark.parametrize("strange", ["file", "directory", "owner", "owner of the directory"])
def test_an_archive_that_others_can_write_is_not_run(java: Java, tmp_path: Path, strange: str) -> None:
    """What is in it runs as this service."""
    archive = archive_of(java, tmp_path)
    archive.directory.mkdir(mode=0o700)
    archive.file.touch(mode=0o600)
    assert flags(archive, tmp_path / "list") == [f"-XX:SharedArchiveFile={archive.file}"]
    if strange.startswith("owner") and os.geteuid():
        pytest.skip("only root gives files away")
    match strange:
        case "file":
            archive.file.chmod(0o606)
        case "directory":
            archive.directory.chmod(0o703)
        case "owner":
            os.chown(archive.file, 12345, -1)
        case _:
            os.chown(archive.directory, 12345, -1)
    assert flags(archive, tmp_path / "list") == []


def test_nothing_is_left_of_one_that_is_given_up(java: Java, tmp_path: Path) -> None:
    archive = archive_of(java, tmp_path)
    archiver = made_by(archive, tmp_path, settled=60)
    archiver.start()
    archiver.stop()
    archiver.join(60)
    assert not archive.directory.exists()


def test_the_order_of_a_class_path_is_known(tmp_path: Path) -> None:
    for name in ("b.jar", "a.jar", "c.txt"):
        (tmp_path / name).touch()
    assert jars_of([tmp_path / "z.jar", tmp_path / "*"]) == tuple(tmp_path / n for n in ("z.jar", "a.jar", "b.jar"))


@pytest.mark.parametrize(("text", "kept"), [("a\nb\n", "a\nb\n"), ("a\nb", "a\n"), ("a", ""), ("", "")])
def test_a_line_that_is_not_finished_is_left_out(text: str, kept: str) -> None:
    assert complete_lines(text) == kept

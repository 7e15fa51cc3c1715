"""Where Java is found, and jars from the cache or with a clear error."""

import os
import subprocess
from pathlib import Path

import pytest

from coordinator.engine.spark.jars import JarsUnavailableError, missing_jars, parse_coordinate, resolve_jars
from coordinator.engine.spark.java import Java, JavaNotFoundError, find_java, java_version
from coordinator.engine.spark.server import _java_arguments, pyspark_home
from coordinator.engine.spark.settings import SparkSettings


def fake_java(home: Path, version: str, status: int = 0) -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\nexit {status}\n")
    executable.chmod(0o755)
    return executable


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "21.0.1"), fake_java(tmp_path / "other", "17.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": f"{other.parent}:/bin"})
    assert found == Java(home, 21, "JAVA_HOME")


def test_an_old_java_home_falls_back_to_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "1.8.0_292")
    other = fake_java(tmp_path / "other", "17")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": f"{other.parent}:/bin"})
    assert (found.executable, found.source) == (other, "PATH")


def test_without_java_the_error_says_what_was_tried_and_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.engine.spark.java.find_spec", lambda _name: None)
    old = fake_java(tmp_path / "home", "11.0.2")
    with pytest.raises(JavaNotFoundError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "empty")})
    assert f"JAVA_HOME ({old}: Java 11)" in str(caught.value)
    assert "pip install 'procession[java]'" in str(caught.value)


@pytest.mark.parametrize(("version", "status", "expected"), [("17.0.15", 0, 17), ("1.8.0", 0, 8), ("17", 1, None)])
def test_versions_are_read_as_java_prints_them(tmp_path: Path, version: str, status: int, expected: int | None) -> None:
    assert java_version(fake_java(tmp_path, version, status)) == expected


def test_a_missing_executable_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") is None


@pytest.mark.parametrize("text", ["a:b", "a:b:c:d", "a::1", ""])
def test_coordinates_have_three_parts(text: str) -> None:
    with pytest.raises(ValueError, match="expected group:artifact:version"):
        parse_coordinate(text)


def test_jars_in_the_cache_need_no_java_and_no_network(tmp_path: Path) -> None:
    (tmp_path / "lib-1.0.jar").write_bytes(b"jar")
    nothing = Java(tmp_path / "no-java", 17, "PATH")
    assert missing_jars(("org:lib:1.0", "org:lib:2.0"), tmp_path) == [parse_coordinate("org:lib:2.0")]
    assert resolve_jars(("org:lib:1.0",), tmp_path, nothing, pyspark_home()) == [tmp_path / "lib-1.0.jar"]


def test_a_jar_that_is_named_twice_is_on_the_class_path_once(tmp_path: Path) -> None:
    for name in ("lib", "other"):
        (tmp_path / f"{name}-1.0.jar").write_bytes(b"")
    nothing = Java(tmp_path / "no-java", 17, "PATH")
    found = resolve_jars(("org:lib:1.0", "org:other:1.0", "org:lib:1.0"), tmp_path, nothing, pyspark_home())
    assert found == [tmp_path / "lib-1.0.jar", tmp_path / "other-1.0.jar"]


def test_a_jar_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    jar = tmp_path / "lib-1.0.jar"
    jar.touch()
    jar.chmod(0o646)
    with pytest.raises(JarsUnavailableError, match=r"every user of this machine can write .*lib-1\.0\.jar.*chmod o-w"):
        resolve_jars(("org:lib:1.0",), tmp_path, Java(tmp_path / "no-java", 17, "PATH"), pyspark_home())


def test_a_jar_that_cannot_be_fetched_is_named_with_the_fix(tmp_path: Path) -> None:
    java = Java(fake_java(tmp_path / "java", "17"), 17, "PATH")
    with pytest.raises(JarsUnavailableError) as caught:
        resolve_jars(("org:lib:1.0",), tmp_path / "cache", java, pyspark_home())
    assert "cannot fetch org:lib:1.0" in str(caught.value)
    assert f"put lib-1.0.jar into {tmp_path / 'cache'}" in str(caught.value)


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_on_any_number_of_cores_a_full_heap_ends_the_server(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Java itself reads the flags. Only this collector counts collections that free nothing as out of memory."""
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    arguments = _java_arguments(SparkSettings(work_dir=tmp_path), {}, [tmp_path])
    java = find_java(os.environ).executable
    command = [str(java), *arguments, f"-XX:ActiveProcessorCount={cores}", "-XX:+PrintFlagsFinal", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    flags = {words[1]: words[3] for words in map(str.split, told.splitlines()) if len(words) > 3 and words[2] == "="}
    chosen = ("UseParallelGC", "UseG1GC", "UseGCOverheadLimit", "ExitOnOutOfMemoryError", "GCTimeLimit")
    assert [flags[name] for name in chosen] == ["true", "false", "true", "true", "90"]

"""Artefacts of Maven Central, by the Ivy that pyspark brings; kept in the user's cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

_ASKED = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="tests" module="tests"/><dependencies>{}</dependencies></ivy-module>"""
_MODULE = '<dependency org="{}" name="{}" rev="{}" transitive="false">{}</dependency>'
_FILE = '<artifact name="{}" type="jar" ext="jar"{}/>'
CACHE = Path.home() / ".cache" / "procession" / "jars"


@dataclass(frozen=True)
class Artifact:
    """One jar, by its Maven coordinates."""

    group: str
    name: str
    version: str
    classifier: str | None = None

    @property
    def file(self) -> Path:
        parts = [self.name, self.version, *([self.classifier] if self.classifier else [])]
        return CACHE / ("-".join(parts) + ".jar")


def jar(group: str, name: str, version: str, classifier: str | None = None) -> Path:
    """The file; skips the test where it can not be had."""
    return jars([Artifact(group, name, version, classifier)])[0]


def jars(artifacts: Sequence[Artifact]) -> list[Path]:
    """The files, without what they depend on; skips the test where one of them can not be had."""
    if shutil.which("java") is None:
        pytest.skip("no Java on PATH")
    missing = [artifact for artifact in artifacts if not artifact.file.exists()]
    told = _fetch(missing) if missing else ""
    if gone := [artifact for artifact in missing if not artifact.file.exists()]:
        pytest.skip(f"{gone} can not be had: {' '.join(told.split())[-200:]}")
    return [artifact.file for artifact in artifacts]


def _fetch(artifacts: Sequence[Artifact]) -> str:
    """What Ivy printed."""
    modules: dict[tuple[str, str, str], str] = {}
    for one in artifacts:
        kind = f' m:classifier="{one.classifier}"' if one.classifier else ""
        module = (one.group, one.name, one.version)
        modules[module] = modules.get(module, "") + _FILE.format(one.name, kind)
    asking = _ASKED.format("".join(_MODULE.format(*module, files) for module, files in modules.items()))
    ivy = next(Path(pyspark.__file__).parent.joinpath("jars").glob("ivy-*.jar"))
    target = f"{CACHE}/[artifact]-[revision](-[classifier]).[ext]"
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "ivy.xml"
        asked.write_text(asking)
        command = ["java", "-jar", str(ivy), "-ivy", str(asked), "-retrieve", target, "-cache", f"{folder}/ivy"]
        try:
            done = subprocess.run([*command, "-warn"], check=False, timeout=240, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return "not within four minutes"
    return done.stdout

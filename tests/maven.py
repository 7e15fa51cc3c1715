"""Artefacts of Maven Central, by the Ivy that pyspark brings; kept in the user's cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pyspark
import pytest

_ASKED = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="tests" module="tests"/>
<dependencies><dependency org="{group}" name="{name}" rev="{version}" transitive="false">
<artifact name="{name}" type="jar" ext="jar"{classifier}/></dependency></dependencies></ivy-module>"""


def jar(group: str, name: str, version: str, classifier: str | None = None) -> Path:
    """The file; skips the test where it can not be had."""
    if shutil.which("java") is None:
        pytest.skip("no Java on PATH")
    cache = Path.home() / ".cache" / "procession" / "jars"
    file = cache / ("-".join([name, version, *([classifier] if classifier else [])]) + ".jar")
    if file.exists():
        return file
    ivy = next(Path(pyspark.__file__).parent.joinpath("jars").glob("ivy-*.jar"))
    kind = f' m:classifier="{classifier}"' if classifier else ""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "ivy.xml"
        asked.write_text(_ASKED.format(group=group, name=name, version=version, classifier=kind))
        target = f"{cache}/[artifact]-[revision](-[classifier]).[ext]"
        command = [
            "java",
            "-jar",
            str(ivy),
            "-ivy",
            str(asked),
            "-retrieve",
            target,
            "-cache",
            f"{folder}/ivy",
            "-warn",
        ]
        done = subprocess.run(command, check=False, timeout=240, capture_output=True, text=True)
    if not file.exists():
        pytest.skip(f"{group}:{name}:{version} can not be had: {' '.join(done.stdout.split())[-200:]}")
    return file

"""The package that executors import stands on its own: no module of the coordinator is in reach there."""

from __future__ import annotations

import importlib.util
import json
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from coordinator.engine.spark.kernel_package import unpack_kernels, zip_kernels
from coordinator.kernels import wire
from shared.plan import types

pytestmark = pytest.mark.slow

_RUN = """
import importlib, json, pkgutil, sys
import pyarrow as pa
import procession_kernels
names = [m.name for m in pkgutil.walk_packages(procession_kernels.__path__, "procession_kernels.")]
for name in names:
    importlib.import_module(name)
from procession_kernels.functions.program import evaluate
program = {"zone": "UTC", "columns": ["row(a bigint,b varchar)"], "result": "json", "expression":
           ["cast", False, "row(a bigint,b varchar)", "json", ["column", 0]]}
made = evaluate(pa.array([json.dumps(program)]), pa.array([{"a": 1, "b": "x"}]))
foreign = sorted(m for m in sys.modules if m.split(".")[0] in ("shared", "coordinator"))
print(json.dumps([made.to_pylist(), len(names), foreign]))
"""


def _ran(path: Path, inside: Path) -> list[object]:
    code = f"import sys; sys.path.insert(0, {str(path)!r})\n{_RUN}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=inside, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_the_unpacked_package_imports_nothing_of_the_coordinator(tmp_path: Path) -> None:
    unpack_kernels(tmp_path / "kernels")
    values, modules, foreign = _ran(tmp_path / "kernels", tmp_path)
    assert values == ['[1,"x"]']
    assert isinstance(modules, int) and modules > 80
    assert foreign == []


def test_so_does_the_zip(tmp_path: Path) -> None:
    archive = zip_kernels(tmp_path)
    assert _ran(archive, tmp_path)[2] == []
    with zipfile.ZipFile(archive) as opened:
        types = opened.read("procession_kernels/types.py")
    assert types == Path(sys.modules["shared.plan.types"].__file__ or "").read_bytes()


def test_what_this_interpreter_has_compiled_is_not_compiled_again(tmp_path: Path) -> None:
    for module in (wire, types):
        py_compile.compile(module.__file__ or "")
    package = unpack_kernels(tmp_path)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from procession_kernels import types, wire"
    done = subprocess.run([sys.executable, "-v", "-c", code], capture_output=True, text=True, check=True)
    for name in ("wire", "types"):
        source = package / f"{name}.py"
        assert f"{importlib.util.cache_from_source(str(source))} matches {source}" in done.stderr

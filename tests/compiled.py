"""What workers of xdist import is compiled once: each of them does its share before it collects.

In a clean clone all workers came to the same 2,000 files at the same time, and each compiled every one of them; and so
it was with Hypothesis, which looks through the product for numbers and texts to try, and keeps what it found.
"""

from __future__ import annotations

import os
import py_compile
import sys
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.assertion import rewrite
from hypothesis.internal.constants_ast import constants_from_module

ROOT = Path(__file__).parents[1]
FOLDERS = ("shared", "coordinator", "sidecar", "tools", "tests")


def compile_share(config: pytest.Config) -> None:
    """On a worker, whose number decides which files are its own; those that have bytecode of their state stay."""
    if sys.dont_write_bytecode or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    mine, of = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    for file in files[mine::of]:
        with suppress(OSError, SyntaxError, py_compile.PyCompileError):  # importing the file tells it better
            if _rewritten(file):
                _rewrite(file, config)
            elif not _is_current(file, Path(cache_from_source(str(file)))):
                py_compile.compile(str(file), doraise=True)
            if "tests" not in file.parts:
                _look_for_constants(file)


def _look_for_constants(file: Path) -> None:
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    constants_from_module(module)


def _rewritten(file: Path) -> bool:
    """Whether pytest rewrites the asserts of this file, which it keeps under another name."""
    return file.name == "conftest.py" or (file.name.startswith("test_") and "tests" in file.parts)


def _rewrite(file: Path, config: pytest.Config) -> None:
    compiled = rewrite.get_cache_dir(file) / (file.name[:-3] + rewrite.PYC_TAIL)
    if _is_current(file, compiled) or rewrite.assertstate_key not in config.stash:
        return
    compiled.parent.mkdir(exist_ok=True)
    state, code = rewrite._rewrite_test(file, config)
    rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, state, compiled)


def _is_current(file: Path, compiled: Path) -> bool:
    """By the head of the bytecode, as the interpreter decides."""
    with suppress(OSError), compiled.open("rb") as kept:
        status = file.stat()
        wanted = (int(status.st_mtime), status.st_size)
        head = kept.read(16)
        return head[:8] == MAGIC_NUMBER + bytes(4) and wanted == (
            int.from_bytes(head[8:12], "little"),
            int.from_bytes(head[12:16], "little"),
        )
    return False

"""The writer of delete files of ``tests/iceberg``, which is no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any


def foreign_writer() -> Any:
    """Its module."""
    file = Path(__file__).parents[1] / "iceberg" / "foreign_writer.py"
    spec = importlib.util.spec_from_file_location("late_foreign_writer", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

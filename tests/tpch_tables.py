"""TPC-H's tables, made once a run: the generator takes a second of CPU time to start, whatever it makes."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from shared.properties import Property

_VARIABLE = "PROCESSION_TEST_TPCH"
_CACHE = "tpch.cache-directory"


def begin() -> Path | None:
    """The folder of this process and its children from now on; None where there is one already."""
    if _VARIABLE in os.environ:
        return None
    made = tempfile.mkdtemp(prefix="tpch-")
    os.environ[_VARIABLE] = made
    return Path(made)


def end(made: Path) -> None:
    """With what was made."""
    del os.environ[_VARIABLE]
    shutil.rmtree(made, ignore_errors=True)


def catalog_file(*lines: str) -> str:
    """Of a catalog ``tpch`` whose tables the whole run shares, with further properties."""
    return "\n".join(("connector.name=tpch", f"{_CACHE}={os.environ[_VARIABLE]}", *lines, ""))


def catalog_properties() -> dict[str, Property]:
    """The same, as they are read."""
    return {_CACHE: Property(_CACHE, os.environ[_VARIABLE], Path("tpch.properties"), 2)}


def generate(scale: float, folder: Path) -> None:
    """All tables at ``scale`` as the generator writes them, as ``<table>.parquet`` in ``folder``."""
    made = Path(os.environ[_VARIABLE]) / f"generated-{scale:g}"
    made.mkdir(exist_ok=True)
    with (made / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "whole").exists():
            generator = str(Path(sys.executable).with_name("tpchgen-cli"))
            command = [generator, "parquet", "-s", str(scale), "-o", str(made / "making")]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
            (made / "making").rename(made / "whole")
    for file in (made / "whole").glob("*.parquet"):
        shutil.copyfile(file, folder / file.name)

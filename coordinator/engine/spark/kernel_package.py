"""The kernels as the package ``procession_kernels`` that executors import: unpacked for the embedded server, zipped for
a remote one."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from shared.plan import kept, types

PACKAGE = "procession_kernels"
_SOURCES = Path(__file__).parents[2] / "kernels"
_TYPES, _KEPT = Path(types.__file__), Path(kept.__file__)


def kernel_files() -> dict[str, bytes]:
    """Every kernel source by its path inside the package, which holds Presto's types in files of its own."""
    files = {str(f.relative_to(_SOURCES)): f.read_bytes() for f in sorted(_SOURCES.rglob("*.py"))}
    return {**files, "types.py": _TYPES.read_bytes(), "kept.py": _KEPT.read_bytes()}


def unpack_kernels(directory: Path) -> Path:
    """Write the package into ``directory``, replacing an older one; returns the package's folder.

    With the bytecode of this interpreter where it has some, which a source of the same time and size goes with: else
    the first workers of each server compile all kernels.
    """
    target = directory / PACKAGE
    shutil.rmtree(target, ignore_errors=True)
    placed = {file.relative_to(_SOURCES): file for file in sorted(_SOURCES.rglob("*.py"))}
    for name, source in (placed | {Path("types.py"): _TYPES, Path("kept.py"): _KEPT}).items():
        _copy(source, target / name)
        with suppress(OSError):
            _copy(Path(cache_from_source(str(source))), Path(cache_from_source(str(target / name))))
    return target


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def zip_kernels(directory: Path) -> Path:
    """A zip of the package, named after its content so that equal kernels are shipped under one name."""
    files = kernel_files()
    digest = hashlib.sha256(b"".join(name.encode() + source for name, source in files.items())).hexdigest()[:16]
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{PACKAGE}-{digest}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in files.items():
            archive.writestr(f"{PACKAGE}/{name}", source)
    return target

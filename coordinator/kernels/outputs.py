"""Output files: opened under a name that no other attempt uses, measured when they are written."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from .errors import reading, writing
from .footer import metrics, read_footer
from .schema import Leaf
from .storage import is_local, open_new, resolve
from .tasks import Metrics, Output


def open_output(output: Output, storage: Mapping[str, str]) -> tuple[str, Any]:
    """A new file for an output and its location, under a name that no other attempt uses."""
    location = f"{output.directory}/{output.name}-{secrets.token_hex(4)}.parquet"
    with writing(location):
        return location, open_new(location, storage)


def open_copy(output: Output, storage: Mapping[str, str]) -> tuple[str, Any]:
    """As ``open_output``; a file of this machine is opened so that the kernel can copy into it."""
    if not is_local(output.directory):
        return open_output(output, storage)
    location = f"{output.directory}/{output.name}-{secrets.token_hex(4)}.parquet"
    _, path = resolve(location, storage)
    with writing(location):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return location, Path(path).open("xb", buffering=0)


def discard(location: str, sink: Any, storage: Mapping[str, str]) -> None:
    """Remove a file that failed; best effort, since the coordinator sweeps by name as well."""
    filesystem, path = resolve(location, storage)
    try:
        sink.close()
        filesystem.delete_file(path)
    except (OSError, pa.ArrowException):
        return


def read_metrics(
    location: str,
    size: int,
    fields: Sequence[Leaf],
    modes: Mapping[str, str],
    nan_counts: Mapping[str, int],
    storage: Mapping[str, str],
) -> Metrics:
    """Iceberg's metrics of a file that was just written."""
    filesystem, path = resolve(location, storage)
    with reading(location), filesystem.open_input_file(path) as source:
        return metrics(read_footer(source, size), fields, modes, nan_counts)

"""What write tasks answer: the kernels' Fragment, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task wrote; the kernels' Fragment."""

    output: int
    part: int | None
    path: str | None
    rows: int
    size: int
    read_rows: int
    nan_counts: dict[str, int]
    metrics: dict[str, Any] | None
    nan_groups: list[dict[str, int]]


def parse_fragment(raw: bytes) -> Written:
    """A kernel's answer."""
    f = json.loads(raw)
    tag = f["tag"]
    return Written(
        output=tag["output"],
        part=tag["part"],
        path=f["path"],
        rows=f["rows"],
        size=f["size"],
        read_rows=f["read_rows"],
        nan_counts=f["nan_counts"],
        metrics=f["metrics"],
        nan_groups=f["nan_groups"],
    )


def empty_fragment(output: int, read_rows: int) -> bytes:
    """The answer for an output of which no row is left."""
    tag = {"output": output, "part": None}
    empty = {"tag": tag, "path": None, "rows": 0, "size": 0, "read_rows": read_rows, "nan_counts": {}, "metrics": None}
    return json.dumps({**empty, "nan_groups": []}).encode()


def with_read_rows(raw: bytes, read_rows: int) -> bytes:
    """The same answer with another number of rows read."""
    return json.dumps({**json.loads(raw), "read_rows": read_rows}).encode()


def with_nan_groups(raw: bytes, groups: Sequence[Mapping[str, int]]) -> bytes:
    """The same answer with counts of NaN for each row group."""
    return json.dumps({**json.loads(raw), "nan_groups": [dict(group) for group in groups]}).encode()

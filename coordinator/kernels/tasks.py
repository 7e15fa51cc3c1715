"""What the coordinator sends to the rewrite kernels and what they answer: JSON, one object a task.

The coordinator builds these objects in ``connectors/iceberg/rewrite/payloads.py``; both sides are tested together.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A Parquet delete file; ``fields`` are the Iceberg fields of its equality columns, empty for position deletes.

    ``keys`` says how many rows an equality delete file has. With an ``offset``, a deletion vector of ``length`` bytes
    in a Puffin file, about ``data_file`` alone.
    """

    path: str
    size: int
    fields: list[dict[str, Any]] = field(default_factory=list)
    offset: int | None = None
    length: int = 0
    data_file: str = ""
    keys: int = 0


@dataclass(frozen=True, slots=True)
class Input:
    """A data file, or the row groups ``groups[0]`` up to ``groups[1]`` of it.

    ``constants`` are values of columns that the file may lack, by field id, as JSON (see ``schema.constant``).
    ``positions`` and ``equality`` index the task's delete files. ``first_row_id`` and ``sequence`` are what its rows
    inherit in format version 3.
    """

    path: str
    size: int
    groups: tuple[int, int] | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    equality: list[int] = field(default_factory=list)
    first_row_id: int | None = None
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Where and how to write. A row group has at most ``row_group_bytes`` in memory and about ``row_group_stored``
    in the file. The file is ``directory/name-<attempt>.parquet``: no two attempts share a name."""

    directory: str
    name: str
    codec: str = "zstd"
    level: int | None = None
    row_group_bytes: int = 64 << 20
    row_group_stored: int = 64 << 20
    page_rows: int = 20_000
    page_bytes: int = 1 << 20
    dictionary_bytes: int = 2 << 20
    bloom_filters: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By Parquet path: distinct values of a row group that a filter is made for, and its share of false positives."""


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Read ``inputs`` in order, drop deleted rows, and write the rest as one file of the table's schema.

    ``fields`` is the schema as Iceberg's JSON; ``modes`` are metrics modes by field id. ``final`` asks for metrics:
    the file goes into the table as it is, and is not a part that ``join`` will merge.
    """

    fields: list[dict[str, Any]]
    inputs: list[Input]
    output: Output
    modes: dict[str, str] = field(default_factory=dict)
    position_deletes: list[DeleteFile] = field(default_factory=list)
    equality_deletes: list[DeleteFile] = field(default_factory=list)
    name_mapping: list[dict[str, Any]] | None = None
    storage: dict[str, str] = field(default_factory=dict)
    tag: dict[str, Any] = field(default_factory=dict)
    final: bool = True


@dataclass(frozen=True, slots=True)
class JoinTask:
    """Merge the row groups of ``parts`` into one file without decoding them; ``nan_counts`` are theirs, summed.

    The parts are what write tasks left, or data files of the table that ``probe`` found alike."""

    fields: list[dict[str, Any]]
    parts: list[Input]
    output: Output
    modes: dict[str, str] = field(default_factory=dict)
    nan_counts: dict[str, int] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)
    tag: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Iceberg's metrics of a file, by field id as text; bounds are single-value bytes in hex."""

    column_sizes: dict[str, int]
    value_counts: dict[str, int]
    null_counts: dict[str, int]
    nan_counts: dict[str, int]
    lower_bounds: dict[str, str]
    upper_bounds: dict[str, str]
    split_offsets: list[int]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A written file. ``path`` is None when every row was deleted. ``tag`` is the task's, unchanged."""

    tag: dict[str, Any]
    path: str | None
    rows: int = 0
    size: int = 0
    read_rows: int = 0
    nan_counts: dict[str, int] = field(default_factory=dict)
    metrics: Metrics | None = None
    nan_groups: list[dict[str, int]] = field(default_factory=list)
    """The counts of NaN of each row group; empty when they are not known."""


def write_task(payload: bytes) -> WriteTask:
    """The task of a payload."""
    return write_task_of(json.loads(payload))


def write_task_of(raw: dict[str, Any]) -> WriteTask:
    """The task of a parsed payload, which is taken over."""
    raw["inputs"] = [_input(item) for item in raw["inputs"]]
    raw["output"] = Output(**raw["output"])
    for name in ("position_deletes", "equality_deletes"):
        raw[name] = [DeleteFile(**item) for item in raw.get(name, [])]
    return WriteTask(**raw)


def join_task(payload: bytes) -> JoinTask:
    """The task of a payload."""
    raw = json.loads(payload)
    raw["output"] = Output(**raw["output"])
    raw["parts"] = [_input(item) for item in raw["parts"]]
    return JoinTask(**raw)


def answer(fragment: Fragment) -> bytes:
    """A fragment as the coordinator reads it."""
    return json.dumps(asdict(fragment)).encode()


def _input(raw: dict[str, Any]) -> Input:
    groups = raw.get("groups")
    return Input(**{**raw, "groups": None if groups is None else (groups[0], groups[1])})

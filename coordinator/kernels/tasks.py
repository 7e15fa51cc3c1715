"""What kernels over data files take and what they answer. The coordinator builds and reads these very records;

``wire.py`` carries them. ``fields`` are columns in Iceberg's JSON, ``storage`` what opens files: keys that are lent go
out as they are at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .wire import Kernel

Field = dict[str, Any]
FieldJson = Mapping[str, Any]
Fields = list[Field]
"""Columns of a table in Iceberg's JSON."""


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A Parquet delete file; ``fields`` are the Iceberg fields of its equality columns, empty for position deletes.

    ``keys`` says how many rows an equality delete file has, ``bounds`` by field id its least and greatest key in hex,
    and whether some are NULL. With an ``offset``, a deletion vector of ``length`` bytes in a Puffin file, about
    ``data_file`` alone.
    """

    path: str
    size: int
    fields: Fields = field(default_factory=list)
    offset: int | None = None
    length: int = 0
    data_file: str = ""
    keys: int = 0
    bounds: dict[str, tuple[str, str, bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Input:
    """A data file, or the row groups ``groups[0]`` up to ``groups[1]`` of it.

    ``constants`` are values of columns that the file may lack, by field id, as JSON (see ``schema.constant``).
    ``positions`` and ``equality`` index the task's delete files; ``deleted`` are further positions that go, as sorted
    little-endian longs. ``first_row_id`` and ``sequence`` are what its rows inherit in format version 3.
    """

    path: str
    size: int
    groups: tuple[int, int] | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    equality: list[int] = field(default_factory=list)
    first_row_id: int | None = None
    sequence: int | None = None
    deleted: bytes = b""


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
    page_version: str = "1.0"
    bloom_filters: dict[str, tuple[int, float]] = field(default_factory=dict)
    """By Parquet path: distinct values of a row group that a filter is made for, and its share of false positives."""
    without_statistics: list[int] = field(default_factory=list)
    """Field ids of columns whose minimum and maximum are left out of the footer."""


@dataclass(frozen=True, slots=True)
class Tag:
    """The output of a rewrite that a task works for, and which part of it; None when it is all of it."""

    output: int = 0
    part: int | None = None


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Read ``inputs`` in order, drop deleted rows, and write the rest as one file of the table's schema.

    ``fields`` is the schema as Iceberg's JSON; ``modes`` are metrics modes by field id. ``final`` asks for metrics:
    the file goes into the table as it is, and is not a part that ``join`` will merge.
    """

    fields: Fields
    inputs: list[Input]
    output: Output
    modes: dict[str, str] = field(default_factory=dict)
    position_deletes: list[DeleteFile] = field(default_factory=list)
    equality_deletes: list[DeleteFile] = field(default_factory=list)
    name_mapping: Fields | None = None
    storage: Mapping[str, str] = field(default_factory=dict)
    tag: Tag = Tag()
    final: bool = True
    decimals: str = "integers"
    """How they are stored: ``integers`` where they fit, as Iceberg has it, or ``fixed`` bytes, as others write them."""


def with_inputs(task: WriteTask, inputs: Sequence[Input]) -> WriteTask:
    """The task of some of its inputs, with the delete files of theirs alone."""
    positions, places = _used(task.position_deletes, [item.positions for item in inputs])
    equality, equals = _used(task.equality_deletes, [item.equality for item in inputs])
    renumbered = [
        replace(item, positions=[places[n] for n in item.positions], equality=[equals[n] for n in item.equality])
        for item in inputs
    ]
    return replace(task, inputs=renumbered, position_deletes=positions, equality_deletes=equality)


def _used(files: Sequence[DeleteFile], asked: Sequence[Sequence[int]]) -> tuple[list[DeleteFile], dict[int, int]]:
    numbers = sorted({number for several in asked for number in several})
    return [files[number] for number in numbers], {number: place for place, number in enumerate(numbers)}


@dataclass(frozen=True, slots=True)
class JoinTask:
    """Merge the row groups of ``parts`` into one file without decoding them; ``nan_counts`` are theirs, summed.

    The parts are what write tasks left, or data files of the table that ``probe`` found alike. In format version 3 the
    rows of data files keep their ids."""

    fields: Fields
    parts: list[Input]
    output: Output
    modes: dict[str, str] = field(default_factory=dict)
    nan_counts: dict[str, int] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    tag: Tag = Tag()


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

    tag: Tag
    path: str | None
    rows: int = 0
    size: int = 0
    read_rows: int = 0
    nan_counts: dict[str, int] = field(default_factory=dict)
    metrics: Metrics | None = None
    nan_groups: list[dict[str, int]] = field(default_factory=list)
    """The counts of NaN of each row group; empty when they are not known."""

    @property
    def output(self) -> int:
        return self.tag.output


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """Whether the row groups of ``inputs`` can be copied as they are; ``group`` comes back with the answer.

    ``position_deletes`` and ``equality_deletes`` are those that the inputs name.
    """

    fields: Fields
    inputs: list[Input]
    storage: Mapping[str, str] = field(default_factory=dict)
    group: int = 0
    position_deletes: list[DeleteFile] = field(default_factory=list)
    equality_deletes: list[DeleteFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The bytes of each row group of a file, and the numbers of those that have deleted rows, or may have."""

    path: str
    sizes: list[int]
    deleted: list[int]


@dataclass(frozen=True, slots=True)
class Probed:
    """Digests of what the files must share, and their codecs; ``reason`` in plain words where one cannot be copied.

    ``decimals`` are the ways to store them with which files that we write can be joined with all of these.
    """

    group: int
    kinds: list[str]
    codecs: list[str]
    reason: str | None
    row_groups: list[RowGroups] = field(default_factory=list)
    decimals: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PositionsTask:
    """Write the rows of ``task``'s inputs that equality deletes take out as positions, or as ``vectors``."""

    task: WriteTask
    vectors: bool


@dataclass(frozen=True, slots=True)
class PositionFile:
    """A delete file of one data file: ``deleted_rows`` were found, ``rows`` it holds in all.

    ``bounds`` are its least and greatest position in a Parquet file; a vector has its place in its file instead.
    """

    data_file: str
    deleted_rows: int
    rows: int
    path: str
    size: int
    bounds: tuple[int, int] | None = None
    offset: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class PositionFiles:
    """A delete file for each data file that lost rows."""

    files: list[PositionFile]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A Theta sketch: its hashes are little-endian longs."""

    theta: int
    hashes: bytes


@dataclass(frozen=True, slots=True)
class Sketches:
    """One sketch a field of the task, by field id as text."""

    fields: dict[str, Sketch]


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a file: sorted, distinct positions as little-endian longs."""

    path: str
    positions: bytes


@dataclass(frozen=True, slots=True)
class LookUpTask:
    """Read ``fields`` of some rows; the answer is an Arrow stream in the order of ``files``, marked with ``number``."""

    fields: Fields
    files: list[FileRows] = field(default_factory=list)
    storage: Mapping[str, str] = field(default_factory=dict)
    name_mapping: Fields | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Cleared:
    """What a process dropped of its cache."""

    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TakeTask:
    """Rows of the one data file of ``task`` at ``positions``, which are sorted little-endian longs, deleted or not.

    ``deleted`` are positions that somebody else says are deleted; ``number`` comes back with the answer.
    """

    task: WriteTask
    positions: bytes
    deleted: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class TakenRows:
    """The rows as an Arrow stream, without those that the task's equality deletes take out.

    ``uncovered`` counts rows that these take out and that are not among ``deleted``.
    """

    number: int
    rows: bytes
    uncovered: int


@dataclass(frozen=True, slots=True)
class FindTask:
    """Where rows with the values of ``wanted``, an Arrow stream of distinct rows of ``fields``, are in a data file.

    The first ``probed`` columns are read of all rows, the others where those have wanted values.
    """

    fields: Fields
    wanted: bytes
    item: Input
    probed: int
    storage: Mapping[str, str] = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Little-endian longs: positions in ascending order, and for each the number of the wanted row it equals."""

    number: int
    positions: bytes
    wanted: bytes


REWRITE = Kernel("rewrite:run", WriteTask, Fragment)
JOIN = Kernel("join:run", JoinTask, Fragment)
PROBE = Kernel("probe:run", ProbeTask, Probed)
POSITIONS = Kernel("positions:run", PositionsTask, PositionFiles)
SKETCH = Kernel("sketch:run", WriteTask, Sketches)
CLEAR_CACHE = Kernel("cache:clear", bytes, Cleared)
LOOK_UP = Kernel("lookup:look_up", LookUpTask, bytes)
TAKE_ROWS = Kernel("moved_rows:take", TakeTask, TakenRows)
FIND_ROWS = Kernel("moved_rows:find", FindTask, FoundRows)

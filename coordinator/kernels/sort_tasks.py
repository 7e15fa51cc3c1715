"""What the kernels take and answer that sort rows across files, or spread them over partitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .tasks import Fragment, WriteTask
from .wire import Kernel


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One column to sort by. ``prefix`` cuts text and bytes to so many bytes, for curves."""

    id: int
    transform: str = "identity"
    descending: bool = False
    nulls_first: bool = True
    prefix: int | None = None


@dataclass(frozen=True, slots=True)
class RowOrder:
    """By columns, or along a ``curve`` (zorder, hilbert) through all of them, of at most ``bits``."""

    columns: list[KeyColumn]
    curve: str | None = None
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class SampleTask:
    """Keys of about ``rows`` rows of each input; ``group`` comes back with the answer."""

    task: WriteTask
    order: RowOrder
    rows: int
    group: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """Keys as a packed table (``key_ranges.packed``), None without rows; rows read, and decoded bytes of a row."""

    group: int
    keys: str | None
    rows: int
    width: float


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """What rows are divided by."""

    id: int
    transform: str


@dataclass(frozen=True, slots=True)
class SpreadTask:
    """Spread all rows of ``task`` into one scratch file: over about ``ranges`` ranges of the order, told from

    ``samples``, or over the values of ``partition``. ``compression`` is that of the scratch file.
    """

    task: WriteTask
    order: RowOrder | None
    samples: list[str] = field(default_factory=list)
    ranges: int = 1
    compression: str | None = None
    partition: list[PartitionColumn] = field(default_factory=list)
    group: int = 0


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """Rows of one range or partition, by its number, as a stream in a scratch file; ``size`` in decoded bytes."""

    path: str
    offset: int
    length: int
    rows: int
    size: int
    number: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The pieces of a scratch file, and the columns that are worth a dictionary.

    ``single`` ranges have equal keys alone. ``values`` are those of each partition: numbers, days, microseconds, text
    of decimals, hex of bytes.
    """

    group: int
    path: str | None
    read_rows: int
    pieces: list[Piece]
    worth: list[str]
    single: list[int] = field(default_factory=list)
    values: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SortedRange:
    """Pieces to sort together; ``single`` ones are taken as they are."""

    pieces: list[Piece]
    single: bool = False


@dataclass(frozen=True, slots=True)
class GatherTask:
    """Write ``ranges`` one behind the other, each sorted."""

    task: WriteTask
    order: RowOrder | None
    ranges: list[SortedRange]
    worth: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SortTask:
    """Sort all rows of a task in memory."""

    task: WriteTask
    order: RowOrder


@dataclass(frozen=True, slots=True)
class SortedWhole:
    """What was written; None when the rows decode to more than one task may hold."""

    output: int
    fragment: Fragment | None


SAMPLE = Kernel("sorting:sample", SampleTask, Sample)
SPREAD_BY_RANGE = Kernel("sorting:scatter", SpreadTask, Spread)
SPREAD_BY_PARTITION = Kernel("partitioning:scatter", SpreadTask, Spread)
GATHER = Kernel("sorting:gather", GatherTask, Fragment)
SORT_WHOLE = Kernel("sorting:whole", SortTask, SortedWhole)

"""Manifests that are written quickly, beside those of PyIceberg's own writers: the same bytes inside of the blocks."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriter,
    ManifestWriterV1,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from pyiceberg.utils.lazydict import LazyDict

from coordinator.connectors.iceberg.manifests.avro_files import open_avro
from coordinator.connectors.iceberg.manifests.reader import ManifestDataFile, read_entries
from coordinator.connectors.iceberg.manifests.version_three import ManifestWriterV3
from coordinator.connectors.iceberg.snapshots.producer import (
    DataManifestWriter,
    DataManifestWriterV1,
    DeleteManifestWriter,
)

IO = load_file_io()
PARTITIONS: list[tuple[IcebergType, list[Any]]] = [
    (IntegerType(), [0, -1, 2**31 - 1, -(2**31)]), (LongType(), [2**63 - 1, -(2**63), 64, -65]),
    (StringType(), ["", "ä€😀", "x" * 9_000]), (BinaryType(), [b"", b"\0\xff"]), (BooleanType(), [True, False]),
    (FloatType(), [1.5, float("-inf")]), (DoubleType(), [0.1, -0.0]), (DateType(), [0, -400, 20_000]),
    (TimeType(), [86_399_999_999]), (TimestampType(), [-1, 1_700_000_000_000_000]), (TimestamptzType(), [5]),
    (DecimalType(9, 2), [Decimal("-1.25"), Decimal("99999.99")]), (DecimalType(38, 0), [Decimal(10**37)]),
    (UUIDType(), [UUID(int=1), UUID(int=2**128 - 1)]), (FixedType(3), [b"abc"]),
]  # fmt: skip
COLUMNS = [NestedField(i, f"c{i}", type_, required=False) for i, (type_, _) in enumerate(PARTITIONS, start=1)]
SCHEMA = Schema(*COLUMNS)
IDENTITIES = [PartitionField(i, 999 + i, IdentityTransform(), f"c{i}") for i in range(1, len(PARTITIONS) + 1)]
SPEC = PartitionSpec(*IDENTITIES, PartitionField(1, 1_500, BucketTransform(8), "bucket"), spec_id=3)


def entry(of: random.Random, version: int, *, deletes: bool = False) -> ManifestEntry:
    """A file with everything that there may be, or next to nothing."""

    def maybe(value: Any) -> Any:
        return None if of.random() < 0.25 else value

    def numbers(most: int) -> dict[int, int]:
        values = [0, 1, 63, 64, 8_191, 8_192, most]
        return {of.choice([i, i + 60, 10_000 + i]): of.choice(values) for i in range(of.randrange(9))}

    def lazily(found: dict[int, int]) -> Any:
        return LazyDict([[part for pair in found.items() for part in pair]]) if found and of.random() < 0.5 else found

    bounds = {i: of.randbytes(of.choice([0, 1, 8, 63, 64, 300])) for i in (1, 63, 64, 70_000)[: of.randrange(5)]}
    file = ManifestDataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES if deletes else DataFileContent.DATA,
        file_path="s3://b/ö/" + "p" * of.choice([1, 60, 200]), file_format=FileFormat.PARQUET,
        partition=Record(*(maybe(of.choice(values)) for _, values in PARTITIONS), maybe(of.randrange(8))),
        record_count=of.choice([0, 1, 2**40]), file_size_in_bytes=of.randrange(1, 2**50),
        column_sizes=maybe(lazily(numbers(2**40))), value_counts=maybe(lazily(numbers(2**33))),
        null_value_counts=maybe(numbers(5)), nan_value_counts=maybe(numbers(5)), lower_bounds=maybe(bounds),
        upper_bounds=maybe(bounds), key_metadata=maybe(of.randbytes(20)),
        split_offsets=maybe([4, 1 << 30][: of.randrange(3)]), equality_ids=[1, 2] if deletes else maybe([]),
        sort_order_id=maybe(0),
    )  # fmt: skip
    file.spec_id = 3
    file.__dict__["extras"] = {"first_row_id": 7} if version == 3 and not deletes else {}
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.EXISTING, snapshot_id=of.choice([1, 2**62]), sequence_number=of.randrange(300),
        file_sequence_number=of.randrange(300), data_file=file,
    )  # fmt: skip


class PlainV3(ManifestWriterV3):
    """With PyIceberg's own file."""

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        quick = super().new_writer()
        plain: AvroOutputFile[ManifestEntry] = AvroOutputFile.__new__(AvroOutputFile)
        plain.__dict__.update(quick.__dict__)
        return plain


class PlainDeletes(DeleteManifestWriter):
    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        return ManifestWriterV2.new_writer(self)


def content(path: Path) -> tuple[bytes, int, int]:
    """All records' bytes, how many they are, and in how many blocks."""
    file = open_avro(IO.new_input(str(path)))
    parts, records = [], 0
    decoder = file.decoder
    while True:
        try:
            count = decoder.read_int()
        except EOFError:
            return b"".join(parts), records, len(parts)
        data = decoder.read_bytes()
        parts.append(file.codec.decompress(data) if file.codec else data)
        records += count
        assert decoder.read(16) == file.sync


PAIRS: list[tuple[int, type[ManifestWriter], type[ManifestWriter], bool]] = [
    (1, DataManifestWriterV1, ManifestWriterV1, False), (2, DataManifestWriter, ManifestWriterV2, False),
    (2, DeleteManifestWriter, PlainDeletes, True), (3, ManifestWriterV3, PlainV3, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "quick", "plain", "deletes"), PAIRS, ids=lambda case: getattr(case, "__name__", "")
)
@pytest.mark.parametrize("codec", ["gzip", "null"])
def test_the_records_are_those_of_pyiceberg(
    tmp_path: Path, version: int, quick: type[ManifestWriter], plain: type[ManifestWriter], deletes: bool, codec: Any
) -> None:
    of = random.Random(version)
    entries = [entry(of, version, deletes=deletes) for _ in range(200)]
    written = []
    for number, writer_type in enumerate((quick, plain)):
        path = tmp_path / f"{number}.avro"
        with writer_type(SPEC, SCHEMA, IO.new_output(str(path)), 77, codec) as writer:
            for one in entries:
                writer.delete(one)
                writer.existing(one)
        written.append((content(path), writer.to_manifest_file()))
    (found, listed), (expected, listed_by_plain) = written
    assert found[:2] == expected[:2] and found[1] == 400
    assert found[2] < 20 and expected[2] == 400, "blocks"
    assert [getattr(listed, name) for name in NAMES] == [getattr(listed_by_plain, name) for name in NAMES]
    assert listed.manifest_length == (tmp_path / "0.avro").stat().st_size
    again = read_entries(IO, listed)
    assert [_said(each) for each in again] == [_said(each) for each in entries]


def _said(one: ManifestEntry) -> object:
    # To the last digit: PyIceberg's decoder gives doubles as floats.
    return (
        one.data_file.file_path,
        [str(value) for value in one.data_file.partition._data[6:]],
        one.data_file.record_count,
    )


def test_what_fails_writes_no_half_of_a_block(tmp_path: Path) -> None:
    of = random.Random(1)
    path = tmp_path / "m.avro"
    good, bad = entry(of, 2), entry(of, 2)
    bad.data_file[2] = 5  # no path
    with (
        pytest.raises((AttributeError, TypeError)),
        DataManifestWriter(SPEC, SCHEMA, IO.new_output(str(path)), 77, "gzip") as writer,
    ):
        writer.existing(good)
        writer.existing(bad)
    assert content(path) == (b"", 0, 0)


NAMES = (
    "content", "partition_spec_id", "added_snapshot_id", "min_sequence_number",
    "existing_files_count", "deleted_files_count", "added_files_count", "existing_rows_count", "deleted_rows_count",
    "partitions",
)  # fmt: skip

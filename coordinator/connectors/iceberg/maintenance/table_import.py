"""An Iceberg table made of Parquet files that exist already: nothing is copied, one commit makes it appear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    _ConvertToIcebergWithoutIDs,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    visit_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, NestedField

from coordinator.connectors.iceberg.maintenance.parquet_folders import (
    ParquetFile,
    arrow_schema,
    int96_columns,
    partition_value,
)
from coordinator.connectors.iceberg.snapshots.edit_files import EditFiles
from shared.errors import ErrorCode, ProcessionError

NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """What is made: schema with ids, spec, and the data files as manifests list them."""

    schema: Schema
    spec: PartitionSpec
    files: tuple[DataFile, ...]


def imported_table(
    files: Sequence[ParquetFile], partition: Mapping[str, IcebergType], properties: Mapping[str, str]
) -> ImportedTable:
    """Raises ProcessionError for files that do not fit together, or whose types Iceberg does not have."""
    schema = _schema(files, partition)
    fields = [schema.find_field(name, case_sensitive=False) for name in partition]
    spec = PartitionSpec(
        *(
            PartitionField(field.field_id, PARTITION_FIELD_ID_START + i, IdentityTransform(), field.name)
            for i, field in enumerate(fields)
        )
    )
    plan = compute_statistics_plan(schema, dict(properties))
    return ImportedTable(schema, spec, tuple(_data_file(file, schema, plan, fields) for file in files))


def _schema(files: Sequence[ParquetFile], partition: Mapping[str, IcebergType]) -> Schema:
    found = arrow_schema(files)
    names = {name.lower() for name in partition}
    # As in Spark, the value in the path counts, and partition columns come last.
    plain = pa.schema([field for field in found if field.name.lower() not in names])
    try:
        converted = visit_pyarrow(plain, _ConvertToIcebergWithoutIDs(downcast_ns_timestamp_to_us=True))
    except (TypeError, ValueError) as error:
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, f"Files have a type that Iceberg lacks: {error}") from error
    columns = [NestedField(-1, name, kind, required=False) for name, kind in partition.items()]
    assert isinstance(converted, Schema)
    fresh: Schema = assign_fresh_schema_ids(Schema(*converted.fields, *columns))
    return fresh


def _data_file(
    file: ParquetFile, schema: Schema, plan: Mapping[int, StatisticsCollector], partition: Sequence[NestedField]
) -> DataFile:
    statistics = data_file_statistics_from_parquet_metadata(
        file.footer, _countable(file, schema, plan), parquet_path_to_id_mapping(schema)
    )
    values = {name.lower(): value for name, value in file.file.partition}
    found = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=file.file.location,
        file_format=FileFormat.PARQUET,
        partition=Record(*(partition_value(values[f.name.lower()], f.field_type) for f in partition)),
        file_size_in_bytes=file.file.size,
        sort_order_id=None,
        spec_id=0,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )
    found.spec_id = 0
    return found


def _countable(
    file: ParquetFile, schema: Schema, plan: Mapping[int, StatisticsCollector]
) -> dict[int, StatisticsCollector]:
    """The plan, without bounds where the file stores another type than the table's."""
    stored = {file.footer.schema.column(i).path: file.footer.schema.column(i) for i in range(len(file.footer.schema))}
    legacy, ids = int96_columns(file.footer), parquet_path_to_id_mapping(schema)
    counts = MetricsMode(MetricModeTypes.COUNTS)
    changed = {
        ids[path]
        for path, column in stored.items()
        if path in ids and (path.split(".")[0] in legacy or _differs(column, schema.find_type(ids[path])))
    }
    return {
        number: StatisticsCollector(number, each.iceberg_type, counts, each.column_name) if number in changed else each
        for number, each in plan.items()
    }


def _differs(column: object, type_: IcebergType) -> bool:
    """Whether a stored integer or float is narrower than the column, whose bounds would have another width."""
    physical = {"long": "INT64", "double": "DOUBLE", "timestamp": "INT64", "timestamptz": "INT64"}.get(str(type_))
    logical = str(getattr(column, "logical_type", ""))
    return (physical is not None and getattr(column, "physical_type", "") != physical) or "nanoseconds" in logical


def make_table(
    client: Catalog, identifier: tuple[str, ...], made: ImportedTable, location: str | None, properties: dict[str, str]
) -> None:
    """Create the table with all its files in one commit; raises what PyIceberg raises, and leaves nothing then."""
    mapping = made.schema.name_mapping.model_dump_json()
    given = {NAME_MAPPING: mapping, **properties}
    transaction = client.create_table_transaction(
        identifier, made.schema, location=location, partition_spec=made.spec, properties=given
    )
    EditFiles(transaction, Operation.APPEND, added=made.files).stage()
    transaction.commit_transaction()

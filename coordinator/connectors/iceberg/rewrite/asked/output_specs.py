"""The partition spec that a rewrite writes under: by default today's, as Iceberg's own procedure does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import UnknownTransform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import BinaryType, DecimalType, FixedType, IcebergType, PrimitiveType, UUIDType

from coordinator.connectors.iceberg.partitions import partition_path
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.ordering import STRANGE_TYPES
from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup
from coordinator.kernels.sort_tasks import PartitionColumn
from shared.spi.procedure import ArgumentError


def with_output_spec(options: RewriteOptions, table: Table) -> RewriteOptions:
    """The options with the id of a spec of the table; raises ArgumentError."""
    wanted = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id
    if wanted not in table.specs():
        raise ArgumentError(
            "options",
            f"Cannot use output spec id {wanted} because the table does not contain a reference to this spec-id.",
        )
    return replace(options, output_spec_id=wanted)


def scatters(table: Table, group: FileGroup) -> bool:
    """Whether rows of the group's files go to several partitions that are not known yet."""
    return group.moves and bool(_dividing(table.specs()[group.partition[0]]))


def reason_of_spec(table: Table, spec_id: int) -> str | None:
    """Why our kernels cannot tell the partition of a row under a spec; None when they can."""
    schema = table.schema()
    for field in _dividing(table.specs()[spec_id]):
        source = next((f for f in schema.fields if f.field_id == field.source_id), None)
        if source is None:
            return f"partition field {field.name} of spec {spec_id} is of a nested or dropped column"
        strange = not isinstance(source.field_type, PrimitiveType) or str(source.field_type).startswith(STRANGE_TYPES)
        if strange or isinstance(field.transform, UnknownTransform):
            return f"partition field {field.name} is {field.transform} of {source.field_type}"
    return None


def partition_columns(spec: PartitionSpec) -> list[PartitionColumn]:
    """What the kernels divide rows by."""
    return [PartitionColumn(field.source_id, str(field.transform)) for field in _dividing(spec)]


def _dividing(spec: PartitionSpec) -> list[PartitionField]:
    return [field for field in spec.fields if not isinstance(field.transform, VoidTransform)]


def partition_record(values: Sequence[object], spec: PartitionSpec, schema: Schema) -> Record:
    """The partition of a kernel's ``values``, one a field of ``partition_columns``."""
    found = dict(zip((field.field_id for field in _dividing(spec)), values, strict=True))
    return Record(*(_value(found.get(field.field_id), field, schema) for field in spec.fields))


def _value(value: Any, field: PartitionField, schema: Schema) -> object:
    if value is None:
        return None
    kind: IcebergType = field.transform.result_type(schema.find_type(field.source_id))
    match kind:
        case DecimalType():
            return Decimal(value)
        case BinaryType() | FixedType():
            return bytes.fromhex(value)
        case UUIDType():
            return UUID(hex=value)
        case _:
            return value


@dataclass(frozen=True, slots=True)
class _PartitionPath:
    """What PyIceberg's location providers ask of a partition key."""

    spec: PartitionSpec
    schema: Schema
    values: Record

    def to_path(self) -> str:
        return partition_path(self.values, self.spec, self.schema)


def data_directory(table: Table, spec: PartitionSpec, partition: Record | None, name: str) -> str:
    """Where new files of a partition go; of the table as a whole without one."""
    known = partition is not None and not spec.is_unpartitioned()
    key: Any = _PartitionPath(spec, table.schema(), partition) if partition is not None and known else None
    location: str = table.location_provider().new_data_location(f"{name}.parquet", key)
    return location.rpartition("/")[0]

"""The kernels' tasks over slices of a table's data files (``coordinator/kernels/tasks.py``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyiceberg.io.pyarrow import compute_statistics_plan
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.planning.outputs import OutputPlan, Slice
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import asked_row_group, data_output
from coordinator.connectors.iceberg.rewrite.planning.stored_columns import json_value, stored_fields
from coordinator.connectors.iceberg.storage import storage_of
from coordinator.kernels.tasks import DeleteFile, Input, JoinTask, Output, Tag, WriteTask
from shared.errors import ErrorCode, ProcessionError

_ROW_GROUP, _LEAST_ROW_GROUP = 64 << 20, 4 << 10
"""Bytes of a row group in a file."""
_ROW_GROUPS_OF_A_FILE = 16
"""Files are cut between row groups, to within a tenth of their size."""
_LINEAGE: list[dict[str, object]] = [
    {"id": 2147483540, "name": "_row_id", "required": False, "type": "long"},
    {"id": 2147483539, "name": "_last_updated_sequence_number", "required": False, "type": "long"},
]
"""Written with every row that moves in a table of format version 3 (Iceberg specification, "Row Lineage")."""
_NO_TAG = Tag()


@dataclass(frozen=True, slots=True)
class TaskFactory:
    """Builds tasks for one table: what is the same in all of them is worked out once."""

    table: Table
    fields: list[dict[str, Any]]
    modes: dict[str, str]
    storage: Mapping[str, str]
    name_mapping: list[dict[str, object]] | None
    row_group_stored: int

    @classmethod
    def of(cls, table: Table, storage: Mapping[str, str], target_size: int | None = None) -> TaskFactory:
        """``storage`` is the catalog file's, for tables whose catalog lends no keys.

        Files are cut to ``target_size`` between row groups: small ones need small row groups.
        """
        schema = table.schema()
        mapping = table.name_mapping()
        lineage = _LINEAGE if table.format_version > 2 else []
        most = asked_row_group(table.properties) or _ROW_GROUP
        fitting = most if target_size is None else target_size // _ROW_GROUPS_OF_A_FILE
        return cls(
            table,
            fields=[*stored_fields(schema), *lineage],
            modes=_metrics_modes(schema, table.properties) | {str(f["id"]): "none" for f in lineage},
            storage=storage_of(table, storage),
            name_mapping=None if mapping is None else json.loads(mapping.model_dump_json()),
            row_group_stored=max(_LEAST_ROW_GROUP, min(most, fitting)),
        )

    def part(self, output: int, plan: OutputPlan, part: int) -> WriteTask:
        """The task that writes one part; a single part is the final file."""
        final = len(plan.parts) == 1
        name = part_name(plan, part, final=final)
        task = self.write(plan.parts[part], plan.directory, name, Tag(output, part), final=final)
        return replace(task, decimals=plan.decimals)

    def write(
        self, slices: Sequence[Slice], directory: str, name: str, tag: Tag = _NO_TAG, *, final: bool = False
    ) -> WriteTask:
        """The rows of ``slices`` without deleted ones."""
        inputs, positions, equality = inputs_with_deletes(slices, self.table)
        return WriteTask(
            fields=self.fields,
            inputs=inputs,
            output=self._output(directory, name),
            modes=self.modes,
            position_deletes=positions,
            equality_deletes=equality,
            name_mapping=self.name_mapping,
            storage=self.storage,
            tag=tag,
            final=final,
        )

    def join(
        self,
        output: int,
        plan: OutputPlan,
        parts: Sequence[Input],
        nan_counts: Mapping[str, int],
        name: str | None = None,
    ) -> JoinTask:
        """One file of an output out of files or row groups of them."""
        return JoinTask(
            fields=self.fields,
            parts=list(parts),
            output=self._output(plan.directory, plan.name if name is None else name),
            modes=self.modes,
            nan_counts=dict(nan_counts),
            storage=self.storage,
            tag=Tag(output),
        )

    def copy(self, output: int, plan: OutputPlan) -> JoinTask:
        """The row groups of one output's data files as they are."""
        (slices,) = plan.parts
        return self.join(output, plan, copied_inputs(slices), _nan_counts(slices))

    def _output(self, directory: str, name: str) -> Output:
        return data_output(self.table.schema(), self.table.properties, directory, name, self.row_group_stored)


def copied_inputs(slices: Sequence[Slice]) -> list[Input]:
    """Row groups of data files as a copy takes them."""
    return [
        Input(d.path, d.size, s.groups, first_row_id=d.first_row_id, sequence=d.file_sequence_number)
        for s in slices
        for d in (s.candidate.data,)
    ]


def part_name(plan: OutputPlan, part: int, *, final: bool) -> str:
    """What the file of a part is called."""
    return plan.name if final else f"{plan.name}-p{part}"


def _nan_counts(slices: Sequence[Slice]) -> dict[str, int]:
    """The sums of what manifests say of whole files; columns that one of them says nothing of are left out."""
    if any(piece.groups is not None for piece in slices):
        return {}
    counts: list[Mapping[int, int]] = [piece.candidate.data.file.nan_value_counts or {} for piece in slices]
    known = set(counts[0]).intersection(*counts[1:])
    return {str(column): sum(count[column] for count in counts) for column in sorted(known)}


def inputs_with_deletes(
    slices: Sequence[Slice], table: Table
) -> tuple[list[Input], list[DeleteFile], list[DeleteFile]]:
    """The inputs of a task, and the position and equality deletes that they index."""
    positions = _distinct(d for s in slices for d in s.candidate.deletes if d.is_position_delete)
    equality = _distinct(d for s in slices for d in s.candidate.deletes if not d.is_position_delete)
    return (
        [_input(s, table, positions, equality) for s in slices],
        [position_delete(d) for d in positions.values()],
        [_equality_delete(d, table) for d in equality.values()],
    )


def _distinct(files: Iterator[LiveFile]) -> dict[str, LiveFile]:
    return {file.key: file for file in files}


def position_delete(delete: LiveFile) -> DeleteFile:
    """A file, or with its place in one a deletion vector."""
    if delete.vector is None:
        return DeleteFile(delete.path, delete.size)
    offset, length = delete.vector
    return DeleteFile(delete.path, delete.size, offset=offset, length=length, data_file=delete.only_data_file or "")


def _equality_delete(delete: LiveFile, table: Table) -> DeleteFile:
    fields, bounds = equality_fields(table, delete), key_bounds(delete)
    return DeleteFile(delete.path, delete.size, fields, keys=delete.file.record_count, bounds=bounds)


def key_bounds(delete: LiveFile) -> dict[str, tuple[str, str, bool]]:
    """What the manifest says of the keys of an equality delete file, by field id; nothing of columns without bounds."""
    lower, upper = delete.file.lower_bounds or {}, delete.file.upper_bounds or {}
    nulls = delete.file.null_value_counts or {}
    ids = [number for number in delete.file.equality_ids or () if number in lower and number in upper]
    return {str(i): (lower[i].hex(), upper[i].hex(), nulls.get(i, 1) > 0) for i in ids}


def _input(piece: Slice, table: Table, positions: Mapping[str, LiveFile], equality: Mapping[str, LiveFile]) -> Input:
    data = piece.candidate.data
    place = {path: i for i, path in enumerate(positions)} | {path: i for i, path in enumerate(equality)}
    has_lineage = table.format_version > 2
    return Input(
        data.path,
        data.size,
        piece.groups,
        constants=_constants(data, table.specs()[data.file.spec_id]),
        positions=[place[d.key] for d in piece.candidate.deletes if d.is_position_delete],
        equality=[place[d.key] for d in piece.candidate.deletes if not d.is_position_delete],
        first_row_id=data.first_row_id if has_lineage else None,
        sequence=data.file_sequence_number if has_lineage else None,
    )


def _constants(data: LiveFile, spec: PartitionSpec) -> dict[str, object]:
    """Values of identity partition columns, which files imported from Hive do not hold."""
    values = data.partition[1]
    return {
        str(f.source_id): json_value(values[i])
        for i, f in enumerate(spec.fields)
        if isinstance(f.transform, IdentityTransform)
    }


def equality_fields(table: Table, delete: LiveFile) -> list[dict[str, Any]]:
    """The columns that an equality delete file compares, from today's schema or an older one."""
    schemas = [table.schema(), *reversed(list(table.schemas().values()))]
    known: dict[int, dict[str, Any]] = {}
    for schema in schemas:
        for raw in stored_fields(schema):
            known.setdefault(raw["id"], raw)
    ids = delete.file.equality_ids or []
    unknown = [i for i in ids if i not in known or not isinstance(known[i]["type"], str)]
    if unknown or not ids:
        raise ProcessionError(
            ErrorCode.NOT_SUPPORTED, f"Equality delete file compares nested or unknown fields {unknown}: {delete.path}"
        )
    # Deleted keys may be null in columns that the table requires.
    return [{**known[i], "required": False} for i in ids]


def _metrics_modes(schema: Schema, properties: Mapping[str, str]) -> dict[str, str]:
    modes = {}
    for field_id, collector in compute_statistics_plan(schema, dict(properties)).items():
        mode = collector.mode
        name = mode.type.name.lower()
        modes[str(field_id)] = f"truncate({mode.length})" if name == "truncate" else name
    return modes

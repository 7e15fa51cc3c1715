"""File groups as tasks of the rewrite kernels (``kernels/tasks.py`` describes the JSON)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from pyiceberg.io.pyarrow import compute_statistics_plan
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.bloom_filters import bloom_filters
from coordinator.connectors.iceberg.rewrite.groups import Candidate, FileGroup, output_sizes
from coordinator.connectors.iceberg.rewrite.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.stored_columns import json_value, stored_fields
from shared.errors import ErrorCode, ProcessionError

_LEAST_PART = 16 << 20
"""Splitting further would cost more in starting tasks than it gains."""
_OPEN_END = 1 << 30


_ROW_GROUP, _LEAST_ROW_GROUP = 64 << 20, 4 << 10
"""Bytes of a row group in a file."""
_ROW_GROUPS_OF_A_FILE = 24
_LINEAGE: list[dict[str, Any]] = [
    {"id": 2147483540, "name": "_row_id", "required": False, "type": "long"},
    {"id": 2147483539, "name": "_last_updated_sequence_number", "required": False, "type": "long"},
]
"""Written with every row that moves in a table of format version 3 (Iceberg specification, "Row Lineage")."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A data file or some row groups of it."""

    candidate: Candidate
    size: int
    groups: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One file to be written, from ``parts`` that are written side by side and joined.

    When it ``copies``, its one part is joined as it is, without being decoded. ``partition`` are its values where
    they are not those of the group.
    """

    group: int
    name: str
    directory: str
    parts: tuple[tuple[Slice, ...], ...]
    copies: bool = False
    partition: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskFactory:
    """Builds task payloads for one table: what is the same in all of them is worked out once."""

    table: Table
    storage: Mapping[str, str]
    common: Mapping[str, Any] = field(default_factory=dict)
    row_group_stored: int = _ROW_GROUP

    @classmethod
    def of(cls, table: Table, storage: Mapping[str, str], target_size: int | None = None) -> TaskFactory:
        """Files are cut to ``target_size`` between row groups: small ones need small row groups."""
        schema = table.schema()
        mapping = table.name_mapping()
        lineage = _LINEAGE if table.format_version > 2 else []
        common = {
            "fields": [*stored_fields(schema), *lineage],
            "modes": _metrics_modes(schema, table.properties) | {str(f["id"]): "none" for f in lineage},
            "storage": dict(storage),
            "name_mapping": None if mapping is None else json.loads(mapping.model_dump_json()),
        }
        fitting = _ROW_GROUP if target_size is None else target_size // _ROW_GROUPS_OF_A_FILE
        return cls(table, storage, common, max(_LEAST_ROW_GROUP, min(_ROW_GROUP, fitting)))

    def write(self, output: int, plan: OutputPlan, part: int) -> bytes:
        """The payload that writes one part; a single part is the final file."""
        final = len(plan.parts) == 1
        name = plan.name if final else f"{plan.name}-p{part}"
        task = self.task(plan.parts[part], plan.directory, name, {"output": output, "part": part}, final=final)
        return json.dumps(task).encode()

    def task(
        self, slices: Sequence[Slice], directory: str, name: str, tag: Mapping[str, Any], *, final: bool
    ) -> dict[str, Any]:
        """The kernels' WriteTask over ``slices``."""
        positions = _distinct(d for s in slices for d in s.candidate.deletes if d.is_position_delete)
        equality = _distinct(d for s in slices for d in s.candidate.deletes if not d.is_position_delete)
        return {
            **self.common,
            "inputs": [_input(s, self.table, positions, equality) for s in slices],
            "position_deletes": [_position_delete(d) for d in positions.values()],
            "equality_deletes": [
                {"path": d.path, "size": d.size, "fields": equality_fields(self.table, d), "keys": d.file.record_count}
                for d in equality.values()
            ],
            "output": self._output(directory, name),
            "tag": dict(tag),
            "final": final,
        }

    def join(self, output: int, plan: OutputPlan, parts: Sequence[str], nan_counts: Mapping[str, int]) -> bytes:
        """The payload that joins the parts of one output file."""
        task = self.join_task(plan, [{"path": path, "size": 0} for path in parts], nan_counts)
        return json.dumps({**task, "tag": {"output": output, "part": None}}).encode()

    def join_task(
        self, plan: OutputPlan, parts: Sequence[Mapping[str, Any]], nan_counts: Mapping[str, int]
    ) -> dict[str, Any]:
        """The kernels' JoinTask over files or row groups of them."""
        return {
            "fields": self.common["fields"],
            "modes": self.common["modes"],
            "storage": self.common["storage"],
            "parts": [dict(part) for part in parts],
            "output": self._output(plan.directory, plan.name),
            "nan_counts": dict(nan_counts),
        }

    def copy(self, output: int, plan: OutputPlan) -> bytes:
        """The payload that copies the row groups of one output's data files."""
        (slices,) = plan.parts
        parts = [{"path": s.candidate.data.path, "size": s.candidate.data.size, "groups": s.groups} for s in slices]
        task = self.join_task(plan, parts, _nan_counts(slices))
        return json.dumps({**task, "tag": {"output": output, "part": None}}).encode()

    def _output(self, directory: str, name: str) -> dict[str, Any]:
        properties = self.table.properties
        output: dict[str, Any] = {"directory": directory, "name": name, "row_group_stored": self.row_group_stored}
        output["codec"] = properties.get("write.parquet.compression-codec", "zstd").lower()
        for key, wire in (
            ("write.parquet.compression-level", "level"),
            ("write.parquet.page-row-limit", "page_rows"),
            ("write.parquet.page-size-bytes", "page_bytes"),
            ("write.parquet.dict-size-bytes", "dictionary_bytes"),
        ):
            text = properties.get(key, "")
            if text.lstrip("-").isdigit():
                output[wire] = int(text)
        return {**output, "bloom_filters": bloom_filters(self.table.schema(), properties)}


def _nan_counts(slices: Sequence[Slice]) -> dict[str, int]:
    """The sums of what manifests say of whole files; columns that one of them says nothing of are left out."""
    if any(piece.groups is not None for piece in slices):
        return {}
    counts: list[Mapping[int, int]] = [piece.candidate.data.file.nan_value_counts or {} for piece in slices]
    known = set(counts[0]).intersection(*counts[1:])
    return {str(column): sum(count[column] for count in counts) for column in sorted(known)}


def plan_outputs(
    groups: Sequence[FileGroup],
    parallelism: int,
    directories: Sequence[str],
    call_id: str,
    options: RewriteOptions,
    copies: Sequence[bool] = (),
    scattered: Sequence[bool] = (),
) -> list[OutputPlan]:
    """The files to write: enough parts that every core works even when there are fewer files than cores.

    Groups that ``copies`` marks have one part a file: copying waits for storage, not for cores. For one that
    ``scattered`` marks, one output stands until its partitions are known.
    """
    total = sum(group.output_files for group in groups)
    wanted = -(-parallelism // total) if total < parallelism else 1
    plans: list[OutputPlan] = []
    for number, group in enumerate(groups):
        if scattered and scattered[number]:
            plans.append(_standing(number, len(plans), directories[number], call_id))
            continue
        each = group.size // group.output_files
        copied = bool(copies) and copies[number]
        parts = 1 if copied else max(1, min(wanted, each // _LEAST_PART))
        sizes = output_sizes(group.size, options)
        slices = _slices(group, len(sizes) * parts)
        bins = _balanced(slices, [size / parts for size in sizes for _ in range(parts)])
        for start in range(0, len(bins), parts):
            chosen = tuple(tuple(b) for b in bins[start : start + parts] if b)
            if chosen:
                name = f"{len(plans):05d}-{number}-{call_id}"
                plans.append(OutputPlan(number, name, directories[number], chosen, copied))
    return plans


def _standing(group: int, place: int, directory: str, call_id: str) -> OutputPlan:
    return OutputPlan(group, f"{place:05d}-{group}-{call_id}", directory, ())


def plan_sorted_outputs(
    groups: Sequence[FileGroup], directories: Sequence[str], call_id: str, scattered: Sequence[bool]
) -> list[OutputPlan]:
    """The files of sorted groups; which rows go where is known when their keys have been sampled."""
    plans: list[OutputPlan] = []
    for number, group in enumerate(groups):
        for _ in range(1 if scattered[number] else group.output_files):
            plans.append(_standing(number, len(plans), directories[number], call_id))
    return plans


def even_slices(group: FileGroup, bins: int) -> list[list[Slice]]:
    """The group's files or row groups of them in at most ``bins`` contiguous lists of about equal size."""
    return [found for found in _balanced(_slices(group, bins), [1.0] * bins) if found]


def _slices(group: FileGroup, bins: int) -> list[Slice]:
    """The group's files; one that is larger than a bin's share is cut between row groups."""
    share = max(1, group.size // bins)
    slices: list[Slice] = []
    for candidate in group.files:
        offsets = candidate.data.file.split_offsets or []
        size = candidate.data.size
        if bins == 1 or size <= share or len(offsets) < 2:
            slices.append(Slice(candidate, size))
            continue
        ends = [*offsets[1:], size]
        for i, (start, end) in enumerate(zip(offsets, ends, strict=True)):
            # The last slice is open: rows behind the last known offset must not be lost.
            last = _OPEN_END if i == len(offsets) - 1 else i + 1
            slices.append(Slice(candidate, end - start, (i, last)))
    return slices


def _balanced(slices: Sequence[Slice], weights: Sequence[float]) -> list[list[Slice]]:
    """Contiguous bins of about the sizes that ``weights`` say in proportion."""
    total = sum(s.size for s in slices) or 1
    ends = [end * total / sum(weights) for end in accumulate(weights)]
    result: list[list[Slice]] = [[] for _ in weights]
    done = 0
    for piece in slices:
        place = bisect_right(ends, done + piece.size / 2)
        result[min(len(ends) - 1, place)].append(piece)
        done += piece.size
    return result


def _distinct(files: Iterator[LiveFile]) -> dict[str, LiveFile]:
    return {file.key: file for file in files}


def _position_delete(delete: LiveFile) -> dict[str, Any]:
    """A file, or with its place in one a deletion vector."""
    found: dict[str, Any] = {"path": delete.path, "size": delete.size}
    if delete.vector is not None:
        offset, length = delete.vector
        found |= {"offset": offset, "length": length, "data_file": delete.only_data_file}
    return found


def _input(
    piece: Slice, table: Table, positions: Mapping[str, LiveFile], equality: Mapping[str, LiveFile]
) -> dict[str, Any]:
    data = piece.candidate.data
    place = {path: i for i, path in enumerate(positions)} | {path: i for i, path in enumerate(equality)}
    lineage = {"first_row_id": data.first_row_id, "sequence": data.file_sequence_number}
    return {
        **(lineage if table.format_version > 2 else {}),
        "path": data.path,
        "size": data.size,
        "groups": piece.groups,
        "constants": _constants(data, table.specs()[data.file.spec_id]),
        "positions": [place[d.key] for d in piece.candidate.deletes if d.is_position_delete],
        "equality": [place[d.key] for d in piece.candidate.deletes if not d.is_position_delete],
    }


def _constants(data: LiveFile, spec: PartitionSpec) -> dict[str, Any]:
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

"""``dry_run => true``: what a rewrite would do and why, as rows; nothing is written, journaled or committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table

from coordinator.connectors.iceberg.manifests.live_files import Partition
from coordinator.connectors.iceberg.partitions import shown_value
from coordinator.connectors.iceberg.rewrite.asked.options import NO_LIMIT
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate, FileGroup, Skipped, Survey
from coordinator.connectors.iceberg.rewrite.planning.methods import Method, choose_methods
from coordinator.connectors.iceberg.rewrite.planning.rewrite import RewriteRequest
from coordinator.connectors.iceberg.rewrite.planning.selection import reason_of_work, select_files
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory
from shared.spi.procedure import OutputColumn
from shared.spi.workers import WorkerRuntime

COLUMNS = (
    OutputColumn("file_group", "integer", "Number of the group, in the order of work; NULL for files that stay."),
    OutputColumn("partition", "varchar", "Partition as field=value/…; empty for a table without partitions."),
    OutputColumn("spec_id", "integer", "Partition spec that the files were written under; NULL for several."),
    OutputColumn("data_files_count", "integer", "Data files of the group."),
    OutputColumn("bytes_count", "bigint", "Their size."),
    OutputColumn("delete_files_count", "integer", "Delete files that apply to them."),
    OutputColumn("is_rewritten", "boolean", "Whether the call would rewrite them."),
    OutputColumn("reason", "varchar", "Why, or why not."),
    OutputColumn("method", "varchar", "copy (row groups as they are), rewrite, sort, or iceberg (its own procedure)."),
    OutputColumn("method_reason", "varchar", "Why this method."),
    OutputColumn("expected_files_count", "integer", "Data files that would replace them."),
    OutputColumn("expected_seconds", "double", "A guess at the time on this many cores, without the commit."),
    OutputColumn(
        "max_overlap_depth", "integer", "For sort: the most files or sorted runs of the partition that share a key."
    ),
    OutputColumn(
        "avg_overlap_depth", "double", "For sort: the mean over its files of the most that share a key with it."
    ),
)
_BYTES_PER_SECOND = {"copy": 400e6, "rewrite": 34e6, "sort": 20e6, "iceberg": 18e6}
"""Of one core, measured on TPC-H lineitem in zstd."""
_DELETES_COST = 1.3


def dry_run_rows(request: RewriteRequest, reason: str | None, workers: WorkerRuntime) -> list[Any]:
    """The rows of a call that is only shown; ``reason`` says why Iceberg's procedure would do it, if it would."""
    selection = select_files(request.table, request.target, request.options, request.ordering, shown=True)
    if selection is None:
        return []
    groups = selection.survey.groups
    reason = reason or (reason_of_work(request.table, groups) if groups else None)
    if reason is not None and request.options.max_files < NO_LIMIT:
        reason += "; it may choose other files where there are more than max-files-to-rewrite"
    if reason is not None:
        methods = [("iceberg", Method(copies=False, reason=reason))] * len(groups)
    elif request.ordering is not None:
        methods = [("sort", Method(copies=False, reason="strategy sort"))] * len(groups)
    else:
        factory = TaskFactory.of(request.table, request.catalog.settings.storage)
        found = choose_methods(request.table, groups, request.options, factory, workers)
        methods = [("copy" if method.copies else "rewrite", method) for method in found]
    return _rows(request.table, selection.survey, methods, workers.parallelism)


def _rows(table: Table, survey: Survey, methods: Sequence[tuple[str, Method]], parallelism: int) -> list[object]:
    """One row a group of ``survey``, rewritten ones first; ``methods`` are those of its groups, with their names."""
    rows: list[object] = [
        (
            number,
            *_files(table, group.partition, group.files),
            True,
            group.reason,
            name,
            method.reason,
            group.output_files,
            _seconds(group, name, parallelism),
            *_depths(survey, group.partition),
        )
        for number, (group, (name, method)) in enumerate(zip(survey.groups, methods, strict=True))
    ]
    return rows + [_stays(table, survey, skipped) for skipped in survey.skipped]


def _stays(table: Table, survey: Survey, skipped: Skipped) -> tuple[object, ...]:
    files = _files(table, skipped.partition, skipped.files)
    return (None, *files, False, skipped.reason, None, None, None, None, *_depths(survey, skipped.partition))


def _depths(survey: Survey, partition: Partition) -> tuple[int | None, float | None]:
    depth = survey.depths.get(partition)
    return (None, None) if depth is None else (depth.greatest, round(depth.average, 2))


def _files(table: Table, partition: Partition, files: Iterable[Candidate]) -> tuple[object, ...]:
    listed = list(files)
    deletes = {delete.key for candidate in listed for delete in candidate.deletes}
    size = sum(candidate.data.size for candidate in listed)
    specs = {candidate.data.file.spec_id for candidate in listed}
    spec_id = specs.pop() if len(specs) == 1 else None
    return _partition_text(table, partition), spec_id, len(listed), size, len(deletes)


def _partition_text(table: Table, partition: Partition) -> str:
    spec: PartitionSpec = table.specs()[partition[0]]
    schema = table.schema()
    parts = []
    for field, value in zip(spec.fields, partition[1], strict=False):
        source = schema.find_type(field.source_id) if field.source_id in schema.field_ids else None
        text = str(value) if source is None else shown_value(field.transform, source, value)
        parts.append(f"{field.name}={text}")
    return "/".join(parts)


def _seconds(group: FileGroup, method: str, parallelism: int) -> float:
    deletes = _DELETES_COST if any(candidate.deletes for candidate in group.files) else 1.0
    cores = min(parallelism, group.output_files if method == "copy" else max(1, group.size >> 24))
    return round(0.1 + deletes * group.size / _BYTES_PER_SECOND[method] / max(1, cores), 2)

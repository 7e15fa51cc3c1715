"""Which file groups are rewritten by copying row groups instead of decoding them, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table

from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.output_specs import scatters
from coordinator.connectors.iceberg.rewrite.planning.bloom_filters import asked_columns
from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import asked_row_group
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory
from coordinator.kernels.tasks import PROBE, Probed, ProbeTask
from shared.spi.workers import WorkerRuntime

LEAST_ROW_GROUP = 8 << 20
"""Bytes that row groups have on average: smaller ones are better merged by decoding, as readers pay for each."""
_FAR_OFF = 1.8
"""How often smaller or larger row groups may be than the table asks for."""
_CODEC = "write.parquet.compression-codec"
_PLAIN_CODECS = ("none", "uncompressed")
_LEVEL = "write.parquet.compression-level"
_FILES_OF_A_PROBE = 32
_COPIED = "row groups are large and alike, and no row is deleted"


@dataclass(frozen=True, slots=True)
class Method:
    """How a group is rewritten, and why so, in plain words."""

    copies: bool
    reason: str


def choose_methods(
    table: Table, groups: Sequence[FileGroup], options: RewriteOptions, factory: TaskFactory, workers: WorkerRuntime
) -> list[Method]:
    """One for each group. Manifests rule most out; the footers of the rest are read on the workers."""
    reasons = [_reason_of_manifests(group, options, asked_row_group(table.properties)) for group in groups]
    for number, group in enumerate(groups):
        if scatters(table, group):
            reasons[number] = f"its rows go to the partitions of spec {group.partition[0]}"
    if table.format_version > 2:
        reasons = [reason or "the ids of its rows have to be written (format version 3)" for reason in reasons]
    open_groups = [i for i, reason in enumerate(reasons) if reason is None]
    for number, reason in _probed(table, groups, open_groups, factory, workers).items():
        reasons[number] = reason
    return [
        Method(copies=True, reason=_COPIED) if reason is None else Method(copies=False, reason=reason)
        for reason in reasons
    ]


def _reason_of_manifests(group: FileGroup, options: RewriteOptions, asked: int | None) -> str | None:
    if not options.copy_row_groups:
        return "copy-row-groups is false"
    files = [candidate.data.file for candidate in group.files]
    if any(candidate.deletes for candidate in group.files):
        return "deleted rows have to be left out"
    known = sum(max(1, len(file.split_offsets or ())) for file in files)
    average = group.size // known
    if asked is not None and not asked / _FAR_OFF < average < asked * _FAR_OFF:
        return f"row groups have {average} bytes on average, and the table asks for {asked}"
    if average < LEAST_ROW_GROUP:
        return f"row groups are small, {average} bytes on average, and decoding merges them"
    return None


def _probed(
    table: Table, groups: Sequence[FileGroup], numbers: Iterable[int], factory: TaskFactory, workers: WorkerRuntime
) -> dict[int, str | None]:
    tasks = [
        ProbeTask(factory.fields, [candidate.data.path for candidate in some], factory.storage, number)
        for number in numbers
        for start in range(0, len(groups[number].files), _FILES_OF_A_PROBE)
        for some in [groups[number].files[start : start + _FILES_OF_A_PROBE]]
    ]
    answers: dict[int, list[Probed]] = {}
    for answer in PROBE.run(workers, tasks, "look at footers"):
        answers.setdefault(answer.group, []).append(answer)
    return {number: _reason_of_footers(found, table.properties) for number, found in answers.items()}


def _reason_of_footers(answers: Sequence[Probed], properties: Mapping[str, str]) -> str | None:
    for answer in answers:
        if answer.reason is not None:
            return answer.reason
    if len({kind for answer in answers for kind in answer.kinds}) > 1:
        return "files differ in schema"
    codecs = {codec for answer in answers for codec in answer.codecs}
    if len(codecs) > 1:
        return f"files differ in compression: {', '.join(sorted(codecs))}"
    asked = properties.get(_CODEC, "").lower()
    asked = "uncompressed" if asked in _PLAIN_CODECS else asked
    if asked and codecs and asked not in codecs:
        return f"files are compressed by {codecs.pop()} where the table asks for {asked}"
    if asked_columns(properties):
        return "the table asks for Bloom filters"
    return f"the table asks for a compression level ({_LEVEL})" if properties.get(_LEVEL) else None

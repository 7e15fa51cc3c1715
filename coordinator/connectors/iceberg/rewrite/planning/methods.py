"""Which file groups are rewritten by copying row groups instead of decoding them, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table

from coordinator.connectors.iceberg.manifests.live_files import LiveFile
from coordinator.connectors.iceberg.rewrite.asked.options import RewriteOptions
from coordinator.connectors.iceberg.rewrite.asked.output_specs import scatters
from coordinator.connectors.iceberg.rewrite.planning.bloom_filters import asked_columns
from coordinator.connectors.iceberg.rewrite.planning.groups import Candidate, FileGroup
from coordinator.connectors.iceberg.rewrite.planning.outputs import Slice
from coordinator.connectors.iceberg.rewrite.planning.parquet_options import asked_row_group
from coordinator.connectors.iceberg.rewrite.planning.tasks import TaskFactory, inputs_with_deletes, key_bounds
from coordinator.kernels.tasks import PROBE, Probed, ProbeTask, RowGroups
from shared.spi.workers import WorkerRuntime

LEAST_ROW_GROUP = 8 << 20
"""Bytes that row groups have on average: smaller ones are better merged by decoding, as readers pay for each."""
_FAR_OFF = 1.8
"""How often smaller or larger row groups may be than the table asks for."""
_CODEC = "write.parquet.compression-codec"
_PLAIN_CODECS = ("none", "uncompressed")
_LEVEL = "write.parquet.compression-level"
_FILES_OF_A_PROBE = 32
_MOST_DECODED = 0.5
"""The share of a group from which on row groups that may stay are not worth being told apart."""
_COPIED = "row groups are large and alike, and no row is deleted"


@dataclass(frozen=True, slots=True)
class Method:
    """How a group is rewritten, and why so, in plain words.

    ``row_groups`` by path where only some have to be decoded, and how decimals are stored beside the others.
    """

    copies: bool
    reason: str
    row_groups: Mapping[str, RowGroups] | None = None
    decimals: str = "integers"


def choose_methods(
    table: Table, groups: Sequence[FileGroup], options: RewriteOptions, factory: TaskFactory, workers: WorkerRuntime
) -> list[Method]:
    """One for each group. Manifests rule most out; the footers of the rest are read on the workers."""
    reasons = [_reason_of_manifests(group, options, asked_row_group(table.properties)) for group in groups]
    for number, group in enumerate(groups):
        if scatters(table, group):
            reasons[number] = f"its rows go to the partitions of spec {group.partition[0]}"
    methods = [Method(copies=False, reason=reason or "") for reason in reasons]
    open_groups = [i for i, reason in enumerate(reasons) if reason is None]
    for number, answers in _probed(table, groups, open_groups, factory, workers).items():
        deletes = any(candidate.deletes for candidate in groups[number].files)
        sure = next(_equality_deletes(groups[number]), None) is None
        methods[number] = _method(answers, table.properties, deletes=deletes, sure=sure)
    return methods


def _method(answers: Sequence[Probed], properties: Mapping[str, str], *, deletes: bool, sure: bool) -> Method:
    """``sure``: deleted rows are known by position, and not only by the bounds of their keys."""
    reason = _reason_of_footers(answers, properties)
    if reason is not None:
        return Method(copies=False, reason=reason)
    if not deletes:
        return Method(copies=True, reason=_COPIED)
    files = [file for answer in answers for file in answer.row_groups]
    total = sum(sum(file.sizes) for file in files)
    decoded = sum(file.sizes[number] for file in files for number in file.deleted)
    count, touched = (sum(len(of) for of in found) for found in ([f.sizes for f in files], [f.deleted for f in files]))
    text = f"{touched} of {count} row groups {'have' if sure else 'may have'} deleted rows"
    if not touched:
        return Method(copies=True, reason=text)
    if decoded > _MOST_DECODED * total:
        return Method(copies=False, reason=text)
    decimals = sorted(set[str](answers[0].decimals).intersection(*(answer.decimals for answer in answers)))
    if not decimals:
        return Method(copies=False, reason=f"{text}, and the files store columns otherwise than we do")
    known = {file.path: file for file in files}
    return Method(copies=False, reason=f"{text}, the others are copied", row_groups=known, decimals=decimals[-1])


def _reason_of_manifests(group: FileGroup, options: RewriteOptions, asked: int | None) -> str | None:
    if not options.copy_row_groups:
        return "copy-row-groups is false"
    files = [candidate.data.file for candidate in group.files]
    if any(not key_bounds(delete) for delete in _equality_deletes(group)):
        return "rows that equality deletes name have to be left out"
    known = sum(max(1, len(file.split_offsets or ())) for file in files)
    average = group.size // known
    if asked is not None and not asked / _FAR_OFF < average < asked * _FAR_OFF:
        return f"row groups have {average} bytes on average, and the table asks for {asked}"
    if average < LEAST_ROW_GROUP:
        return f"row groups are small, {average} bytes on average, and decoding merges them"
    return None


def _equality_deletes(group: FileGroup) -> Iterator[LiveFile]:
    return (delete for candidate in group.files for delete in candidate.deletes if not delete.is_position_delete)


def _probed(
    table: Table, groups: Sequence[FileGroup], numbers: Iterable[int], factory: TaskFactory, workers: WorkerRuntime
) -> dict[int, list[Probed]]:
    tasks = [
        _task(table, groups[number].files[start : start + _FILES_OF_A_PROBE], factory, number)
        for number in numbers
        for start in range(0, len(groups[number].files), _FILES_OF_A_PROBE)
    ]
    answers: dict[int, list[Probed]] = {}
    for answer in PROBE.run(workers, tasks, "look at footers"):
        answers.setdefault(answer.group, []).append(answer)
    return answers


def _task(table: Table, files: Sequence[Candidate], factory: TaskFactory, number: int) -> ProbeTask:
    slices = [Slice(candidate, candidate.data.size) for candidate in files]
    inputs, positions, equality = inputs_with_deletes(slices, table)
    return ProbeTask(factory.fields, inputs, factory.storage, number, positions, equality)


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

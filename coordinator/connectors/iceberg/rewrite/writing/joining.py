"""Joining parts that were written side by side to one file, row groups as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.kernels.tasks import JOIN, Fragment, Input, JoinTask, Tag
from shared.spi.procedure import ProcedureContext


def join_parts(rewrite: Rewrite, context: ProcedureContext, parts: dict[int, list[Fragment]]) -> list[Fragment]:
    """One file an output out of its parts, which are removed later; fragments of the outputs, empty ones included."""
    tasks: list[JoinTask] = []
    joined: list[Fragment] = []
    read: dict[int, int] = {}
    nan_groups: dict[int, list[dict[str, int]]] = {}
    for number, found in parts.items():
        written = sorted(found, key=lambda fragment: fragment.tag.part or 0)
        read[number] = sum(w.read_rows for w in written)
        nan_groups[number] = [group for w in written for group in w.nan_groups]
        paths = [w.path for w in written if w.path is not None]
        rewrite.parts.extend(paths)
        if paths:
            inputs = [Input(path, 0) for path in paths]
            tasks.append(rewrite.factory.join(number, rewrite.outputs[number], inputs, _nan_counts(written)))
        else:
            joined.append(Fragment(Tag(number), None, read_rows=read[number]))
    for fragment in run_kernel(context, JOIN, tasks, "joining parts"):
        number = fragment.output
        joined.append(replace(fragment, read_rows=read[number], nan_groups=nan_groups[number]))
    return joined


def _nan_counts(written: Sequence[Fragment]) -> dict[str, int]:
    total: dict[str, int] = {}
    for fragment in written:
        for column, count in fragment.nan_counts.items():
            total[column] = total.get(column, 0) + count
    return total

"""Joining parts that were written side by side to one file, row groups as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordinator.connectors.iceberg.rewrite.planning.outputs import OutputPlan
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.planning.tasks import copied_inputs
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
        rewrite.parts.extend(w.path for w in written if w.path is not None)
        plan = rewrite.outputs[number]
        inputs = _inputs(plan, written)
        if inputs:
            counts = {} if plan.copied else _nan_counts(written)
            tasks.append(rewrite.factory.join(number, plan, inputs, counts))
        else:
            joined.append(Fragment(Tag(number), None, read_rows=read[number]))
    for fragment in run_kernel(context, JOIN, tasks, "joining parts"):
        number = fragment.output
        if rewrite.outputs[number].copied:
            copied = fragment.rows - sum(w.rows for w in parts[number])
            joined.append(replace(fragment, read_rows=read[number] + copied, nan_groups=[]))
        else:
            joined.append(replace(fragment, read_rows=read[number], nan_groups=nan_groups[number]))
    return joined


def _inputs(plan: OutputPlan, written: Sequence[Fragment]) -> list[Input]:
    """The parts in order; between them row groups that are copied."""
    by_part = {w.tag.part or 0: [] if w.path is None else [Input(w.path, 0)] for w in written}
    by_part |= {number: copied_inputs(plan.parts[number]) for number in plan.copied}
    return [item for _, inputs in sorted(by_part.items()) for item in inputs]


def _nan_counts(written: Sequence[Fragment]) -> dict[str, int]:
    total: dict[str, int] = {}
    for fragment in written:
        for column, count in fragment.nan_counts.items():
            total[column] = total.get(column, 0) + count
    return total

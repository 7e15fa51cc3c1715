"""Packing: rows keep their order. Parts are written side by side and joined to files; row groups are copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coordinator.connectors.iceberg.rewrite.kernel_calls import run_kernel
from coordinator.connectors.iceberg.rewrite.rewrite import Rewrite
from coordinator.kernels.tasks import JOIN, REWRITE, Fragment, Input, JoinTask, Tag
from shared.spi.procedure import ProcedureContext


def write_packed(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[Fragment]:
    """The final fragments of the outputs ``numbers``, rows in the order that they had."""
    outputs = [(n, rewrite.outputs[n]) for n in numbers]
    tasks = [rewrite.factory.part(n, o, p) for n, o in outputs if not o.copies for p in range(len(o.parts))]
    parts: dict[int, list[Fragment]] = {}
    final: list[Fragment] = []
    job = f"rewrite {rewrite.target.schema}.{rewrite.target.table}"
    for written in run_kernel(context, REWRITE, tasks, "rewriting files", job):
        if len(rewrite.outputs[written.output].parts) == 1:
            final.append(written)
        else:
            parts.setdefault(written.output, []).append(written)
    final += join_parts(rewrite, context, parts)
    copies = [rewrite.factory.copy(n, o) for n, o in outputs if o.copies]
    return [*final, *run_kernel(context, JOIN, copies, "copying row groups")]


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

"""Packing: rows keep their order. Parts are written side by side and joined to files; row groups are copied."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.joining import join_parts
from coordinator.connectors.iceberg.rewrite.writing.kernel_calls import run_kernel
from coordinator.kernels.tasks import JOIN, REWRITE, Fragment
from shared.spi.procedure import ProcedureContext


def write_packed(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[Fragment]:
    """The final fragments of the outputs ``numbers``, rows in the order that they had."""
    outputs = [(n, rewrite.outputs[n]) for n in numbers]
    tasks = [
        rewrite.factory.part(n, o, p)
        for n, o in outputs
        if not o.copies
        for p in range(len(o.parts))
        if p not in o.copied
    ]
    parts: dict[int, list[Fragment]] = {n: [] for n, o in outputs if o.copied}
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

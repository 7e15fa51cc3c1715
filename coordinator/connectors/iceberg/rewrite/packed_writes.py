"""Running the tasks of a rewrite: parts side by side, joined to files; row groups copied."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.connectors.iceberg.rewrite.fragments import (
    Written,
    empty_fragment,
    parse_fragment,
    with_nan_groups,
    with_read_rows,
)
from coordinator.connectors.iceberg.rewrite.rewrite import Rewrite
from shared.spi.procedure import ProcedureContext, ProcedureProgress

WRITE_KERNEL = "rewrite:run"
JOIN_KERNEL = "join:run"


def write_packed(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[bytes]:
    """The final fragments of the outputs ``numbers``, rows in the order that they had."""
    factory, name = rewrite.factory, f"{rewrite.target.schema}.{rewrite.target.table}"
    decoded = [n for n in numbers if not rewrite.outputs[n].copies]
    payloads = [factory.write(n, rewrite.outputs[n], p) for n in decoded for p in range(len(rewrite.outputs[n].parts))]
    parts: dict[int, list[Written]] = {}
    final: list[bytes] = []
    results = context.workers.run_tasks(WRITE_KERNEL, payloads, description=f"rewrite {name}")
    for done, raw in enumerate(results, start=1):
        context.check_cancelled()
        context.report(ProcedureProgress(done, len(payloads), "rewriting files"))
        written = parse_fragment(raw)
        if len(rewrite.outputs[written.output].parts) == 1:
            final.append(raw)
        else:
            parts.setdefault(written.output, []).append(written)
    return final + join_parts(rewrite, context, parts) + _copy_files(rewrite, context, numbers)


def _copy_files(rewrite: Rewrite, context: ProcedureContext, numbers: Sequence[int]) -> list[bytes]:
    payloads = [rewrite.factory.copy(n, rewrite.outputs[n]) for n in numbers if rewrite.outputs[n].copies]
    copied = []
    for raw in context.workers.run_tasks(JOIN_KERNEL, payloads, description="copy row groups"):
        context.check_cancelled()
        copied.append(raw)
        context.report(ProcedureProgress(len(copied), len(payloads), "copying row groups"))
    return copied


def join_parts(rewrite: Rewrite, context: ProcedureContext, parts: dict[int, list[Written]]) -> list[bytes]:
    """One file an output out of its parts, which are removed later; fragments of the outputs, empty ones included."""
    payloads, empty = [], []
    read: dict[int, int] = {}
    nan_groups: dict[int, list[dict[str, int]]] = {}
    for number, found in parts.items():
        written = sorted(found, key=lambda w: w.part or 0)
        read[number] = sum(w.read_rows for w in written)
        nan_groups[number] = [group for w in written for group in w.nan_groups]
        paths = [w.path for w in written if w.path is not None]
        rewrite.parts += paths
        nan_counts: dict[str, int] = {}
        for w in written:
            for key, count in w.nan_counts.items():
                nan_counts[key] = nan_counts.get(key, 0) + count
        if paths:
            payloads.append(rewrite.factory.join(number, rewrite.outputs[number], paths, nan_counts))
        else:
            empty.append(empty_fragment(number, read[number]))
    if not payloads:
        return empty
    joined = []
    for raw in context.workers.run_tasks(JOIN_KERNEL, payloads, description="join parts"):
        context.check_cancelled()
        number = parse_fragment(raw).output
        joined.append(with_nan_groups(with_read_rows(raw, read[number]), nan_groups[number]))
    return joined + empty

"""The tasks of a whole rewrite: as many groups at a time as the call allows, and files of the right size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coordinator.connectors.iceberg.rewrite.asked.output_specs import scatters
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite
from coordinator.connectors.iceberg.rewrite.writing.repartitioning import write_repartitioned
from coordinator.connectors.iceberg.rewrite.writing.resizing import resized
from coordinator.connectors.iceberg.storage import delete_files
from coordinator.kernels.tasks import Fragment
from shared.spi.procedure import ProcedureContext

WriteWave = Callable[[Rewrite, ProcedureContext, Sequence[int]], list[Fragment]]


def write_files(rewrite: Rewrite, context: ProcedureContext, write_wave: WriteWave) -> list[Fragment]:
    """Run the tasks: parts first, joined to one file where an output has several. Returns the final fragments."""
    fragments: list[Fragment] = []
    for wave in _waves(rewrite):
        moved = [n for n in wave if scatters(rewrite.table, rewrite.groups[rewrite.outputs[n].group])]
        written = write_wave(rewrite, context, [n for n in wave if n not in moved])
        fragments += resized(rewrite, context, [*written, *write_repartitioned(rewrite, context, moved)])
    delete_files(rewrite.table.io, rewrite.parts)
    rewrite.parts.clear()
    return fragments


def _waves(rewrite: Rewrite) -> list[list[int]]:
    """Output numbers by how many groups may run at a time."""
    limit = rewrite.options.max_concurrent_groups
    if limit is None or limit >= len(rewrite.groups):
        return [list(range(len(rewrite.outputs)))]
    return [
        [i for i, output in enumerate(rewrite.outputs) if start <= output.group < start + limit]
        for start in range(0, len(rewrite.groups), limit)
    ]

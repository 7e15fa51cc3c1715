"""``CALL catalog.system.table_storage(schema, table_name, list_files)``"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.manifests.table_files import referenced_files
from coordinator.connectors.iceberg.paths import normalize
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_ORDER = (
    "live data", "live deletes", "old data", "old deletes", "manifests", "manifest lists", "metadata", "statistics",
    "unreferenced",
)  # fmt: skip
_NAMES = {"manifest": "manifests", "manifest_list": "manifest lists"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    list_files: Annotated[
        bool, Declared("boolean", "Also list the files in storage; otherwise only the metadata is read.")
    ] = True


DECLARATION = ProcedureDeclaration(
    name="table_storage",
    kind=ProcedureKind.COORDINATOR,
    summary="What a table takes in storage, and how much of it only old snapshots or nobody needs.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("category", "varchar", f"One of: {', '.join(_ORDER)}."),
        OutputColumn("files", "bigint", "How many."),
        OutputColumn("bytes", "bigint", "How large; NULL where only storage can tell and was not asked."),
    ),
    example="CALL iceberg.system.table_storage('sales', 'orders')",
    notes="Live is what the current snapshot reads; expire_snapshots frees the old, remove_orphan_files what nobody "
    "refers to. Files younger than a commit in flight look unreferenced.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError when metadata or storage cannot be read."""
    table = call.read()
    found: dict[str, tuple[str, int | None]] = {}
    for file in referenced_files(table):
        category = _NAMES.get(file.role, file.role)
        if file.role in ("data", "deletes"):
            category = f"{'live' if file.live else 'old'} {file.role}"
        found.setdefault(normalize(file.location), (category, file.size))
    unreferenced: list[int] = []
    if call.arguments.list_files:
        for stored in walk(table.io, table.location()):
            call.context.check_cancelled()
            key = normalize(stored.location)
            if key in found:
                found[key] = found[key][0], stored.size
            else:
                unreferenced.append(stored.size)
    sizes: dict[str, list[int | None]] = defaultdict(list)
    for category, size in found.values():
        sizes[category].append(size)
    sizes["unreferenced"].extend(unreferenced)
    shown = _ORDER if call.arguments.list_files else _ORDER[:-1]
    return [(category, len(sizes[category]), _sum(sizes[category])) for category in shown]


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return None if len(known) < len(sizes) else sum(known)

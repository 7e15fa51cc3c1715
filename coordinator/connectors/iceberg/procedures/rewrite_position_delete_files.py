"""``CALL catalog.system.rewrite_position_delete_files(…)``, answered by Iceberg's own procedure in Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.expressions import AlwaysFalse
from pyiceberg.table import Table

from coordinator.connectors.iceberg.filters import FileFilter, file_filter, iceberg_predicate
from coordinator.connectors.iceberg.manifests.live_files import LiveFile, Partition, read_live
from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.procedures.through_spark import call_spark
from coordinator.connectors.iceberg.spark_sql import where_clause
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments

_COUNTS = (
    ("rewritten_delete_files_count", "integer", "Delete files that were replaced."),
    ("added_delete_files_count", "integer", "Delete files that were written."),
    ("rewritten_bytes_count", "bigint", "Bytes of the replaced files."),
    ("added_bytes_count", "bigint", "Bytes of the written files."),
)
_TARGET = 64 << 20
_OPTIONS = frozenset(
    {
        *("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes", "min-input-files", "rewrite-all"),
        *("max-file-group-size-bytes", "max-concurrent-file-group-rewrites"),
        *("rewrite-job-order", "partial-progress.enabled", "partial-progress.max-commits"),
    }
)
"""Those of Iceberg's procedure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    options: Annotated[
        Mapping[str, str] | None,
        Declared("map(varchar,varchar)", "Iceberg's options by name, such as 'rewrite-all' to 'true'."),
    ] = None
    filter: Annotated[
        str | None, Declared("varchar", "Only deletes of partitions that may hold rows for which this is true.")
    ] = None
    dry_run: Annotated[bool, Declared("boolean", "Only list what would be joined.")] = False


DECLARATION = ProcedureDeclaration(
    name="rewrite_position_delete_files",
    kind=ProcedureKind.COORDINATOR,
    distributed=True,
    summary="Join small position delete files, and drop positions in data files that are gone.",
    arguments=declared_arguments(Arguments),
    output=tuple(OutputColumn(name, kind, doc) for name, kind, doc in _COUNTS),
    dry_run_output=(
        OutputColumn("partition", "varchar", "Partition as field=value/…; empty for a table without partitions."),
        OutputColumn("delete_files_count", "integer", "Its position delete files."),
        OutputColumn("bytes_count", "bigint", "Their size."),
        OutputColumn("is_rewritten", "boolean", "Whether the call would rewrite some of them."),
        OutputColumn("reason", "varchar", "Why, or why not."),
    ),
    example="CALL iceberg.system.rewrite_position_delete_files('sales', 'orders')",
    notes="Deletion vectors are one a data file already and stay.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError: what Iceberg's procedure raises, unknown options among it."""
    table = call.read()
    options: Mapping[str, str] = call.arguments.options or {}
    if unknown := sorted(options.keys() - _OPTIONS):
        names = ", ".join(unknown)
        message = f"Cannot use options [{names}], they are not supported by the action or the rewriter BIN-PACK"
        raise ArgumentError("options", message)
    if call.arguments.dry_run:
        return _dry_run(table, options, file_filter(call.context.filter, table))
    where = None
    if call.context.filter is not None:
        predicate = iceberg_predicate(call.context.filter, table.schema())
        if isinstance(predicate, AlwaysFalse):
            return [[0] * len(_COUNTS)]
        where = where_clause(predicate, table.schema())
    row = call_spark(call, "rewrite_position_delete_files", {"options": options or None, "where": where})[0]
    return [[int(row[name]) for name, _, _ in _COUNTS]]


def _dry_run(table: Table, options: Mapping[str, str], matches: FileFilter) -> Rows:
    groups: dict[Partition, list[LiveFile]] = {}
    for delete in read_live(table, table.current_snapshot()).deletes:
        joinable = delete.is_position_delete and delete.vector is None
        if joinable and matches(delete):
            groups.setdefault(delete.partition, []).append(delete)
    target = _number(
        options,
        "target-file-size-bytes",
        whole_number(table.properties.get("write.delete.target-file-size-bytes")) or _TARGET,
    )
    rows = []
    for files in groups.values():
        chosen, reason = _chosen(files, options, target)
        name = partition_text(files[0].file, table.specs()[files[0].file.spec_id], table.schema())
        rows.append((name, len(files), sum(file.size for file in files), chosen, reason))
    return sorted(rows)


def _chosen(files: Sequence[LiveFile], options: Mapping[str, str], target: int) -> tuple[bool, str]:
    """Iceberg's rules of size: which files are wrong, and whether there are enough of them."""
    if options.get("rewrite-all", "false").lower() == "true":
        return True, "rewrite-all is true"
    low = _number(options, "min-file-size-bytes", target * 3 // 4)
    high = _number(options, "max-file-size-bytes", target * 9 // 5)
    least = _number(options, "min-input-files", 5)
    wrong = [file.size for file in files if not low <= file.size <= high]
    if not wrong:
        return False, f"every file is between {low} and {high} bytes"
    if len(wrong) >= least:
        return True, f"{len(wrong)} files are not between {low} and {high} bytes"
    if len(wrong) > 1 and sum(wrong) > target:
        return True, f"together {len(wrong)} files are larger than {target} bytes"
    if sum(wrong) > high:
        return True, f"a file is larger than {high} bytes"
    return False, f"{len(wrong)} files of a wrong size are fewer than min-input-files, {least}"


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name)
    if text is None:
        return default
    if (number := whole_number(text)) is None:
        raise ArgumentError("options", f"Option {name} must be a number, got: {text}")
    return number

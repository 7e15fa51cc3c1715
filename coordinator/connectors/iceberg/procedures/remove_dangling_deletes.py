"""``CALL catalog.system.remove_dangling_deletes(schema, table_name, dry_run, branch)``"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table.refs import MAIN_BRANCH

from coordinator.connectors.iceberg.maintenance.dangling import dangling_deletes
from coordinator.connectors.iceberg.partitions import partition_text
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from coordinator.connectors.iceberg.rewrite.asked.branches import head_of
from coordinator.connectors.iceberg.snapshots.convert_deletes import ConvertDeletes
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from shared.spi.procedure import OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    dry_run: Annotated[bool, Declared("boolean", "Only list them.")] = False
    branch: Annotated[str | None, Declared("varchar", "The branch whose delete files are meant; default: main.")] = None


DECLARATION = ProcedureDeclaration(
    name="remove_dangling_deletes",
    kind=ProcedureKind.COORDINATOR,
    summary="Take delete files out of the table that apply to no data file any more.",
    arguments=declared_arguments(Arguments),
    output=(OutputColumn("removed_delete_files_count", "integer", "Delete files that were taken out."),),
    dry_run_output=(
        OutputColumn("delete_file_path", "varchar", "A delete file, or the Puffin file of a deletion vector."),
        OutputColumn("content", "varchar", "POSITION_DELETES or EQUALITY_DELETES."),
        OutputColumn("partition", "varchar", "Its partition as field=value/…."),
        OutputColumn("bytes", "bigint", "Its size."),
    ),
    example="CALL iceberg.system.remove_dangling_deletes('sales', 'orders')",
    notes="A delete file stays as long as there is a data file, by partition, path and data sequence number, that "
    "readers would apply it to. No data file is rewritten.",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError TRANSACTION_CONFLICT when a data file came that one of them applies to."""
    table = call.catalog.open(call.schema, call.table)
    dangling = dangling_deletes(table, head_of(table, call.arguments.branch))
    if call.arguments.dry_run:
        return [
            (d.path, d.file.content.name, partition_text(d.file, table.specs()[d.file.spec_id], table.schema()), d.size)
            for d in dangling
        ]
    if dangling:
        transaction = table.transaction()
        ConvertDeletes(
            transaction,
            call_id=uuid.uuid4().hex,
            converted=dangling,
            properties={"engine-name": "procession", QUERY_ID: call.context.session.query_id},
            branch=call.arguments.branch or MAIN_BRANCH,
        ).commit()
        call.context.check_cancelled()
        transaction.commit_transaction()
    return [[len(dangling)]]

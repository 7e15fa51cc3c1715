"""``CALL catalog.system.commits_compare(schema, table_name, ref, other, other_table)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from coordinator.connectors.iceberg.numbers import whole_number
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from coordinator.connectors.iceberg.procedures.table_procedure import Call, Rows
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, OutputColumn, ProcedureDeclaration, ProcedureKind
from shared.spi.procedure_arguments import Declared, declared_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(TableArguments):
    """What the call says."""

    ref: Annotated[str, Declared("varchar", "Branch, tag or snapshot id.")] = "main"
    other: Annotated[str, Declared("varchar", "Branch, tag or snapshot id to compare with.")] = "main"
    other_table: Annotated[
        str | None, Declared("varchar", "Table, or schema.table, that other is of; default: the same table.")
    ] = None


DECLARATION = ProcedureDeclaration(
    name="commits_compare",
    kind=ProcedureKind.COORDINATOR,
    summary="How many commits two branches, tags or copies of a table are ahead of and behind each other.",
    arguments=declared_arguments(Arguments),
    output=(
        OutputColumn("ahead", "bigint", "Commits of ref that other has not."),
        OutputColumn("behind", "bigint", "Commits of other that ref has not."),
        OutputColumn("common_ancestor_id", "bigint", "The newest snapshot of both; NULL when there is none."),
        OutputColumn("ahead_snapshot_ids", "array(bigint)", "The commits that other has not, newest first."),
        OutputColumn("behind_snapshot_ids", "array(bigint)", "The commits that ref has not, newest first."),
        OutputColumn("compare_detail", "varchar", "The same in words."),
    ),
    example="CALL iceberg.system.commits_compare('sales', 'orders', 'audit', 'main')",
)


def answer(call: Call[Arguments]) -> Rows:
    """Raises ProcessionError for unknown refs, and for another table that does not exist."""
    table, ref, other = call.read(), call.arguments.ref, call.arguments.other
    other_name = call.arguments.other_table
    second = table
    if other_name is not None:
        schema, name = call.named_table(other_name)
        found = call.catalog.load(schema, name)
        if found is None:
            raise ArgumentError("other_table", f"Table {schema}.{name} does not exist", ErrorCode.NOT_FOUND)
        second = found
    mine, theirs = _line(table, ref, "ref"), _line(second, other, "other")
    ahead = [snapshot_id for snapshot_id in mine if snapshot_id not in set(theirs)]
    behind = [snapshot_id for snapshot_id in theirs if snapshot_id not in set(mine)]
    common = next((snapshot_id for snapshot_id in mine if snapshot_id in set(theirs)), None)
    detail = f"{ref} is {len(ahead)} commits ahead of and {len(behind)} commits behind {other}"
    if other_name is not None:
        detail += f" of {schema}.{name}"
    return [(len(ahead), len(behind), common, ahead, behind, detail)]


def _line(table: Table, ref: str, argument: str) -> list[int]:
    found: Snapshot | None
    if ref in table.refs():
        found = table.snapshot_by_name(ref)
    elif ref == "main":
        return []
    else:
        number = whole_number(ref)
        found = None if number is None else table.snapshot_by_id(number)
        if found is None:
            raise ArgumentError(argument, f"Ref does not exist: {ref}")
    return [snapshot.snapshot_id for snapshot in ancestors_of(found, table.metadata)]

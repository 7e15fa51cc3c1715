"""``CALL system.maintain(catalog, schema, table_name, dry_run)``"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from coordinator.connectors.system.maintenance import Maintenance, MaintenanceView, Scope
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    Arguments,
    OutputColumn,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureKind,
    ProcedureResult,
)
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeArguments:
    """A part of the lake."""

    catalog: Annotated[
        str | None, Declared("varchar", "The catalog; default: the one whose procedure is called, or all.")
    ] = None
    schema: Annotated[str | None, Declared("varchar", "Only this schema.")] = None
    table_name: Annotated[str | None, Declared("varchar", "Only this table.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainArguments(ScopeArguments):
    """What the call says."""

    dry_run: Annotated[bool, Declared("boolean", "Only say what would be done.")] = False


DECLARATION = ProcedureDeclaration(
    name="maintain",
    kind=ProcedureKind.COORDINATOR,
    summary="Have the maintenance service look at tables now, and say what it decides for each of them and why.",
    arguments=declared_arguments(MaintainArguments),
    output=(
        OutputColumn("decided", "timestamp with time zone", "When."),
        OutputColumn("catalog_name", "varchar", "The table's catalog."),
        OutputColumn("schema_name", "varchar", "Its schema."),
        OutputColumn("table_name", "varchar", "The table."),
        OutputColumn("step", "varchar", "The procedure that would help."),
        OutputColumn("verdict", "varchar", "RUN, DRY RUN (the service only decides), WAIT or SKIP."),
        OutputColumn("reason", "varchar", "Why, or why not."),
        OutputColumn("priority", "double", "What a rewrite saves for each second that it takes."),
        OutputColumn("estimated_bytes", "bigint", "Bytes that it reads and writes."),
        OutputColumn("estimated_seconds", "double", "How long it should take."),
    ),
    example="CALL system.maintain(catalog => 'iceberg', schema => 'sales', dry_run => true)",
    notes="The work follows in the background, as the service's own user and within its windows and budgets; "
    "system.maintenance.jobs shows it. `auto_maintain` does the same for one table at once and as the caller.",
)


class Maintain:
    """Asks the service; the call itself changes nothing."""

    declaration = DECLARATION

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError NOT_SUPPORTED where the service is off, NOT_FOUND, PERMISSION_DENIED."""
        asked = record_of(MaintainArguments, arguments)
        view, scope = view_of(self._maintenance), scope_of(context, asked)
        rows = list(view.examine(scope, context.check_cancelled))
        if not rows and scope.table is not None:
            raise ArgumentError("table_name", f"Table not found: {scope}", ErrorCode.NOT_FOUND)
        if not asked.dry_run:
            view.request(context.session, scope)
        return ProcedureResult(rows=rows)


def view_of(maintenance: Maintenance) -> MaintenanceView:
    """The service; raises ProcessionError NOT_SUPPORTED where it is off."""
    view = maintenance()
    if view is None:
        message = "The maintenance service is off (maintenance.enabled in etc/maintenance.properties)"
        raise ProcessionError(ErrorCode.NOT_SUPPORTED, message)
    return view


def scope_of(context: ProcedureContext, asked: ScopeArguments) -> Scope:
    """What the arguments name, in small letters. Raises ArgumentError for a table without a schema."""
    own = None if context.catalog == "system" else context.catalog
    catalog = own if asked.catalog is None else asked.catalog.lower()
    schema = None if asked.schema is None else asked.schema.lower()
    table = None if asked.table_name is None else asked.table_name.lower()
    if table is not None and schema is None:
        raise ArgumentError("schema", "table_name needs a schema")
    if schema is not None and catalog is None:
        raise ArgumentError("catalog", "schema needs a catalog")
    return Scope(catalog, schema, table)

"""What the procedures that run in the coordinator alone have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    Argument,
    ArgumentError,
    Arguments,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureResult,
)

Rows = Sequence[Sequence[Any]]

TABLE_ARGUMENTS = (
    Argument("schema", "varchar", "Schema of the table.", required=True),
    Argument("table_name", "varchar", "Name of the table.", required=True),
)
"""What lets callers also write ``table => 'schema.table'``."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the catalog, the context it runs in, and its arguments."""

    catalog: TableCatalog
    context: ProcedureContext
    arguments: Arguments

    @property
    def schema(self) -> str:
        return str(self.arguments["schema"])

    @property
    def table(self) -> str:
        return str(self.arguments["table_name"])

    def read(self) -> Table:
        """The table, for reading; raises ProcessionError NOT_FOUND."""
        table = self.catalog.load(self.schema, self.table)
        if table is None:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {self.schema}.{self.table} does not exist")
        return table

    def check_location(self, argument: str, location: str, *own: str) -> str:
        """The location, if it is allowed; raises ArgumentError PERMISSION_DENIED."""
        try:
            return self.catalog.check_location(location, self.schema, *own)
        except ProcessionError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            raise ArgumentError(argument, error.message, ErrorCode.PERMISSION_DENIED) from error


class TableProcedure:
    """A declaration and the function that answers a call with rows; everything it raises is a ProcessionError."""

    def __init__(
        self, declaration: ProcedureDeclaration, answer: Callable[[Call], Rows], catalog: TableCatalog
    ) -> None:
        self.declaration = declaration
        self._answer = answer
        self._catalog = catalog

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError."""
        subject = ".".join(str(arguments[name]) for name in ("schema", "table_name") if name in arguments)
        with mapped(subject or self._catalog.settings.catalog):
            return ProcedureResult(rows=self._answer(Call(self._catalog, context, arguments)))

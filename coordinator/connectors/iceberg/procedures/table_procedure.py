"""What the procedures that run in the coordinator alone have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, get_args, get_type_hints

from pyiceberg.table import Table

from coordinator.connectors.iceberg.catalog import TableCatalog
from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.maintenance.shared_folders import refuse_held
from coordinator.connectors.iceberg.procedures.arguments import TableArguments
from shared.errors import ErrorCode, ProcessionError
from shared.spi.procedure import (
    ArgumentError,
    Arguments,
    ProcedureContext,
    ProcedureDeclaration,
    ProcedureResult,
)
from shared.spi.procedure_arguments import record_of

Rows = Sequence[Sequence[object]]


A_co = TypeVar("A_co", bound=TableArguments, covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[A_co]):
    """One call: the catalog, the context it runs in, and the record of its arguments."""

    catalog: TableCatalog
    context: ProcedureContext
    arguments: A_co

    @property
    def schema(self) -> str:
        return self.arguments.schema

    @property
    def table(self) -> str:
        return self.arguments.table_name

    def given(self, *names: str) -> dict[str, object]:
        """These arguments by their names."""
        return {name: getattr(self.arguments, name) for name in names}

    def read(self) -> Table:
        """The table, for reading; raises ProcessionError NOT_FOUND."""
        table = self.catalog.load(self.schema, self.table)
        if table is None:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Table {self.schema}.{self.table} does not exist")
        return table

    def named_table(self, text: str) -> tuple[str, str]:
        """Schema and name of another table of the catalog: ``[[catalog.]schema.]table``, as access control reads it."""
        *schemas, name = text.split(".")
        if len(schemas) > 1 and schemas[0].lower() == self.catalog.settings.catalog:
            schemas = schemas[1:]
        return ".".join(schemas) or self.schema, name

    def check_location(self, argument: str, location: str, *own: str) -> str:
        """The location, if it is allowed; raises ArgumentError PERMISSION_DENIED."""
        try:
            return self.catalog.check_location(location, self.schema, *own)
        except ProcessionError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            raise ArgumentError(argument, error.message, ErrorCode.PERMISSION_DENIED) from error

    def check_free_location(self, argument: str, location: str, *own: str) -> str:
        """The location, if it is allowed and no other table has files there; raises ArgumentError PERMISSION_DENIED."""
        self.check_location(argument, location, *own)
        try:
            refuse_held(self.catalog, location, self.context.check_cancelled, f"{self.schema}.{self.table}")
        except ProcessionError as error:
            if error.code is not ErrorCode.PERMISSION_DENIED:
                raise
            raise ArgumentError(argument, error.message, ErrorCode.PERMISSION_DENIED) from error
        return location


A = TypeVar("A", bound=TableArguments)


def arguments_of(answer: Callable[[Call[A]], Rows]) -> type[A]:
    """The record that an answer's own annotation asks for: ``call: Call[Record]``."""
    record: type[A] = get_args(get_type_hints(answer)["call"])[0]
    return record


class TableProcedure(Generic[A]):
    """A declaration and the function that answers a call with rows; everything it raises is a ProcessionError.

    ``record`` is the type of its arguments, which the declaration is made of.
    """

    def __init__(
        self,
        declaration: ProcedureDeclaration,
        record: Callable[..., A],
        answer: Callable[[Call[A]], Rows],
        catalog: TableCatalog,
    ) -> None:
        self.declaration = declaration
        self._record = record
        self._answer = answer
        self._catalog = catalog

    def call(self, context: ProcedureContext, arguments: Arguments) -> ProcedureResult:
        """Raises ProcessionError."""
        given = record_of(self._record, arguments)
        with mapped(f"{given.schema}.{given.table_name}"):
            return ProcedureResult(rows=self._answer(Call(self._catalog, context, given)))

"""DELETE without an engine: whole files whose every row matches leave the table in one commit, in milliseconds.

Only what PyIceberg's metrics tell exactly: comparisons of columns with constants under AND and OR, on a table without
delete files. Whatever else there is goes to Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, BooleanExpression, Or
from pyiceberg.table import Table
from pyiceberg.table.update.snapshot import _DeleteFiles

from coordinator.connectors.iceberg.failures import mapped
from coordinator.connectors.iceberg.filters import iceberg_predicate
from shared.plan.expressions import Call, Constant, RowExpression, SpecialForm, Variable
from shared.plan.traversal import free_variables
from shared.plan.types import parse_type
from shared.spi.table_writes import RowFilter

_EXACT = frozenset(("equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal", "between"))
_TYPES = frozenset(("boolean", "integer", "bigint", "date", "varchar", "decimal"))
"""Types whose statistics order as Presto compares: without NaN, zones or padding."""


def delete_files(table: Table, row_filter: RowFilter | None, properties: Mapping[str, str]) -> int | None:
    """Rows deleted, or None when metadata alone cannot say which; ``row_filter`` None means every row."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        return 0
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    if table.format_version > 2 or summary.get("total-delete-files") != "0":
        return None
    predicate = AlwaysTrue() if row_filter is None else exact_predicate(table, row_filter)
    if predicate is None:
        return None
    with mapped(".".join(table.name())):
        transaction = table.transaction()
        producer: _DeleteFiles = transaction.update_snapshot(snapshot_properties=dict(properties)).delete()
        producer.delete_by_predicate(predicate)
        if producer.rewrites_needed:
            return None
        if not producer.files_affected:
            return 0
        rows = sum(file.record_count for file in producer._deleted_data_files)
        producer.commit()
        transaction.commit_transaction()
        return rows


def exact_predicate(table: Table, row_filter: RowFilter) -> BooleanExpression | None:
    """The filter as an Iceberg predicate that is true for exactly the same rows; None when there is none."""
    if not _is_exact(row_filter.predicate):
        return None
    renamed = with_own_names(row_filter)
    if not free_variables(renamed):
        return None
    parts = _terms(renamed)
    made = [iceberg_predicate(part, table.schema()) for part in parts]
    # What could not be translated is true for more rows than it should be.
    if any(isinstance(part, AlwaysTrue | AlwaysFalse) for part in made):
        return None
    return iceberg_predicate(renamed, table.schema()) if _well_formed(renamed, table) else None


def with_own_names(row_filter: RowFilter) -> RowExpression:
    """The predicate over the columns' own names."""
    return _renamed(row_filter.predicate, row_filter.columns)


def _terms(expression: RowExpression) -> list[RowExpression]:
    match expression:
        case SpecialForm(form="AND" | "OR"):
            return [term for argument in expression.arguments for term in _terms(argument)]
        case _:
            return [expression]


def _is_exact(expression: RowExpression) -> bool:
    match expression:
        case SpecialForm(form="AND" | "OR"):
            return all(_is_exact(argument) for argument in expression.arguments)
        case SpecialForm(form="IN"):
            return _column(expression.arguments[0]) and all(isinstance(a, Constant) for a in expression.arguments[1:])
        case SpecialForm(form="IS_NULL"):
            return _column(expression.arguments[0])
        case Call() if _name(expression) in _EXACT:
            columns = [a for a in expression.arguments if not isinstance(a, Constant)]
            return len(columns) == 1 and _column(columns[0])
        case _:
            return False


def _column(expression: RowExpression) -> bool:
    return isinstance(expression, Variable) and parse_type(expression.type).base in _TYPES


def _name(call: Call) -> str:
    signature = getattr(call.functionHandle, "signature", None)
    name = call.displayName if signature is None else signature.name
    return str(name).rpartition(".")[2].removeprefix("$operator$").lower()


def _renamed(expression: RowExpression, columns: Mapping[str, str]) -> RowExpression:
    """With the columns' own names, by which ``iceberg_predicate`` finds them."""
    match expression:
        case Variable():
            return Variable(name=columns[expression.name], type=expression.type)
        case Call():
            arguments = tuple(_renamed(a, columns) for a in expression.arguments)
            return Call(
                displayName=expression.displayName,
                functionHandle=expression.functionHandle,
                returnType=expression.returnType,
                arguments=arguments,
            )
        case SpecialForm():
            arguments = tuple(_renamed(a, columns) for a in expression.arguments)
            return SpecialForm(form=expression.form, returnType=expression.returnType, arguments=arguments)
        case _:
            return expression


def _well_formed(expression: RowExpression, table: Table) -> bool:
    """Every AND and OR became one: none of PyIceberg's simplifications hides a part that was not understood."""
    made = iceberg_predicate(expression, table.schema())
    return not isinstance(expression, SpecialForm) or expression.form not in ("AND", "OR") or isinstance(made, And | Or)

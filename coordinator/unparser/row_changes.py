"""Changes of rows as Spark's statements around their target: MERGE, and DELETE by file and position.

Everything but positions goes through MERGE, whose commits tell how many rows were inserted, updated and deleted.
"""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import typed
from coordinator.planner.row_changes import FILE, ROW_ID, RowChange, RowClause
from coordinator.unparser import unparse_for_spark
from coordinator.unparser.expressions import expression
from coordinator.unparser.iceberg_conditions import for_iceberg
from coordinator.unparser.qualified_columns import STORED, Names, qualified
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.stored_json import stored_json
from coordinator.unparser.trees import name
from shared.plan.expressions import RowExpression
from shared.plan.nodes import DeleteNode, OutputNode, UpdateNode
from shared.plan.traversal import walk
from shared.spi.relation import Input

_TARGET, _SOURCE = STORED, "$s"
"""Aliases that no parameter of a lambda has."""


def changed_rows(change: RowChange, logical: OutputNode, relation_of: RelationOf) -> tuple[str, str, tuple[Input, ...]]:
    """What stands before and after the target's name, and the inputs of the source."""
    if change.by_position:
        return _by_position(change, logical, relation_of)
    names: dict[str, tuple[str, str]] = {v: (_TARGET, column) for v, column in change.columns.items()}
    using = "(SELECT 1 AS `one`)"
    inputs: tuple[Input, ...] = ()
    if change.source is not None:
        sql, inputs = unparse_for_spark(change.source, change.source_columns, relation_of)
        using = f"({sql})"
        names |= {v.name: (_SOURCE, v.name) for v in change.source_columns}
    condition = "TRUE" if change.condition is None else text_of(for_iceberg(change.condition), names)
    clauses = " ".join(_clause(clause, names) for clause in change.clauses)
    return "MERGE INTO", f"AS `{_TARGET}` USING {using} AS `{_SOURCE}` ON {condition} {clauses}", inputs


def _by_position(change: RowChange, logical: OutputNode, relation_of: RelationOf) -> tuple[str, str, tuple[Input, ...]]:
    node = next(n for n in walk(logical) if isinstance(n, DeleteNode | UpdateNode))
    columns = (FILE, ROW_ID, *change.source_columns)
    sql, inputs = unparse_for_spark(node.source, columns, relation_of)
    if isinstance(node, DeleteNode):
        return "DELETE FROM", f"WHERE (_file, _pos) IN ({sql})", inputs
    names = {v.name: (_SOURCE, v.name) for v in change.source_columns}
    clauses = " ".join(_clause(clause, names) for clause in change.clauses)
    pairs = (("_file", FILE), ("_pos", ROW_ID))
    place = " AND ".join(f"`{_TARGET}`.`{mine}` = `{_SOURCE}`.{_quoted(v.name)}" for mine, v in pairs)
    return "MERGE INTO", f"AS `{_TARGET}` USING ({sql}) AS `{_SOURCE}` ON {place} {clauses}", inputs


def _clause(clause: RowClause, names: Names) -> str:
    when = "WHEN MATCHED" if clause.matched else "WHEN NOT MATCHED"
    if clause.condition is not None:
        when += f" AND {text_of(clause.condition, names)}"
    match clause.action:
        case "DELETE":
            return f"{when} THEN DELETE"
        case "UPDATE":
            values = ", ".join(
                f"`{_TARGET}`.{_quoted(column)} = {_stored(value, names)}" for column, value in clause.values
            )
            return f"{when} THEN UPDATE SET {values}"
        case "INSERT":
            columns = ", ".join(_quoted(column) for column, _ in clause.values)
            values = ", ".join(_stored(value, names) for _, value in clause.values)
            return f"{when} THEN INSERT ({columns}) VALUES ({values})"  # noqa: S608 - names quoted, values unparsed


def _quoted(column: str) -> str:
    return str(name(column).sql(dialect="spark"))


def text_of(value: RowExpression, names: Names) -> str:
    """An expression in Spark's dialect whose variables are columns of the statement's two relations."""
    with qualified(names):
        return _text(expression(value, "spark"))


def _stored(value: RowExpression, names: Names) -> str:
    """The same as a column of the target holds it."""
    with qualified(names):
        return _text(stored_json(expression(value, "spark"), typed(value)))


def _text(tree: exp.Expr) -> str:
    return str(exp.Paren(this=tree).sql(dialect="spark", comments=False))

"""Changes of rows as Spark's statements around their target: MERGE, and DELETE by file and position.

Everything but positions goes through MERGE, whose commits tell how many rows were inserted, updated and deleted.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from coordinator.planner.row_changes import FILE, ROW_ID, RowChange, RowClause
from coordinator.unparser import unparse_for_spark
from coordinator.unparser.expressions import expression
from coordinator.unparser.scans import RelationOf
from coordinator.unparser.trees import name
from shared.plan.expressions import RowExpression
from shared.plan.nodes import DeleteNode, OutputNode, UpdateNode
from shared.plan.traversal import walk
from shared.spi.relation import Input

Names = Mapping[str, tuple[str, str]]
"""Alias and column by variable name."""


def changed_rows(change: RowChange, logical: OutputNode, relation_of: RelationOf) -> tuple[str, str, tuple[Input, ...]]:
    """What stands before and after the target's name, and the inputs of the source."""
    if change.by_position:
        return _by_position(change, logical, relation_of)
    names: dict[str, tuple[str, str]] = {v: ("t", column) for v, column in change.columns.items()}
    using = "(SELECT 1 AS `one`)"
    inputs: tuple[Input, ...] = ()
    if change.source is not None:
        sql, inputs = unparse_for_spark(change.source, change.source_columns, relation_of)
        using = f"({sql})"
        names |= {v.name: ("s", v.name) for v in change.source_columns}
    condition = "TRUE" if change.condition is None else text_of(change.condition, names)
    clauses = " ".join(_clause(clause, names) for clause in change.clauses)
    return "MERGE INTO", f"AS t USING {using} AS s ON {condition} {clauses}", inputs


def _by_position(change: RowChange, logical: OutputNode, relation_of: RelationOf) -> tuple[str, str, tuple[Input, ...]]:
    node = next(n for n in walk(logical) if isinstance(n, DeleteNode | UpdateNode))
    columns = (FILE, ROW_ID, *change.source_columns)
    sql, inputs = unparse_for_spark(node.source, columns, relation_of)
    if isinstance(node, DeleteNode):
        return "DELETE FROM", f"WHERE (_file, _pos) IN ({sql})", inputs
    names = {v.name: ("s", v.name) for v in change.source_columns}
    clauses = " ".join(_clause(clause, names) for clause in change.clauses)
    place = f"t.`_file` = s.{_quoted(FILE.name)} AND t.`_pos` = s.{_quoted(ROW_ID.name)}"
    return "MERGE INTO", f"AS t USING ({sql}) AS s ON {place} {clauses}", inputs


def _clause(clause: RowClause, names: Names) -> str:
    when = "WHEN MATCHED" if clause.matched else "WHEN NOT MATCHED"
    if clause.condition is not None:
        when += f" AND {text_of(clause.condition, names)}"
    match clause.action:
        case "DELETE":
            return f"{when} THEN DELETE"
        case "UPDATE":
            values = ", ".join(f"t.{_quoted(column)} = {text_of(value, names)}" for column, value in clause.values)
            return f"{when} THEN UPDATE SET {values}"
        case "INSERT":
            columns = ", ".join(_quoted(column) for column, _ in clause.values)
            values = ", ".join(text_of(value, names) for _, value in clause.values)
            return f"{when} THEN INSERT ({columns}) VALUES ({values})"  # noqa: S608 - names quoted, values unparsed


def _quoted(column: str) -> str:
    return str(name(column).sql(dialect="spark"))


def text_of(value: RowExpression, names: Names) -> str:
    """An expression in Spark's dialect whose variables are columns of the statement's two relations."""
    root = exp.Paren(this=expression(value, "spark"))
    for column in list(root.find_all(exp.Column)):
        place = names.get(column.name)
        if place is not None and not column.table and not _is_parameter(column):
            column.replace(exp.Column(this=name(place[1]), table=name(place[0])))
    return str(root.sql(dialect="spark", comments=False))


def _is_parameter(column: exp.Expr) -> bool:
    """Whether a lambda around the name declares it."""
    above = column.parent
    while above is not None:
        if isinstance(above, exp.Lambda) and any(p.name == column.name for p in above.expressions):
            return True
        above = above.parent
    return False

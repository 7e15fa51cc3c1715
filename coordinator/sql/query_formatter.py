"""Queries as Presto writes them in its messages, line by line.

Source: Presto's SqlFormatter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from coordinator.sql.tree import queries as tree
from coordinator.sql.tree.expressions import Expression, Identifier, SortItem

Format = Callable[[Expression], str]
FormatItems = Callable[[Iterable[SortItem]], str]
_INDENT = "   "


def query_text(node: tree.Query, indent: int, text: Format, items: FormatItems) -> str:
    """The text of a query; ``text`` writes its expressions, ``items`` what orders them."""
    return _Formatter(text, items).query(node, indent)


class _Formatter:
    def __init__(self, text: Format, items: FormatItems) -> None:
        self._text = text
        self._items = items

    def query(self, node: tree.Query, indent: int) -> str:
        before = "" if node.with_ is None else self._with(node.with_, indent)
        return before + self._body(node.body, indent) + self._tail(node, indent)

    def _with(self, node: tree.With, indent: int) -> str:
        recursive = " RECURSIVE" if node.recursive else ""
        space = _INDENT * indent
        named = [
            f"{space}{self._text(q.name)}{self._columns(q.columns)} AS {self._in_parentheses(q.query, indent)}"
            for q in node.queries
        ]
        return f"{space}WITH{recursive}\n  " + "\n, ".join(named) + "\n"

    def _tail(self, node: tree.Query | tree.QuerySpecification, indent: int) -> str:
        space = _INDENT * indent
        lines = []
        if node.order_by is not None:
            lines.append(f"ORDER BY {self._items(node.order_by.sort_items)}")
        if node.offset is not None:
            lines.append(f"OFFSET {self._text(node.offset.count)} ROWS")
        if node.limit is not None:
            lines.append(f"LIMIT {'ALL' if node.limit.count is None else self._text(node.limit.count)}")
        return "".join(f"{space}{line}\n" for line in lines)

    def _body(self, node: tree.QueryBody, indent: int) -> str:
        ends: list[str] = []
        while isinstance(node, tree.SetOperation):  # walked, since chains may be thousands long
            quantifier = "DISTINCT" if node.distinct else "ALL"
            ends.append(f"{node.kind} {quantifier} {self._body(node.right, indent)}")
            node = node.left
        match node:
            case tree.QuerySpecification():
                first = self._specification(node, indent)
            case tree.Values():
                rows = f"\n{_INDENT * indent}, ".join(self._text(row) for row in node.rows)
                first = f" VALUES \n{_INDENT * indent}  {rows}\n"
            case tree.TableQuery():
                first = f"{_INDENT * indent}TABLE {self._name(node.table.name)}\n"
            case tree.TableSubquery():
                first = self._in_parentheses(node.query, indent)
            case _:
                assert_never(node)
        return "".join((first, *reversed(ends)))

    def _in_parentheses(self, node: tree.Query, indent: int) -> str:
        return f"(\n{self.query(node, indent + 1)}{_INDENT * indent}) "

    def _specification(self, node: tree.QuerySpecification, indent: int) -> str:
        space = _INDENT * indent
        parts = [space, "SELECT", " DISTINCT" if node.distinct else ""]
        selected = [self._item(item) for item in node.select]
        if len(selected) > 1:
            parts.append(f"\n{space}  " + f"\n{space}, ".join(selected))
        else:
            parts.append(" " + selected[0])
        parts.append("\n")
        if node.from_ is not None:
            parts.append(f"{space}FROM\n{space}  {self._relation(node.from_, indent)}")
        parts.append("\n")
        if node.where is not None:
            parts.append(f"{space}WHERE {self._text(node.where)}\n")
        if node.group_by is not None:
            distinct = " DISTINCT " if node.group_by.distinct else ""
            parts.append(f"{space}GROUP BY {distinct}{', '.join(map(self._element, node.group_by.elements))}\n")
        if node.having is not None:
            parts.append(f"{space}HAVING {self._text(node.having)}\n")
        return "".join((*parts, self._tail(node, indent)))

    def _item(self, node: tree.SingleColumn | tree.AllColumns) -> str:
        if isinstance(node, tree.AllColumns):
            return f"{self._name(node.prefix)}.*" if node.prefix else "*"
        return self._text(node.expression) + ("" if node.alias is None else f" {self._text(node.alias)}")

    def _element(self, node: tree.GroupingElement) -> str:
        match node:
            case tree.SimpleGroupBy(columns=(only,)):
                return self._text(only)
            case tree.SimpleGroupBy():
                return f"({', '.join(map(self._text, node.columns))})"
            case tree.Rollup() | tree.Cube():
                return f"{type(node).__name__.upper()} ({', '.join(map(self._text, node.columns))})"
            case tree.GroupingSets():
                return f"GROUPING SETS ({', '.join(map(self._element, node.sets))})"
            case _:
                assert_never(node)

    def _columns(self, columns: tuple[Identifier, ...] | None) -> str:
        return "" if columns is None else f" ({', '.join(map(self._text, columns))})"

    def _relation(self, node: tree.Relation, indent: int) -> str:
        match node:
            case tree.Table():
                return self._name(node.name)
            case tree.AliasedRelation():
                return f"{self._relation(node.relation, indent)} {self._text(node.alias)}{self._columns(node.columns)}"
            case tree.SampledRelation():
                inner = self._relation(node.relation, indent)
                return f"{inner} TABLESAMPLE {node.kind} ({self._text(node.percentage)})"
            case tree.Join():
                return self._join(node, indent)
            case tree.Lateral():
                return f"LATERAL ({self.query(node.query, indent + 1)}{_INDENT * indent})"
            case tree.Unnest():
                ordinality = " WITH ORDINALITY" if node.with_ordinality else ""
                return f"UNNEST({', '.join(map(self._text, node.expressions))}){ordinality}"
            case tree.TableSubquery():
                return self._in_parentheses(node.query, indent)
            case _:
                assert_never(node)

    def _join(self, node: tree.Join, indent: int) -> str:
        left, right = self._relation(node.left, indent), self._relation(node.right, indent)
        space = _INDENT * indent
        if node.kind == "IMPLICIT":
            return f"{left}\n{space}, {right}"
        criteria = ""
        natural = ""
        match node.criteria:
            case tree.JoinOn(expression=condition):
                criteria = f" ON {self._text(condition)}"
            case tree.JoinUsing(columns=columns):
                criteria = f" USING ({', '.join(map(self._text, columns))})"
            case tree.NaturalJoin():
                natural = "NATURAL "
        return f"({left}\n{space}{natural}{node.kind} JOIN {right}{criteria})"

    def _name(self, parts: Iterable[Identifier]) -> str:
        return ".".join(map(self._text, parts))

"""Queries over known tables: joins, subqueries, groups, windows, set operations, in both dialects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.fuzz.both import Both, fill, join, same
from benchmarks.fuzz.calls import ARRAY, BIGINT, BOOLEAN, SCALARS, VARCHAR
from benchmarks.fuzz.choices import Choices
from benchmarks.fuzz.expressions import Column, Scope, aggregate, expression, odd, window

_COLUMN = re.compile(r"\w+\.\w+")


@dataclass(frozen=True)
class Table:
    """A table with its columns and their types."""

    name: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Query:
    """A text and the columns that it gives."""

    text: Both
    columns: tuple[tuple[str, str], ...]


class Queries:
    """Writes queries over the tables."""

    def __init__(self, choices: Choices, tables: Sequence[Table]) -> None:
        self._choices = choices
        self._tables = tables

    def statement(self) -> Query:
        """A whole query; a third is not for DuckDB, and some of these are one odd call."""
        shared = not self._choices.chance(35)
        if not shared and self._choices.chance(45):
            return self._odd()
        query = self._with(shared) if self._choices.chance(20) else self.query(shared, 3)
        return self._ordered(query)

    def _odd(self) -> Query:
        """Of constants alone, or of columns."""
        table = self._tables[0] if self._choices.chance(60) else None
        scope = Scope(() if table is None else _columns("t", table.columns), shared=False)
        source = "" if table is None else f" FROM {table.name} t"
        items = [Column(odd(self._choices, scope), "?") for _ in range(1 + self._choices.below(2))]
        return self._select("", items, Both(source, None))

    def query(self, shared: bool, depth: int, outer: Scope | None = None) -> Query:
        """A block, or two by a set operation."""
        first = self._block(shared, depth, outer)
        if depth < 2 or not self._choices.chance(15) or not all(t in SCALARS for _, t in first.columns):
            return first
        word = self._choices.pick(("UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
        second = self._plain(shared, depth - 1, tuple(t for _, t in first.columns))
        return Query(fill(f"{{0}} {word} {{1}}", first.text, second.text), first.columns)

    def _with(self, shared: bool) -> Query:
        inner = self.query(shared, 2)
        name = self._choices.name("w")
        known = Table(name, inner.columns)
        query = Queries(self._choices, (known, *self._tables[:1])).query(shared, 2)
        return Query(fill(f"WITH {name} AS ({{0}}) {{1}}", inner.text, query.text), query.columns)

    def _ordered(self, query: Query) -> Query:
        if not self._choices.chance(40):
            return query
        orderable = all(kind in SCALARS for _, kind in query.columns)
        keys = [str(i + 1) + self._choices.pick(("", " DESC", " ASC NULLS FIRST")) for i in range(len(query.columns))]
        if not orderable:
            return query
        limit = self._choices.pick(("", " LIMIT 5", " OFFSET 2 LIMIT 3", " LIMIT 0"))
        duck = limit if "OFFSET" not in limit else " LIMIT 3 OFFSET 2"
        text = f"{{0}} ORDER BY {', '.join(keys)}"
        return Query(fill(text + limit, query.text, duck=text + duck), query.columns)

    def _block(self, shared: bool, depth: int, outer: Scope | None) -> Query:
        way = self._choices.below(6) if depth > 0 else 0
        if way in (3, 4):
            return self._grouped(shared, depth, outer)
        return self._plain(shared, depth, None, outer, windows=way == 5)

    def _plain(
        self,
        shared: bool,
        depth: int,
        kinds: tuple[str, ...] | None,
        outer: Scope | None = None,
        *,
        windows: bool = False,
    ) -> Query:
        """SELECT … FROM … WHERE; ``kinds`` are the types that it must have."""
        source, scope = self._from(shared, depth, outer)
        wanted = kinds or tuple(self._choices.pick(SCALARS) for _ in range(1 + self._choices.below(4)))
        items = [Column(expression(self._choices, scope, kind, depth), kind) for kind in wanted]
        if windows and kinds is None:
            items.append(window(self._choices, scope))
        if not shared and kinds is None and self._choices.chance(50):
            items.append(Column(odd(self._choices, scope), "?"))
        word = "DISTINCT " if self._choices.chance(12) else ""
        return self._select(word, items, fill("{0}{1}", source, self._where(scope, depth)))

    def _grouped(self, shared: bool, depth: int, outer: Scope | None) -> Query:
        source, scope = self._from(shared, depth, outer)
        count = self._choices.below(3)
        keys = [Column(expression(self._choices, scope, k, 1), k) for k in self._kinds(count)]
        items = [*keys, *(aggregate(self._choices, scope) for _ in range(1 + self._choices.below(3)))]
        source = fill("{0}{1}", source, self._where(scope, depth))
        if keys:
            source = fill("{0} GROUP BY {1}", source, self._grouping(keys))
        if self._choices.chance(25):
            having = fill("({0} > {1})", aggregate(self._choices, scope, BIGINT).text, same("0"))
            if "_agg" not in having.presto and "histogram" not in having.presto:
                source = fill("{0} HAVING {1}", source, having)
        return self._select("", items, source)

    def _grouping(self, keys: Sequence[Column]) -> Both:
        """Places in SELECT; grouping sets over columns alone, where numbers would be places too."""
        wrap = self._choices.pick(("", "", "ROLLUP ({0})", "CUBE ({0})", "GROUPING SETS (({0}), ())"))
        if wrap and all(_COLUMN.fullmatch(key.text.presto) for key in keys):
            return fill(wrap, join(", ", [key.text for key in keys]))
        return same(", ".join(str(i + 1) for i in range(len(keys))))

    def _select(self, word: str, items: Sequence[Column], source: Both) -> Query:
        named = [(self._choices.name("c"), item) for item in items]
        listed = join(", ", [fill(f"{{0}} AS {name}", item.text) for name, item in named])
        return Query(fill(f"SELECT {word}{{0}}{{1}}", listed, source), tuple((n, i.type) for n, i in named))

    def _where(self, scope: Scope, depth: int) -> Both:
        if not self._choices.chance(55):
            return same("")
        return fill(" WHERE {0}", expression(self._choices, scope, BOOLEAN, depth))

    def _from(self, shared: bool, depth: int, outer: Scope | None) -> tuple[Both, Scope]:
        text, columns = self._relation(shared, depth)
        for _ in range(self._choices.pick((0, 0, 1, 1, 2)) if depth > 1 else 0):
            text, columns = self._joined(text, columns, shared, depth)
        seen = columns if outer is None else (*columns, *outer.columns)
        return fill(" FROM {0}", text), Scope(seen, shared, self._subquery if depth > 1 else None)

    def _joined(
        self, left: Both, columns: tuple[Column, ...], shared: bool, depth: int
    ) -> tuple[Both, tuple[Column, ...]]:
        arrays = [column for column in columns if column.type == ARRAY]
        if arrays and self._choices.chance(12):
            alias, name = self._choices.name("u"), self._choices.name("e")
            array = self._choices.pick(arrays).text
            made = Column(same(f"{alias}.{name}"), BIGINT)
            return fill(f"{{0}} CROSS JOIN UNNEST({{1}}) AS {alias}({name})", left, array), (*columns, made)
        right, more = self._relation(shared, depth - 1)
        word = self._choices.pick(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"))
        if word == "CROSS JOIN":
            return fill("{0} CROSS JOIN {1}", left, right), (*columns, *more)
        kind = self._choices.pick(sorted({c.type for c in columns} & {c.type for c in more} & set(SCALARS)) or [""])
        if kind:
            sides = [expression(self._choices, Scope(s, shared), kind, 1) for s in (columns, more)]
            on = fill("({0} = {1})", *sides)
        else:
            on = same("true")
        if self._choices.chance(25):
            on = fill("({0} AND {1})", on, expression(self._choices, Scope((*columns, *more), shared), BOOLEAN, 1))
        return fill(f"{{0}} {word} {{1}} ON {{2}}", left, right, on), (*columns, *more)

    def _relation(self, shared: bool, depth: int) -> tuple[Both, tuple[Column, ...]]:
        """A table, a subquery or VALUES, under an alias."""
        alias = self._choices.name("t")
        way = self._choices.below(8) if depth > 1 else 0
        if way >= 6:
            query = self.query(shared, depth - 1)
            usable = tuple((n, k) for n, k in query.columns if k != "?")
            return fill(f"({{0}}) {alias}", query.text), _columns(alias, usable)
        if way == 5:
            return self._values(alias, shared)
        table = self._choices.pick(self._tables)
        return same(f"{table.name} {alias}"), _columns(alias, table.columns)

    def _values(self, alias: str, shared: bool) -> tuple[Both, tuple[Column, ...]]:
        kinds, none = (BIGINT, VARCHAR), Scope((), shared)
        rows = [
            fill("({0}, {1})", *(expression(self._choices, none, kind, 1) for kind in kinds))
            for _ in range(1 + self._choices.below(3))
        ]
        return fill(f"(VALUES {{0}}) {alias}(k, v)", join(", ", rows)), _columns(alias, (("k", BIGINT), ("v", VARCHAR)))

    def _subquery(self, choices: Choices, scope: Scope, kind: str) -> Both:
        """A scalar one, EXISTS or IN; now and then over the columns around it."""
        outer = scope if choices.chance(40) else None
        if kind == BIGINT:
            source, inner = self._from(scope.shared, 1, outer)
            value = aggregate(choices, inner, BIGINT).text
            return fill("(SELECT {0}{1}{2})", value, source, self._where(inner, 1))
        if choices.chance(50):
            word = choices.pick(("EXISTS", "NOT EXISTS"))
            return fill(f"({word} ({{0}}))", self._plain(scope.shared, 1, (BIGINT,), outer).text)
        wanted = choices.pick(SCALARS)
        sought = expression(choices, Scope(scope.columns, scope.shared), wanted, 1)
        word = choices.pick(("IN", "NOT IN"))
        return fill(f"({{0}} {word} ({{1}}))", sought, self._plain(scope.shared, 1, (wanted,), outer).text)

    def _kinds(self, count: int) -> list[str]:
        return [self._choices.pick(SCALARS) for _ in range(count)]


def _columns(alias: str, columns: Sequence[tuple[str, str]]) -> tuple[Column, ...]:
    return tuple(Column(same(f"{alias}.{name}"), kind) for name, kind in columns)

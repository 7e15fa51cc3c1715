"""Random queries over relations that name one column several times: their rows are DuckDB's."""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pytest
import sqlglot

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.engine.local import LocalEngine
from tests.sql.sqllogictest import Record, rows_of
from tests.sql.test_slt import answer
from tests.tiers import FULL

pytestmark = pytest.mark.slow

_BASE = "(VALUES (1, 1), (1, 2), (2, 1), (2, 2), (3, NULL), (NULL, 3)) t(x, y)"
_QUERIES = 250 if FULL else 125


class _Writer:
    """Writes queries from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, names: list[str], most: int = 3) -> list[str]:
        return self.random.choices(names, k=self.random.randint(1, most))

    def relation(self, depth: int = 2) -> tuple[str, list[str]]:
        """A query with the names of its columns; columns are named twice more often than not."""
        if depth == 0:
            source, names = _BASE, ["x", "y"]
        else:
            inner, names = self.relation(depth - 1)
            source = f"({inner}) r{depth}"
        chosen = self.random.choices(names, k=self.random.randint(2, 4))
        made = [f"{'abcdef'[i]}{depth}" for i in range(len(chosen))]
        columns = ", ".join(f"{c} AS {m}" for c, m in zip(chosen, made, strict=True))
        return f"SELECT {columns} FROM {source}", made

    def query(self) -> str:
        relation, names = self.relation(self.random.randint(0, 2))
        other, others = self.relation(self.random.randint(0, 1))
        kind = self.random.choice(
            ("sets", "rollup", "cube", "group", "window", "distinct", "set", "using", "join", "in")
        )
        keys = list(dict.fromkeys(self.some(names)))
        shown = ", ".join(keys)
        a, b = self.random.choice(names), self.random.choice(names)
        match kind:
            case "sets":
                sets = [shown, *(", ".join(dict.fromkeys(self.some(keys))) for _ in range(3))]
                grouped = ", ".join(f"({one})" for one in sets)
                return f"SELECT {shown}, count(*) FROM ({relation}) q GROUP BY GROUPING SETS ({grouped})"
            case "rollup" | "cube":
                return f"SELECT {shown}, count(*), grouping({shown}) FROM ({relation}) q GROUP BY {kind} ({shown})"
            case "group":
                return f"SELECT {shown}, count(DISTINCT {a}), sum({b}) FROM ({relation}) q GROUP BY {shown}"
            case "window":
                over = f"PARTITION BY {a} ORDER BY {b}, {shown}"
                return f"SELECT {', '.join(names)}, rank() OVER ({over}), sum({b}) OVER ({over}) FROM ({relation}) q"
            case "distinct":
                return f"SELECT DISTINCT {', '.join(self.some(names))} FROM ({relation}) q ORDER BY 1"
            case "set":
                symbol = self.random.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
                o, p = self.random.choice(others), self.random.choice(others)
                return f"SELECT {a}, {b} FROM ({relation}) q {symbol} SELECT {o}, {p} FROM ({other}) p"
            case "using":
                how = self.random.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
                named = list(zip(others, [a, "z1", "z2", "z3"], strict=False))
                renamed = ", ".join(f"{o} AS {n}" for o, n in named)
                # What * means of a join with USING begins with its columns in Presto alone.
                wanted = ", ".join([a, *(n for n in names if n != a), *(n for _, n in named[1:])])
                return f"SELECT {wanted} FROM ({relation}) q {how} (SELECT {renamed} FROM ({other}) s) p USING ({a})"
            case "join":
                how = self.random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
                o = self.random.choice(others)
                return f"SELECT q.*, p.* FROM ({relation}) q {how} ({other}) p ON q.{a} = p.{o}"
            case _:
                o = self.random.choice(others)
                return f"SELECT {a}, {b}, {a} IN (SELECT {o} FROM ({other}) p) FROM ({relation}) q WHERE {b} > 1"


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    local = LocalEngine()
    yield local
    local.close()


def test_each_name_is_a_column_of_its_own(engine: LocalEngine) -> None:
    checkers = PlanCheckers()
    wrong = []
    with duckdb.connect() as connection:
        for seed in range(_QUERIES):
            sql = _Writer(seed).query()
            text = sqlglot.parse_one(sql, read="presto").sql(dialect="duckdb")
            expected = rows_of([tuple(r) for r in connection.execute(text).fetchall()], sort=True)
            actual = answer(Record(sql, (), sort=True), engine, checkers)
            if actual != expected:
                wrong.append(f"{seed}: {sql}\n  expected {expected}\n  actual   {actual}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])

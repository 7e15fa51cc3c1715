"""What is asked of each database, word for word; golden/<dialect>.sql was read by people before it was kept.

Where a parser knows the dialect it must know every statement. No server of SQL Server, Oracle or Db2 runs here.
``BLESS=1`` writes the files anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
import sqlglot
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql
from sqlalchemy.types import TypeEngine

from coordinator.checks.plan_checkers import PlanCheckers
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.connectors.jdbc.dialects.dialect import Collation
from coordinator.connectors.registry import Catalogs
from coordinator.planning.plan_statement import plan_statement
from shared.spi.session import Session
from tests.jdbc.described import described_catalogs

GOLDEN = Path(__file__).parent / "golden"
SESSION = Session(
    user="test",
    catalog="db",
    schema="shop",
    properties={"join_pushdown_strategy": "EAGER", "optimizer_inequality_join_pushdown_enabled": "true"},
)
C = Collation("C", deterministic=True, binary=True)
BLIND = Collation("blind", deterministic=False, binary=False)
SERVER = Collation("Latin1_General_BIN2", deterministic=False, binary=False, pads=True)
PADS, IDENTITY = replace(SERVER, name="utf8mb4_bin"), replace(SERVER, name="IDENTITY")
COLUMNS: Mapping[str, Mapping[str, TypeEngine[object]]] = {
    "postgresql": {
        "i": sa.INTEGER(), "b": sa.BIGINT(), "n": sa.NUMERIC(10, 2), "d": sa.DOUBLE_PRECISION(), "v": sa.VARCHAR(10),
        "x": sa.VARCHAR(10), "ch": sa.CHAR(5), "day": sa.DATE(), "ts": postgresql.TIMESTAMP(),
        "tz": postgresql.TIMESTAMP(timezone=True), "ok": sa.BOOLEAN(),
    },
    "mysql": {
        "i": mysql.INTEGER(), "b": mysql.BIGINT(), "n": mysql.DECIMAL(10, 2), "d": mysql.DOUBLE(),
        "v": mysql.VARCHAR(10), "x": mysql.VARCHAR(10), "ch": mysql.CHAR(5), "day": mysql.DATE(),
        "ts": mysql.DATETIME(), "tz": mysql.TIMESTAMP(), "ok": mysql.TINYINT(display_width=1),
    },
    "sqlserver": {
        "i": sa.INTEGER(), "b": sa.BIGINT(), "n": sa.NUMERIC(10, 2), "d": sa.FLOAT(53), "v": sa.NVARCHAR(10),
        "x": sa.VARCHAR(10), "ch": sa.CHAR(5), "day": sa.DATE(), "ts": mssql.DATETIME2(3),
        "tz": mssql.DATETIMEOFFSET(3), "ok": mssql.BIT(), "old": sa.DATETIME(),
    },
    "oracle": {
        "i": oracle.NUMBER(10, 0), "b": oracle.NUMBER(19, 0), "n": oracle.NUMBER(10, 2), "d": oracle.BINARY_DOUBLE(),
        "v": oracle.VARCHAR2(10), "x": oracle.VARCHAR2(10), "ch": sa.CHAR(5), "day": oracle.DATE(),
        "ts": oracle.TIMESTAMP(), "tz": oracle.TIMESTAMP(timezone=True),
    },
    "db2": {
        "i": sa.INTEGER(), "b": sa.BIGINT(), "n": sa.DECIMAL(10, 2), "d": sa.DOUBLE(), "v": sa.VARCHAR(10),
        "x": sa.VARCHAR(10), "ch": sa.CHAR(5), "day": sa.DATE(), "ts": sa.TIMESTAMP(), "ok": sa.BOOLEAN(),
    },
}  # fmt: skip
COLLATIONS = {
    "postgresql": {"v": C, "x": BLIND, "ch": C},
    "mysql": {"v": replace(C, name="utf8mb4_0900_bin"), "x": PADS, "ch": PADS},
    "sqlserver": {"v": SERVER, "x": SERVER, "ch": SERVER},
    "oracle": {"v": C, "x": BLIND, "ch": C},
    "db2": {"v": IDENTITY, "x": IDENTITY, "ch": IDENTITY},
}
STATEMENTS = {
    "filter on integers": "SELECT i FROM l WHERE i > 5 AND b IN (1, 2) AND NOT (n = 2.50)",
    "filter on double": "SELECT i FROM l WHERE d >= DOUBLE '1.5'",
    "filter on NULL": "SELECT i FROM l WHERE n IS NULL OR b IS NOT NULL",
    "filter on text": "SELECT i FROM l WHERE v = 'it''s'",
    "filter on the empty text": "SELECT i FROM l WHERE v = ''",
    "filter on ordered text": "SELECT i FROM l WHERE v < 'b'",
    "filter on text that is compared otherwise": "SELECT i FROM l WHERE x = 'abc'",
    "filter on char": "SELECT i FROM l WHERE ch = CHAR 'ab'",
    "LIKE": "SELECT i FROM l WHERE v LIKE 'a%'",
    "filter on days": "SELECT i FROM l WHERE day BETWEEN DATE '2024-02-29' AND DATE '2024-03-01'",
    "filter on timestamps": "SELECT i FROM l WHERE ts < TIMESTAMP '2024-02-29 10:00:00.5'",
    "filter on moments": "SELECT i FROM l WHERE tz = TIMESTAMP '2024-02-29 10:00:00 America/New_York'",
    "filter on a boolean": "SELECT i FROM l WHERE ok OR NOT ok",
    "IS DISTINCT FROM": "SELECT i FROM l WHERE i IS DISTINCT FROM 2",
    "arithmetic": "SELECT i FROM l WHERE b + 1 > 5",
    "integer division stays": "SELECT i FROM l WHERE b / 2 = 1",
    "projection": "SELECT b * 2 AS twice, i > 1 AS more FROM l",
    "limit": "SELECT i FROM l LIMIT 3",
    "TopN": "SELECT i FROM l ORDER BY i DESC NULLS LAST, b NULLS FIRST LIMIT 3",
    "TopN of text": "SELECT v FROM l ORDER BY v LIMIT 3",
    "TopN over a join": "SELECT l.i FROM l JOIN r ON l.i = r.i ORDER BY r.b LIMIT 3",
    "limit under a filter": "SELECT i FROM (SELECT i FROM l ORDER BY i LIMIT 4) t WHERE i > 1",
    "aggregation": "SELECT day, count(*) AS a, count(b) AS b, min(i) AS c, max(n) AS d FROM l GROUP BY day",
    "sums": "SELECT sum(i) AS s, sum(b) AS t FROM l",
    "sum of decimals": "SELECT sum(n) AS s FROM l",
    "distinct": "SELECT count(DISTINCT i) AS n FROM l",
    "grouping by text": "SELECT v, count(*) AS n FROM l GROUP BY v",
    "HAVING": "SELECT i FROM l GROUP BY i HAVING count(*) > 1",
    "inner join": "SELECT l.i, r.n FROM l JOIN r ON l.i = r.i WHERE r.b > 5",
    "three tables": "SELECT a.i FROM l a, r b, l c WHERE a.i = b.i AND b.b = c.b",
    "join by an inequality": "SELECT l.i FROM l JOIN r ON l.i = r.i AND l.b < r.b",
    "join by text": "SELECT l.i FROM l JOIN r ON l.v = r.v",
    "left join": "SELECT l.i, r.n FROM l LEFT JOIN (SELECT * FROM r WHERE b > 1) r ON l.i = r.i",
    "right join": "SELECT l.i, r.n FROM l RIGHT JOIN r ON l.i = r.i",
    "full join": "SELECT l.i, r.n FROM l FULL JOIN r ON l.i = r.i",
    "IN": "SELECT i FROM l WHERE b IN (SELECT b FROM r WHERE i < 5)",
    "NOT IN": "SELECT i FROM l WHERE b NOT IN (SELECT b FROM r)",
    "EXISTS": "SELECT i FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.i = l.i)",
    "self-join": "SELECT a.i, b.n FROM l a JOIN l b ON a.i = b.i AND a.b = 2",
    "aggregation over a join": "SELECT l.day, sum(r.b) AS s FROM l JOIN r ON l.i = r.i GROUP BY l.day",
}


def remote_sql(catalogs: Catalogs, text: str) -> list[str]:
    """The remote queries of a statement, then why the rest stays here."""
    ((shown,),) = plan_statement(f"EXPLAIN {text}", SESSION, catalogs, PlanCheckers()).work.rows
    lines = [line.strip() for line in shown.splitlines()]
    asked = [line.removeprefix("remote query: ") for line in lines if line.startswith("remote query: ")]
    return [*asked, *(f"-- {line}" for line in lines if " not pushed down: " in line)]


def golden(dialect: str) -> str:
    columns = COLUMNS[dialect]
    catalogs = described_catalogs(dialect, {"l": columns, "r": columns}, COLLATIONS[dialect], rows=10)
    parts = []
    for name, text in STATEMENTS.items():
        missing = [column for column in ("ok", "tz") if f" {column} " in f"{text} " and column not in columns]
        if not missing:
            parts.append(f"-- {name}: {text}\n" + "\n".join(remote_sql(catalogs, text)))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("dialect", sorted(COLUMNS))
def test_remote_queries_are_those_that_were_read(dialect: str) -> None:
    file, found = GOLDEN / f"{dialect}.sql", golden(dialect)
    if os.environ.get("BLESS") == "1":
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(found)
    assert found == file.read_text()


@pytest.mark.parametrize("dialect", sorted(COLUMNS))
def test_remote_queries_are_sql_of_the_dialect(dialect: str) -> None:
    for line in (GOLDEN / f"{dialect}.sql").read_text().splitlines():
        if line and not line.startswith("--"):
            (parsed,) = sqlglot.parse(line, dialect=DIALECTS[dialect].sqlglot)
            assert parsed is not None

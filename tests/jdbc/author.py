"""The statements of ``pushdown.slt``: types × operators × join kinds × NULLs × collations.

``BLESS=1 pytest tests/jdbc/test_pushdown.py`` writes the file, its rows by PostgreSQL over views of the same tables in
which text compares by its bytes, as Presto's does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TABLES = """
CREATE SCHEMA cases;
CREATE COLLATION cases.blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE cases.l (
  i integer, s smallint, b bigint, n numeric(10,2), d double precision, v varchar(10), c varchar(10) COLLATE "C",
  x varchar(10) COLLATE cases.blind, ch char(5), day date, ts timestamp, tz timestamptz, ok boolean
);
CREATE TABLE cases.r (LIKE cases.l);
INSERT INTO cases.l VALUES
  (1, 1, 1, 1.00, 1.5, 'abc', 'abc', 'abc', 'ab', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 10:00:00+00', true),
  (2, 2, 2, 2.50, 'NaN', 'ABC', 'ABC', 'ABC', 'AB', '2024-02-29', '2024-02-29 23:59:59.5', '2024-02-29 22:00:00+01', false),
  (3, 3, 3000000000, -1.00, '-0', 'abc ', 'abc ', 'abc ', 'ab', NULL, NULL, NULL, NULL),
  (4, NULL, -4, 0.00, 'Infinity', 'a_c', 'a%%c', '', '', '1999-12-31', '1999-12-31 00:00:00', '1999-12-31 00:00:00+05', true),
  (5, 5, 5, 99999999.99, 0, 'äpfel', 'äpfel', 'ÄPFEL', 'ä', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 11:00:00+01', false),
  (NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-03-01', '2024-03-01 00:00:00', '2024-03-01 00:00:00+00', NULL),
  (2, 2, 2, 2.50, 2.5, 'zeta', 'Zeta', 'zeta', 'zeta', '2024-02-29', '2024-02-29 00:00:00', '2024-02-29 00:00:00+00', true);
INSERT INTO cases.r SELECT * FROM cases.l WHERE i IS DISTINCT FROM 4;
INSERT INTO cases.r VALUES
  (2, 2, 2, 2.50, 'NaN', 'Abc', 'aBC', 'aBc', 'Ab', '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 10:00:00+00', true),
  (9, 9, 9, 9.00, 9.5, 'it''s', 'back\\slash', '"q"', 'x''y', '2030-01-01', '2030-01-01 00:00:00', '2030-01-01 00:00:00+00', false);
ANALYZE;
"""  # noqa: E501
KINDS = ("i", "s", "b", "n", "d", "v", "c", "x", "ch", "day", "ts", "tz", "ok")
LITERALS = {
    "i": "2", "s": "SMALLINT '2'", "b": "BIGINT '3000000000'", "n": "DECIMAL '2.50'", "d": "DOUBLE '1.5'", "v": "'abc'",
    "c": "'abc'", "x": "'abc'", "ch": "CHAR 'ab'", "day": "DATE '2024-02-29'", "ts": "TIMESTAMP '2024-01-01 10:00:00'",
    "tz": "TIMESTAMP '2024-01-01 10:00:00 UTC'", "ok": "true",
}  # fmt: skip
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def filters() -> Iterator[str]:
    for k in KINDS:
        operators = ("=", "<>") if k in ("ok",) else COMPARISONS
        for o in operators:
            yield f"SELECT i, {k} FROM l WHERE {k} {o} {LITERALS[k]}"
        yield f"SELECT i, {k} FROM l WHERE {k} IN ({LITERALS[k]}, {LITERALS[k]}) OR {k} IS NULL"
        yield f"SELECT i, {k} FROM l WHERE NOT ({k} = {LITERALS[k]}) AND {k} IS NOT NULL"
        yield f"SELECT i, {k} FROM l WHERE {k} IS DISTINCT FROM {LITERALS[k]}"
        yield f"SELECT {k}, count(*) AS n FROM r GROUP BY {k}"
        yield f"SELECT DISTINCT {k} FROM r"
        if k != "ok":
            yield f"SELECT i, {k} FROM l WHERE {k} BETWEEN {LITERALS[k]} AND {LITERALS[k]}"
            yield f"SELECT min({k}) AS a, max({k}) AS z, count({k}) AS n, count(DISTINCT {k}) AS u FROM l"
            yield f"SELECT {k} FROM r ORDER BY {k} LIMIT 3"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS LAST LIMIT 4"
            yield f"SELECT {k} FROM r ORDER BY {k} DESC NULLS FIRST LIMIT 2"


def joins() -> Iterator[str]:
    for k in KINDS:
        for kind in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
            yield f"SELECT l.i AS a, r.i AS b, l.{k} AS x, r.{k} AS y FROM l {kind} r ON l.{k} = r.{k}"
        if k != "ok":
            yield f"SELECT l.i AS a, r.i AS b FROM l JOIN r ON l.b = r.b AND l.{k} < r.{k}"
            yield f"SELECT l.i AS a, r.i AS b FROM l LEFT JOIN r ON l.b = r.b AND l.{k} >= r.{k}"
        yield f"SELECT i, {k} FROM l WHERE {k} IN (SELECT {k} FROM r WHERE i < 5)"
        yield f"SELECT i, {k} FROM l WHERE {k} NOT IN (SELECT {k} FROM r WHERE {k} IS NOT NULL)"
        yield f"SELECT i, {k} FROM l WHERE {k} NOT IN (SELECT {k} FROM r)"


OTHERS = (
    "SELECT a.i AS a, c.i AS c FROM l a, r b, l c WHERE a.b = b.i AND b.i = c.b",
    "SELECT a.i AS a, b.i AS b FROM l a, (VALUES 2, 5) AS m(k), r b WHERE a.b = m.k AND b.i + 1 = m.k + 1",
    "SELECT i FROM l WHERE v LIKE 'a%'",
    "SELECT i FROM l WHERE c LIKE 'a\\%c'",
    "SELECT i FROM l WHERE x LIKE 'ab_'",
    "SELECT i FROM l WHERE v LIKE '%''%'",
    "SELECT i FROM r WHERE v = 'it''s'",
    "SELECT i FROM r WHERE c = 'back\\slash'",
    "SELECT i FROM l WHERE i + s = 4",
    "SELECT i FROM l WHERE i * 2 = b",
    "SELECT i FROM l WHERE b - i < 1",
    "SELECT i FROM l WHERE i / 2 = 1",
    "SELECT i FROM l WHERE n + 1 > 2",
    "SELECT i FROM l WHERE upper(v) = 'ABC'",
    "SELECT i FROM l WHERE i = s",
    "SELECT i FROM l WHERE b = n",
    "SELECT i FROM l WHERE i = d",
    "SELECT sum(i) AS a, sum(b) AS b, sum(n) AS c, sum(s) AS d FROM l",
    "SELECT avg(n) AS a, avg(i) AS b FROM l",
    "SELECT sum(i) AS a FROM l WHERE i > 100",
    "SELECT ok, sum(n) AS s FROM l GROUP BY ok HAVING sum(n) > 1",
    "SELECT count(*) AS n FROM (SELECT DISTINCT v FROM l) t",
    "SELECT count(*) FILTER (WHERE ok) AS n FROM l",
    "SELECT count(*) AS n FROM (SELECT i FROM l LIMIT 3) t",
    "SELECT i FROM (SELECT i FROM r ORDER BY i LIMIT 4) t WHERE i > 1",
    "SELECT count(*) AS n FROM (SELECT i FROM r ORDER BY i LIMIT 5) t JOIN l ON t.i = l.i",
    "SELECT a.i AS a, b.i AS b, c.i AS c FROM l a, r b, l c WHERE a.b = b.b AND b.i = c.i",
    "SELECT a.i AS a, c.i AS c FROM l a JOIN r b ON a.i = b.i JOIN l c ON b.s = c.s WHERE a.v < c.v",
    "SELECT a.i AS a FROM l a JOIN l b ON a.i = b.i AND a.i = 2",
    "SELECT a.i AS a FROM l a CROSS JOIN r b WHERE a.i = 1",
    "SELECT a.i AS a, b.i AS b FROM l a JOIN r b ON a.i = b.i OR a.s = b.s",
    "SELECT a.i AS a, b.v AS v FROM l a LEFT JOIN (SELECT * FROM r WHERE i > 1) b ON a.i = b.i AND b.v <> 'abc'",
    "SELECT a.i AS a FROM l a LEFT JOIN r b ON a.i = b.i WHERE b.i IS NULL",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN (SELECT i, count(*) AS n FROM r GROUP BY i) b ON a.i = b.i",
    "SELECT i FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.i = l.i AND r.v > 'B')",
    "SELECT i FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.i = l.i)",
    "SELECT i, (SELECT max(r.n) FROM r WHERE r.i = l.i) AS m FROM l",
    "SELECT v || 'x' AS w FROM l WHERE v >= 'abc'",
    "SELECT i FROM l WHERE CAST(v AS varchar(2)) = 'ab'",
    "SELECT i FROM l WHERE v = c",
    "SELECT i FROM l WHERE c = x",
    "SELECT i FROM l WHERE day = DATE '2024-01-01' AND ts < TIMESTAMP '2024-01-02 00:00:00'",
    "SELECT i FROM l WHERE day < ts",
    "SELECT i FROM l WHERE ok",
    "SELECT i FROM l WHERE NOT ok OR v IS NULL",
    "SELECT i FROM l WHERE coalesce(i, 0) = 0",
    "SELECT count(*) AS n FROM l a, l b, r c WHERE a.i = b.i AND b.i = c.i AND a.v <> c.v AND b.ch = c.ch",
    "SELECT i FROM l WHERE v = '' OR c = 'a%c'",
    "SELECT 1 AS one FROM l",
    "SELECT count(*) AS n FROM r WHERE 1 = 0",
    "SELECT l.i AS a, b.z AS z, b.m AS m FROM l LEFT JOIN (SELECT i, v IS NULL AS z, i + 1 AS m FROM r) b ON l.i = b.i",
    "SELECT l.i AS a, b.z AS z FROM l FULL JOIN (SELECT i, coalesce(i, 7) AS z FROM r) b ON l.i = b.z",
    "SELECT l.i AS a, b.z AS z FROM l LEFT JOIN (SELECT i, i IN (SELECT i FROM l) AS z FROM r) b ON l.i = b.i + 7",
    "SELECT a.i AS a, b.i AS b FROM (SELECT * FROM l WHERE i > 1) a FULL JOIN "
    "(SELECT * FROM r WHERE i < 9) b ON a.i = b.i",
    "SELECT a.i AS a FROM (l a JOIN r b ON a.i = b.i) FULL JOIN (l c JOIN r d ON c.i = d.i) ON a.b = c.b",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN l b ON a.i = b.i AND a.b = 2 AND upper(b.v) <> 'ZETA'",
    "SELECT a.i AS a, b.n AS n FROM l a JOIN r b ON a.i = b.i AND a.i = 2",
    "SELECT i FROM l WHERE coalesce(b, 0) = 0 OR coalesce(ok, false)",
    "SELECT sum(a.n) AS s, count(*) AS c FROM l a JOIN r b ON a.s < b.s",
)
STATEMENTS = (*filters(), *joins(), *OTHERS)
VIEWS = "CREATE SCHEMA asked;" + "".join(
    f'CREATE VIEW asked.{name} AS SELECT i, s, b, n, d, v COLLATE "C" AS v, c, x COLLATE "C" AS x, '
    f'ch COLLATE "C" AS ch, day, ts, tz, ok FROM cases.{name};'
    for name in ("l", "r")
)
_WORDS = (
    (r"DOUBLE '", "double precision '"),
    (r"CHAR '", "bpchar '"),
    (r"TIMESTAMP ('[^']* UTC')", r"timestamptz \1"),
    (r"(LIKE '(?:[^']|'')*')", r"\1 ESCAPE ''"),
    (r"\(VALUES 2, 5\)", "(VALUES (2), (5))"),
)


def in_postgresql(statement: str) -> str | None:
    """The statement with PostgreSQL's words; None where it means another thing there (the scale of an average)."""
    if "avg(" in statement:
        return None
    for pattern, words in _WORDS:
        statement = re.sub(pattern, words, statement)
    return statement

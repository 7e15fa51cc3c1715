"""Correlated subqueries over three small relations with NULLs and rows that are there twice."""

from __future__ import annotations

RELATIONS = (
    "WITH t (a, b) AS (VALUES (1, 10), (2, 20), (2, 21), (3, NULL), (NULL, 30), (5, 50)), "
    "u (c, d) AS (VALUES (1, 1), (2, 10), (2, 20), (3, NULL), (NULL, 7), (2, NULL)), v (e) AS (VALUES 1, 2, 10, NULL) "
)
CONDITIONS = (
    "c = a",
    "d = b AND d > 1",
    "c + 1 = a",
    "coalesce(c, 0) = a",
    "c = a AND d = a",
    "c >= a",
    "d < b AND c IS NOT NULL",
    "c IS NOT DISTINCT FROM a",
    "(c = a OR d = 7)",
    "c + a > 3",
    "a > 1",
    "1 = 0",
    "c = a AND d IN (SELECT e FROM v)",
)
"""Equalities, which become keys of a join; others, which need the rows of each outer row; and those of one side."""
SCALARS = (
    "count(*)",
    "count(d) + coalesce(sum(d), 0)",
    "count(DISTINCT c)",
    "max(c) + a",
    "count(*) FILTER (WHERE d > 5)",
    "array_agg(d ORDER BY d, c)[1]",
    "sum(c) HAVING count(*) > 1",
)
SOURCES = (
    "u",
    "u JOIN v ON c = e",
    "u LEFT JOIN v ON d = e",
    "(SELECT DISTINCT c, d FROM u) w",
    "(SELECT c, max(d) d FROM u GROUP BY c) w",
    "(SELECT c, d + a AS d FROM u) w",
    "u JOIN v ON c = e AND d > a",
    "(SELECT c, d FROM u UNION ALL SELECT e, e FROM v) w",
    "(SELECT c, row_number() OVER (PARTITION BY c ORDER BY d) d FROM u) w",
    "(SELECT c, d FROM u WHERE d > a ORDER BY c, d) w",
)
WHOLE = (
    "SELECT a, b FROM t ORDER BY (SELECT count(*) FROM u WHERE c = a), a, b",
    "SELECT a, count(*), (SELECT max(d) FROM u WHERE c = a) FROM t GROUP BY a",
    "SELECT a, sum(b) FROM t GROUP BY a HAVING sum(b) > (SELECT sum(d) FROM u WHERE c = a)",
    "SELECT sum((SELECT count(*) FROM u WHERE c = a)) FROM t",
    "SELECT a, b FROM t WHERE (SELECT max(d) FROM u WHERE c = a) IS NULL OR EXISTS (SELECT 1 FROM v WHERE e = b)",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE c = a) THEN (SELECT max(d) FROM u WHERE c = a) ELSE -1 END FROM t",
    "SELECT a, b FROM t JOIN v ON a = e AND b > (SELECT count(*) FROM u WHERE c < 3)",
    "SELECT a, x FROM t CROSS JOIN LATERAL (SELECT c + a FROM u WHERE c < a) w (x)",
    "SELECT a, x, y FROM t CROSS JOIN LATERAL (SELECT count(*), max(d) FROM u WHERE c = a) w (x, y)",
    "SELECT a, (SELECT d FROM u WHERE c = a AND d = b) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT c FROM u WHERE c = a GROUP BY c HAVING count(*) > 2)",
    "SELECT a, (SELECT d FROM u WHERE c = a ORDER BY d DESC NULLS LAST LIMIT 1) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE c = a LIMIT 1)",
)


def statements() -> list[str]:
    """Every condition, every source and every scalar, each in some statements."""
    found = list(WHOLE)
    for n, condition in enumerate(CONDITIONS):
        found += [
            f"SELECT a, b, (SELECT {SCALARS[n % 6]} FROM u WHERE {condition}) s FROM t",
            f"SELECT a, b FROM t WHERE {'NOT ' * (n % 2)}EXISTS (SELECT d FROM u WHERE {condition})",
            f"SELECT a, b, a {'NOT ' * (n % 2)}IN (SELECT d FROM u WHERE {condition}) s FROM t",
        ]
    for n, source in enumerate(SOURCES):
        found.append(f"SELECT a, b, (SELECT {SCALARS[n % 3]} FROM {source} WHERE {CONDITIONS[n % 5]}) s FROM t")
        found.append(f"SELECT a, b FROM t WHERE b {('>= ALL', '< ANY')[n % 2]} (SELECT d FROM {source} WHERE c = a)")
    return found + [
        f"SELECT a, (SELECT {scalar.replace(' HAVING', ' FROM u WHERE c = a HAVING')}"
        f"{'' if 'HAVING' in scalar else ' FROM u WHERE d = b'}) FROM t"
        for scalar in SCALARS
    ]


MANY_ROWS = (
    "SELECT a, (SELECT d FROM u WHERE c = a) FROM t",
    "SELECT a FROM t WHERE (SELECT d FROM u WHERE c >= a) > 0",
    "SELECT a, (SELECT c FROM (SELECT DISTINCT c, d FROM u) WHERE c = a) FROM t",
)
"""Scalar subqueries with several rows for some outer row."""
REFUSED = (
    "SELECT a, (SELECT DISTINCT d FROM u WHERE c >= a) FROM t",
    "SELECT a, (SELECT c + a FROM u ORDER BY c, d LIMIT 1) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE c = a)",
    "SELECT a IN (SELECT c + 1 FROM u LEFT JOIN v ON c = e AND d = a) FROM t",
    "SELECT a, (SELECT max(d + a) FROM u LEFT JOIN v ON c = e AND d = a) FROM t",
    "SELECT a, (SELECT count(a) FROM u) FROM t",
    "SELECT a, (SELECT count(a)) FROM t",
    "SELECT a, (SELECT sum(DISTINCT a) FROM u WHERE c = a) FROM t",
    "SELECT a, (SELECT count(*) FILTER (WHERE a > 1) FROM u) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u HAVING max(a) > 1)",
    "SELECT a, m FROM t CROSS JOIN LATERAL (SELECT max(a) m FROM u) l",
)
"""Those that Presto refuses too."""

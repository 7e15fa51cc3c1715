"""Statements over a few rows with NULLs, odd names and empty inputs; DuckDB answers each of them as Presto does."""

from __future__ import annotations

STATEMENTS = (
    'SELECT n_name AS "Odd ""Name", n_name AS "select", n_nationkey "a.b" FROM nation WHERE n_nationkey < 3',
    "SELECT n_name, n_name, n_nationkey AS n_name FROM nation WHERE n_nationkey < 3",
    "SELECT x, x + 1 AS x, x AS y FROM (VALUES 1, 2, NULL, 2) t(x)",
    "SELECT DISTINCT x, y FROM (VALUES (1, 'a'), (1, 'a'), (NULL, 'a'), (NULL, NULL), (NULL, NULL)) t(x, y)",
    "SELECT x FROM (VALUES 1, 2) t(x) WHERE false",
    "SELECT count(*), sum(x), max(x), avg(x) FROM (VALUES 1, 2) t(x) WHERE x > 9",
    "SELECT x, count(*), sum(y) FROM (VALUES (1, 2), (NULL, 3), (NULL, NULL), (1, NULL)) t(x, y) GROUP BY x",
    "SELECT x, y, count(*), grouping(x, y) FROM (VALUES (1, 2), (1, 3), (NULL, 3)) t(x, y) GROUP BY CUBE (x, y)",
    "SELECT x, y, sum(z) FROM (VALUES (1, 2, 5), (1, 3, 6)) t(x, y, z) GROUP BY GROUPING SETS ((x, y), (x), (), ())",
    "SELECT count(DISTINCT x), count(DISTINCT y), sum(DISTINCT x) FROM (VALUES (1, 2), (1, 3), (NULL, 3)) t(x, y)",
    "SELECT max(x) FILTER (WHERE y > 2), count(*) FILTER (WHERE x IS NULL) FROM (VALUES (1, 2), (4, 3), "
    "(NULL, 3)) t(x, y)",
    "SELECT min_by(x, y), max_by(x, y) FROM (VALUES ('a', 2), ('b', 3), ('c', 1)) t(x, y)",
    "SELECT x FROM (VALUES 3, NULL, 1, 2) t(x) ORDER BY x DESC NULLS FIRST LIMIT 2",
    "SELECT x FROM (VALUES 3, NULL, 1, 2) t(x) ORDER BY x LIMIT 0",
    "SELECT x FROM (VALUES 3, NULL, 1, 2) t(x) ORDER BY x OFFSET 1",
    "SELECT x FROM (VALUES 3, NULL, 1, 2, 5) t(x) ORDER BY x NULLS FIRST OFFSET 1 LIMIT 2",
    "VALUES (1, NULL), (NULL, 'x')",
    "SELECT x FROM (VALUES 1, 1, 2, NULL) t(x) UNION SELECT y FROM (VALUES 2, 3, NULL) u(y)",
    "SELECT x FROM (VALUES 1, 1, 2, NULL) t(x) INTERSECT SELECT y FROM (VALUES 2, 3, NULL) u(y)",
    "SELECT x FROM (VALUES 1, 1, 2, NULL) t(x) EXCEPT SELECT y FROM (VALUES 2, 3) u(y)",
    "SELECT x, 'a' FROM (VALUES 1) t(x) UNION ALL SELECT x, y FROM (VALUES (2.5, NULL)) u(x, y)",
    "SELECT * FROM (VALUES (1, 2), (NULL, 3)) t(k, x) JOIN (VALUES (1, 4), (NULL, 5), (1, 6)) u(k, y) USING (k)",
    "SELECT * FROM (VALUES (1, 2), (NULL, 3)) t(k, x) FULL JOIN (VALUES (1, 4), (NULL, 5), (7, 6)) u(k, y) USING (k)",
    "SELECT t.x, u.x FROM (VALUES 1, NULL) t(x) LEFT JOIN (VALUES 1, NULL) u(x) ON t.x IS NOT DISTINCT FROM u.x",
    "SELECT t.x, u.x FROM (VALUES 1, 2) t(x) RIGHT JOIN (VALUES 1, 5, 6) u(x) ON t.x < u.x AND u.x < 6",
    "SELECT t.x, u.x FROM (VALUES 1, 2) t(x) FULL JOIN (VALUES 1, 5) u(x) ON t.x = u.x AND t.x > 1",
    "SELECT x FROM (VALUES 1, 2, NULL) t(x) WHERE x NOT IN (SELECT y FROM (VALUES 1, NULL) u(y))",
    "SELECT x, x NOT IN (SELECT y FROM (VALUES 1) u(y) WHERE false) FROM (VALUES 1, 2, NULL) t(x)",
    "SELECT x, x IN (SELECT y FROM (VALUES 1, NULL) u(y)) FROM (VALUES 1, 2, NULL) t(x)",
    "SELECT x FROM (VALUES 1, 2, NULL) t(x) WHERE x > ALL (SELECT y FROM (VALUES 1) u(y) WHERE y > 4)",
    "SELECT (SELECT max(y) FROM (VALUES 1, 2) u(y)) + x FROM (VALUES 1, NULL) t(x)",
    "SELECT (SELECT y FROM (VALUES 1) u(y) WHERE y > 4) FROM (VALUES 1, NULL) t(x)",
    "SELECT x, sum(x) OVER (ORDER BY x NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES "
    "3, NULL, 1, 2) t(x)",
    "SELECT x, count(*) OVER (PARTITION BY y ORDER BY x), rank() OVER (ORDER BY y) FROM (VALUES (1, 1), "
    "(2, NULL), (2, 1)) t(x, y)",
    "SELECT x, first_value(y) OVER w, last_value(y) OVER w FROM (VALUES (1, 'a'), (2, NULL), (3, 'c')) "
    "t(x, y) WINDOW w AS (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "SELECT x, lag(x, 2, -1) OVER (ORDER BY x), lead(x) OVER (ORDER BY x DESC) FROM (VALUES 3, 1, 2) t(x)",
    "SELECT x, sum(y) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM (VALUES (1, 1), (2, "
    "2), (4, 4), (9, 9)) t(x, y)",
    "SELECT x, ntile(2) OVER (ORDER BY x), percent_rank() OVER (ORDER BY x) FROM (VALUES 1, 2, 3) t(x)",
    "SELECT CASE x WHEN 1 THEN 'a' WHEN NULL THEN 'n' END, CASE WHEN x > 1 THEN x END FROM (VALUES 1, 2, NULL) t(x)",
    "SELECT coalesce(x, y, 0), nullif(x, y), x IS NULL, x IS DISTINCT FROM y FROM (VALUES (1, 1), (NULL, "
    "2), (3, NULL)) t(x, y)",
    "SELECT x BETWEEN 1 AND 2, NOT x BETWEEN 1 AND 2, x IN (1, NULL), x NOT IN (2, 3) FROM (VALUES 1, 5, NULL) t(x)",
    "SELECT s LIKE 'a\\_%' ESCAPE '\\', s LIKE '%''%', s LIKE '_b' FROM (VALUES 'a_c', 'it''s', 'ab', NULL) t(s)",
    "SELECT s || 'x', upper(s), length(s), substr(s, 2), replace(s, 'a', 'bb') FROM (VALUES 'a''c', '', NULL) t(s)",
    "SELECT CAST(x AS varchar), CAST(x AS double), CAST(x AS decimal(5,2)), CAST(x AS smallint) FROM "
    "(VALUES 1, -7, NULL) t(x)",
    "SELECT x + y, x - y, x * y, x % y, -x FROM (VALUES (7, 2), (-7, 2), (NULL, 1)) t(x, y)",
    "SELECT x + y, x * y, x - y FROM (VALUES (1.25, 2.5), (-0.01, 99.9), (NULL, 1.0)) t(x, y)",
    "SELECT d > DATE '2024-02-28' FROM (VALUES DATE '2024-02-29', NULL) t(d)",
    "SELECT year(d), month(d), day(d) FROM (VALUES DATE '2024-02-29', NULL) t(d)",
    "SELECT x AND y, x OR y, NOT x FROM (VALUES (true, NULL), (false, NULL), (true, false)) t(x, y)",
    "SELECT abs(x), sign(x), greatest(x, 2), least(x, 2) FROM (VALUES -3, 5) t(x)",
    "SELECT n_regionkey, count(*) c FROM nation GROUP BY 1 HAVING count(*) > 4 ORDER BY c, 1 LIMIT 3",
    "WITH a AS (SELECT n_regionkey k, count(*) c FROM nation GROUP BY 1) SELECT x.k, y.c FROM a x JOIN a y "
    "ON x.k = y.k + 1",
    "SELECT r_name, s_name FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON "
    "s_nationkey = n_nationkey WHERE s_acctbal > 9500 AND n_name LIKE 'C%'",
    "SELECT c_mktsegment, count(*), min(c_acctbal) FROM customer WHERE c_nationkey IN (SELECT n_nationkey "
    "FROM nation WHERE n_regionkey = 2) AND c_acctbal > 0 GROUP BY c_mktsegment",
    "SELECT a[1], cardinality(a), contains(a, 2) FROM (VALUES ARRAY[1, 2], ARRAY[3], NULL) t(a)",
    "SELECT r.x, r.y FROM (SELECT CAST(ROW(1, 'a') AS row(x integer, y varchar)) r)",
)

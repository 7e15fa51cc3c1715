PRELUDE
t(x, y) AS (VALUES (1, 10), (2, 20), (2, 30), (NULL, 40)),
s(a, b, c) AS (SELECT x, x, y FROM t)
;
SELECT a, b, count(*) FROM (SELECT x a, x b FROM t) GROUP BY GROUPING SETS ((a, b), (a), (b), ());
SELECT a, b, count(*) FROM (SELECT x a, x b FROM t) GROUP BY ROLLUP (a, b);
SELECT a, b, count(*), grouping(a, b), grouping(b) FROM (SELECT x a, x b FROM t) GROUP BY CUBE (a, b);
SELECT a, b, sum(c) FROM s GROUP BY GROUPING SETS ((a, b), (b));
SELECT a, b, a + b, count(a), count(DISTINCT b) FROM s GROUP BY a, b;
SELECT c, a, b, d, e FROM s JOIN (SELECT y c, y d, y e FROM t) u USING (c);
SELECT a, b, d FROM s JOIN (SELECT x a, x d FROM t) u USING (a);
SELECT a, b, d FROM s LEFT JOIN (SELECT x + 1 a, x d FROM t) u USING (a);
SELECT a, b, d FROM s FULL JOIN (SELECT x + 1 a, x d FROM t) u USING (a);
SELECT s.a, s.b, u.a, u.b FROM s LEFT JOIN s u ON s.a = u.b AND u.a > 1;
SELECT DISTINCT a, b FROM s;
SELECT DISTINCT x a, x b FROM t ORDER BY b, a;
SELECT x a, x b, y FROM t ORDER BY b DESC, y;
SELECT a, b FROM s UNION SELECT x, y FROM t;
SELECT x a, x b FROM t UNION ALL SELECT y, x FROM t;
SELECT x a, x b FROM t EXCEPT SELECT x, x FROM t WHERE x = 1;
SELECT x a, x b FROM t INTERSECT SELECT x, x FROM t;
SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b, c), sum(b) OVER (PARTITION BY b ORDER BY c) FROM s;
SELECT a, b, sum(a) OVER (ORDER BY b, a, c ROWS UNBOUNDED PRECEDING) FROM s;
SELECT count(DISTINCT a), count(DISTINCT b), sum(DISTINCT a), count(DISTINCT c) FROM s;
SELECT count(DISTINCT a) FILTER (WHERE b > 1), sum(b) FILTER (WHERE a = 2) FROM s;
SELECT a, b FROM s WHERE a IN (SELECT b FROM s WHERE c > 10) AND b = 2;
SELECT a, b, (SELECT max(c) FROM s u WHERE u.a = s.b) FROM s;
SELECT * FROM (SELECT x a, x b FROM t) p, (SELECT x a, x b FROM t) q WHERE p.a = q.b;
SELECT a, b FROM (SELECT p.a, p.b FROM s p, s q) GROUP BY GROUPING SETS ((a), (b));
SELECT a, b, d FROM (SELECT x a, x b, ARRAY[x, x + 1] d FROM t) WHERE a = 1;
SELECT a, b, e FROM (SELECT x a, x b FROM t) CROSS JOIN UNNEST(ARRAY[a, b]) u(e);
WITH r AS (SELECT x a, x b FROM t) SELECT p.a, p.b, q.a, q.b FROM r p JOIN r q ON p.a = q.b;
SELECT a, b, c, count(*) FROM (SELECT x a, x b, x c FROM t) GROUP BY CUBE (a, b, c);
SELECT a, count(*) FROM (SELECT a, b FROM (SELECT x a, x b FROM t) GROUP BY ROLLUP (a, b)) GROUP BY a;

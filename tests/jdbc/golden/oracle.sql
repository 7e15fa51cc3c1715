-- filter on integers: SELECT i FROM l WHERE i > 5 AND b IN (1, 2) AND NOT (n = 2.50)
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."i" > 5) AND ("T0"."b" IN (1, 2)) AND ("T0"."n" <> 2.50)

-- filter on double: SELECT i FROM l WHERE d >= DOUBLE '1.5'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."d" >= CAST(1.5 AS BINARY_DOUBLE))

-- filter on NULL: SELECT i FROM l WHERE n IS NULL OR b IS NOT NULL
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE (("T0"."n" IS NULL) OR (NOT ("T0"."b" IS NULL)))

-- filter on text: SELECT i FROM l WHERE v = 'it''s'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."v" = 'it''s')

-- filter on the empty text: SELECT i FROM l WHERE v = ''
SELECT "T0"."i" AS "i", "T0"."v" AS "v" FROM "shop"."l" "T0"
-- filter not pushed down: the empty text, which is NULL there

-- filter on ordered text: SELECT i FROM l WHERE v < 'b'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."v" < 'b')

-- filter on text that is compared otherwise: SELECT i FROM l WHERE x = 'abc'
SELECT "T0"."i" AS "i", "T0"."x" AS "x" FROM "shop"."l" "T0"
-- filter not pushed down: the comparison = under collation blind

-- filter on char: SELECT i FROM l WHERE ch = CHAR 'ab'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."ch" = 'ab')

-- LIKE: SELECT i FROM l WHERE v LIKE 'a%'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ("T0"."v" LIKE 'a%')

-- filter on days: SELECT i FROM l WHERE day BETWEEN DATE '2024-02-29' AND DATE '2024-03-01'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ((CAST("T0"."day" AS TIMESTAMP(0)) >= TIMESTAMP '2024-02-29 00:00:00') AND (CAST("T0"."day" AS TIMESTAMP(0)) <= TIMESTAMP '2024-03-01 00:00:00'))

-- filter on timestamps: SELECT i FROM l WHERE ts < TIMESTAMP '2024-02-29 10:00:00.5'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE (CAST("T0"."ts" AS TIMESTAMP(6)) < TIMESTAMP '2024-02-29 10:00:00.500000')

-- filter on moments: SELECT i FROM l WHERE tz = TIMESTAMP '2024-02-29 10:00:00 America/New_York'
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE (CAST(SYS_EXTRACT_UTC("T0"."tz") AS TIMESTAMP(6)) = TIMESTAMP '2024-02-29 15:00:00')

-- IS DISTINCT FROM: SELECT i FROM l WHERE i IS DISTINCT FROM 2
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE (DECODE("T0"."i", 2, 0, 1) = 1)

-- arithmetic: SELECT i FROM l WHERE b + 1 > 5
SELECT "T0"."i" AS "i", "T0"."b" AS "b" FROM "shop"."l" "T0"
-- filter not pushed down: + of type decimal(20,0)

-- integer division stays: SELECT i FROM l WHERE b / 2 = 1
SELECT "T0"."i" AS "i", "T0"."b" AS "b" FROM "shop"."l" "T0"
-- filter not pushed down: the function DIVIDE

-- projection: SELECT b * 2 AS twice, i > 1 AS more FROM l
SELECT "T0"."i" AS "i", "T0"."b" AS "b" FROM "shop"."l" "T0"
-- projection not pushed down: * of type decimal(29,0)

-- limit: SELECT i FROM l LIMIT 3
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" FETCH FIRST 3 ROWS ONLY

-- TopN: SELECT i FROM l ORDER BY i DESC NULLS LAST, b NULLS FIRST LIMIT 3
SELECT "T0"."i" AS "i", "T0"."b" AS "b" FROM "shop"."l" "T0" ORDER BY "T0"."i" DESC NULLS LAST, "T0"."b" ASC NULLS FIRST FETCH FIRST 3 ROWS ONLY

-- TopN of text: SELECT v FROM l ORDER BY v LIMIT 3
SELECT "T0"."v" AS "v" FROM "shop"."l" "T0" ORDER BY "T0"."v" ASC NULLS LAST FETCH FIRST 3 ROWS ONLY

-- TopN over a join: SELECT l.i FROM l JOIN r ON l.i = r.i ORDER BY r.b LIMIT 3
SELECT "T0"."i" AS "i", "T1"."b" AS "b_1" FROM "shop"."l" "T0", "shop"."r" "T1" WHERE ("T0"."i" = "T1"."i") ORDER BY "T1"."b" ASC NULLS LAST FETCH FIRST 3 ROWS ONLY

-- limit under a filter: SELECT i FROM (SELECT i FROM l ORDER BY i LIMIT 4) t WHERE i > 1
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" ORDER BY "T0"."i" ASC NULLS LAST FETCH FIRST 4 ROWS ONLY

-- aggregation: SELECT day, count(*) AS a, count(b) AS b, min(i) AS c, max(n) AS d FROM l GROUP BY day
SELECT CAST("T0"."day" AS TIMESTAMP(0)) AS "day", count(*) AS "count", count("T0"."b") AS "count_1", min("T0"."i") AS "min", max("T0"."n") AS "max" FROM "shop"."l" "T0" GROUP BY CAST("T0"."day" AS TIMESTAMP(0))

-- sums: SELECT sum(i) AS s, sum(b) AS t FROM l
SELECT CAST(sum("T0"."i") AS NUMBER(38,0)) AS "sum", CAST(sum("T0"."b") AS NUMBER(38,0)) AS "sum_1" FROM "shop"."l" "T0"

-- sum of decimals: SELECT sum(n) AS s FROM l
SELECT CAST(sum("T0"."n") AS NUMBER(38,2)) AS "sum" FROM "shop"."l" "T0"

-- distinct: SELECT count(DISTINCT i) AS n FROM l
SELECT count(DISTINCT "T0"."i") AS "count" FROM "shop"."l" "T0"

-- grouping by text: SELECT v, count(*) AS n FROM l GROUP BY v
SELECT "T0"."v" AS "v", count(*) AS "count" FROM "shop"."l" "T0" GROUP BY "T0"."v"

-- HAVING: SELECT i FROM l GROUP BY i HAVING count(*) > 1
SELECT "T3"."i" AS "i" FROM (SELECT "T0"."i" AS "i", count(*) AS "count" FROM "shop"."l" "T0" GROUP BY "T0"."i") "T3" WHERE ("T3"."count" > 1)

-- inner join: SELECT l.i, r.n FROM l JOIN r ON l.i = r.i WHERE r.b > 5
SELECT "T0"."i" AS "i", "T1"."n" AS "n_1" FROM "shop"."l" "T0", "shop"."r" "T1" WHERE ("T1"."b" > 5) AND ("T0"."i" = "T1"."i")

-- three tables: SELECT a.i FROM l a, r b, l c WHERE a.i = b.i AND b.b = c.b
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0", "shop"."r" "T1", "shop"."l" "T3" WHERE ("T0"."i" = "T1"."i") AND ("T1"."b" = "T3"."b")

-- join by an inequality: SELECT l.i FROM l JOIN r ON l.i = r.i AND l.b < r.b
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0", "shop"."r" "T1" WHERE ("T0"."i" = "T1"."i") AND ("T0"."b" < "T1"."b")

-- join by text: SELECT l.i FROM l JOIN r ON l.v = r.v
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0", "shop"."r" "T1" WHERE ("T0"."v" = "T1"."v")

-- left join: SELECT l.i, r.n FROM l LEFT JOIN (SELECT * FROM r WHERE b > 1) r ON l.i = r.i
SELECT "T0"."i" AS "i", "T4"."n_1" AS "n_1" FROM "shop"."l" "T0" LEFT JOIN (SELECT "T1"."i" AS "i_1", "T1"."n" AS "n_1" FROM "shop"."r" "T1" WHERE ("T1"."b" > 1)) "T4" ON ("T0"."i" = "T4"."i_1")

-- right join: SELECT l.i, r.n FROM l RIGHT JOIN r ON l.i = r.i
SELECT "T1"."n" AS "n_1", "T0"."i" AS "i" FROM "shop"."r" "T1" LEFT JOIN "shop"."l" "T0" ON ("T0"."i" = "T1"."i")

-- full join: SELECT l.i, r.n FROM l FULL JOIN r ON l.i = r.i
SELECT "T0"."i" AS "i", "T1"."n" AS "n_1" FROM "shop"."l" "T0" FULL JOIN "shop"."r" "T1" ON ("T0"."i" = "T1"."i")

-- IN: SELECT i FROM l WHERE b IN (SELECT b FROM r WHERE i < 5)
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE ((CASE WHEN ("T0"."b" IN (SELECT "T1"."b" AS "b_1" FROM "shop"."r" "T1" WHERE ("T1"."i" < 5))) THEN 1 WHEN NOT ("T0"."b" IN (SELECT "T1"."b" AS "b_1" FROM "shop"."r" "T1" WHERE ("T1"."i" < 5))) THEN 0 END) = 1)

-- NOT IN: SELECT i FROM l WHERE b NOT IN (SELECT b FROM r)
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" WHERE (NOT ((CASE WHEN ("T0"."b" IN (SELECT "T1"."b" AS "b_1" FROM "shop"."r" "T1")) THEN 1 WHEN NOT ("T0"."b" IN (SELECT "T1"."b" AS "b_1" FROM "shop"."r" "T1")) THEN 0 END) = 1))

-- EXISTS: SELECT i FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.i = l.i)
SELECT "T0"."i" AS "i" FROM "shop"."l" "T0" LEFT JOIN (SELECT "T6"."i_1" AS "i_1", 1 AS "subquerytrue" FROM (SELECT "T1"."i" AS "i_1" FROM "shop"."r" "T1" GROUP BY "T1"."i") "T6") "T7" ON ("T0"."i" = "T7"."i_1") WHERE (COALESCE("T7"."subquerytrue", 0) = 1)

-- self-join: SELECT a.i, b.n FROM l a JOIN l b ON a.i = b.i AND a.b = 2
SELECT "T0"."i" AS "i", "T1"."n" AS "n_1" FROM "shop"."l" "T0", "shop"."l" "T1" WHERE ("T0"."b" = 2) AND ("T0"."i" = "T1"."i")

-- aggregation over a join: SELECT l.day, sum(r.b) AS s FROM l JOIN r ON l.i = r.i GROUP BY l.day
SELECT CAST("T0"."day" AS TIMESTAMP(0)) AS "day", CAST(sum("T1"."b") AS NUMBER(38,0)) AS "sum" FROM "shop"."l" "T0", "shop"."r" "T1" WHERE ("T0"."i" = "T1"."i") GROUP BY CAST("T0"."day" AS TIMESTAMP(0))

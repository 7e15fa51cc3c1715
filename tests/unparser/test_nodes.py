"""Each plan node as SQL of both engines; the rows are those of DuckDB for the statement itself."""

from __future__ import annotations

from tests.unparser.written import Written


def test_scan(written: Written) -> None:
    written.check(
        "SELECT n_name FROM nation",
        duckdb='SELECT "n_name" FROM (SELECT "n_name" FROM "tiny"."nation") AS "t1"',
        spark="SELECT `n_name` FROM (SELECT `n_name` FROM `tpch`.`tiny`.`nation`) AS `t1`",
    )


def test_scan_of_no_column(written: Written) -> None:
    written.check(
        "SELECT count(*) FROM nation",
        duckdb='SELECT COUNT(*) AS "count" FROM (SELECT 1 AS "dummy" FROM "tiny"."nation") AS "t1"',
        spark="SELECT CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT 1 AS `dummy` FROM `tpch`.`tiny`.`nation`) AS "
        "`t1`",
    )


def test_filter_and_project(written: Written) -> None:
    written.check(
        "SELECT n_nationkey + 1 AS u FROM nation WHERE n_nationkey > 20",
        duckdb='SELECT ("n_nationkey" + CAST(\'1\' AS BIGINT)) AS "u" FROM (SELECT "n_nationkey" FROM "tiny"."nation") '
        'AS "t1" WHERE ("n_nationkey" > CAST(\'20\' AS BIGINT))',
        spark="SELECT (`n_nationkey` + CAST('1' AS BIGINT)) AS `u` FROM (SELECT `n_nationkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1` WHERE (`n_nationkey` > CAST('20' AS BIGINT))",
    )


def test_a_column_twice(written: Written) -> None:
    written.check(
        "SELECT n_name AS a, n_name AS b FROM nation WHERE n_nationkey = 1",
        duckdb='SELECT "n_name", "n_name" FROM (SELECT "n_nationkey", "n_name" FROM "tiny"."nation") AS "t1" WHERE '
        "(\"n_nationkey\" = CAST('1' AS BIGINT))",
        spark="SELECT `n_name`, `n_name` FROM (SELECT `n_nationkey`, `n_name` FROM `tpch`.`tiny`.`nation`) AS `t1` "
        "WHERE (`n_nationkey` = CAST('1' AS BIGINT))",
    )


def test_values(written: Written) -> None:
    written.check(
        "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) t(x, y)",
        duckdb='SELECT "field", "field_1" FROM (VALUES (1, \'a\'), (2, CAST(NULL AS TEXT))) AS "t1"("field", '
        '"field_1")',
        spark="SELECT `field`, `field_1` FROM VALUES (1, 'a'), (2, CAST(NULL AS STRING)) AS `t1`(`field`, `field_1`)",
    )


def test_no_rows(written: Written) -> None:
    written.check(
        "SELECT x FROM (VALUES 1) t(x) WHERE 1 = 0",
        duckdb='SELECT "field" FROM (SELECT CAST(NULL AS INT) AS "field" WHERE FALSE) AS "t1"',
        spark="SELECT `field` FROM (SELECT CAST(NULL AS INT) AS `field` WHERE FALSE) AS `t1`",
    )


def test_inner_join(written: Written) -> None:
    written.check(
        "SELECT n_name, r_name FROM nation JOIN region ON n_regionkey = r_regionkey AND n_name < r_name",
        duckdb='SELECT "n_name", "r_name" FROM (SELECT "n_name", "r_name" FROM (SELECT "n_name", "n_regionkey" FROM '
        '(SELECT "n_name", "n_regionkey" FROM "tiny"."nation") AS "t1") AS "t2" INNER JOIN (SELECT '
        '"r_regionkey", "r_name" FROM (SELECT "r_regionkey", "r_name" FROM "tiny"."region") AS "t3") AS "t4" '
        'ON ("n_regionkey" = "r_regionkey") AND ("n_name" < "r_name")) AS "t5"',
        spark="SELECT `n_name`, `r_name` FROM (SELECT `n_name`, `r_name` FROM (SELECT `n_name`, `n_regionkey` FROM "
        "(SELECT `n_name`, `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2` INNER JOIN (SELECT "
        "`r_regionkey`, `r_name` FROM (SELECT `r_regionkey`, `r_name` FROM `tpch`.`tiny`.`region`) AS `t3`) "
        "AS `t4` ON (`n_regionkey` = `r_regionkey`) AND (`n_name` < `r_name`)) AS `t5`",
    )


def test_cross_join(written: Written) -> None:
    written.check(
        "SELECT count(*) FROM nation, region",
        duckdb='SELECT COUNT(*) AS "count" FROM (SELECT 1 FROM (SELECT 1 AS "dummy" FROM (SELECT 1 AS "dummy" FROM '
        '"tiny"."nation") AS "t1") AS "t2" CROSS JOIN (SELECT 1 AS "dummy" FROM (SELECT 1 AS "dummy" FROM '
        '"tiny"."region") AS "t3") AS "t4") AS "t5"',
        spark="SELECT CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT 1 FROM (SELECT 1 AS `dummy` FROM (SELECT 1 "
        "AS `dummy` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2` CROSS JOIN (SELECT 1 AS `dummy` FROM "
        "(SELECT 1 AS `dummy` FROM `tpch`.`tiny`.`region`) AS `t3`) AS `t4`) AS `t5`",
    )


def test_left_join(written: Written) -> None:
    written.check(
        "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > 9000",
        duckdb='SELECT "n_name", "s_name" FROM (SELECT "n_name", "s_name" FROM (SELECT "n_nationkey", "n_name" FROM '
        '(SELECT "n_nationkey", "n_name" FROM "tiny"."nation") AS "t1") AS "t2" LEFT JOIN (SELECT "s_name", '
        '"s_nationkey", "s_acctbal" FROM (SELECT "s_name", "s_nationkey", "s_acctbal" FROM "tiny"."supplier") '
        'AS "t3" WHERE ("s_acctbal" > CAST(\'9000.0\' AS DOUBLE))) AS "t4" ON ("n_nationkey" = "s_nationkey")) '
        'AS "t5"',
        spark="SELECT `n_name`, `s_name` FROM (SELECT `n_name`, `s_name` FROM (SELECT `n_nationkey`, `n_name` FROM "
        "(SELECT `n_nationkey`, `n_name` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2` LEFT JOIN (SELECT "
        "`s_name`, `s_nationkey`, `s_acctbal` FROM (SELECT `s_name`, `s_nationkey`, `s_acctbal` FROM "
        "`tpch`.`tiny`.`supplier`) AS `t3` WHERE ((`s_acctbal` > CAST('9000.0' AS DOUBLE)) OR (`s_acctbal` = "
        "CAST('NaN' AS DOUBLE)))) AS `t4` ON (`n_nationkey` = `s_nationkey`)) AS `t5`",
    )


def test_full_join(written: Written) -> None:
    written.check(
        "SELECT count(*) FROM nation FULL JOIN region ON n_nationkey = r_regionkey + 23",
        duckdb='SELECT COUNT(*) AS "count" FROM (SELECT 1 FROM (SELECT "n_nationkey" FROM (SELECT "n_nationkey" FROM '
        '"tiny"."nation") AS "t1") AS "t2" FULL JOIN (SELECT ("r_regionkey" + CAST(\'23\' AS BIGINT)) AS "expr" '
        'FROM (SELECT "r_regionkey" FROM "tiny"."region") AS "t3") AS "t4" ON ("n_nationkey" = "expr")) AS '
        '"t5"',
        spark="SELECT CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT 1 FROM (SELECT `n_nationkey` FROM (SELECT "
        "`n_nationkey` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2` FULL JOIN (SELECT (`r_regionkey` + "
        "CAST('23' AS BIGINT)) AS `expr` FROM (SELECT `r_regionkey` FROM `tpch`.`tiny`.`region`) AS `t3`) AS "
        "`t4` ON (`n_nationkey` = `expr`)) AS `t5`",
    )


def test_semi_join(written: Written) -> None:
    written.check(
        "SELECT n_name FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name < 'B')",
        duckdb='SELECT "n_name" FROM (SELECT "n_name", "n_regionkey", TRUE AS "expr" FROM (SELECT "n_name", '
        '"n_regionkey" FROM (SELECT "n_name", "n_regionkey" FROM (SELECT "n_name", "n_regionkey" FROM '
        '"tiny"."nation") AS "t3") AS "t4" SEMI JOIN (SELECT "r_regionkey" FROM (SELECT "r_regionkey", "r_name" '
        'FROM "tiny"."region") AS "t1" WHERE ("r_name" < \'B\')) AS "t2" ON ("n_regionkey" = "r_regionkey")) AS '
        '"t5") AS "t6"',
        spark="SELECT `n_name` FROM (SELECT `n_name`, `n_regionkey`, TRUE AS `expr` FROM (SELECT `n_name`, "
        "`n_regionkey` FROM (SELECT `n_name`, `n_regionkey` FROM (SELECT `n_name`, `n_regionkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t3`) AS `t4` LEFT SEMI JOIN (SELECT `r_regionkey` FROM (SELECT `r_regionkey`, "
        "`r_name` FROM `tpch`.`tiny`.`region`) AS `t1` WHERE (`r_name` < 'B')) AS `t2` ON (`n_regionkey` = "
        "`r_regionkey`)) AS `t5`) AS `t6`",
    )


def test_not_in_with_nulls(written: Written) -> None:
    written.check(
        "SELECT n_name FROM nation WHERE n_regionkey NOT IN (SELECT nullif(r_regionkey, 3) FROM region)",
        duckdb='SELECT "n_name" FROM (SELECT "n_name", "n_regionkey", ("n_regionkey" IN (SELECT "expr" FROM (SELECT '
        'CASE WHEN ("r_regionkey" = CAST(\'3\' AS BIGINT)) THEN CAST(NULL AS BIGINT) ELSE "r_regionkey" END AS '
        '"expr" FROM (SELECT "r_regionkey" FROM "tiny"."region") AS "t2") AS "t3")) AS "expr_1" FROM (SELECT '
        '"n_name", "n_regionkey" FROM "tiny"."nation") AS "t1") AS "t4" WHERE (NOT "expr_1")',
        spark="SELECT `n_name` FROM (SELECT `n_name`, `n_regionkey`, (`n_regionkey` IN (SELECT `expr` FROM (SELECT "
        "CASE WHEN (`r_regionkey` = CAST('3' AS BIGINT)) THEN CAST(NULL AS BIGINT) ELSE `r_regionkey` END AS "
        "`expr` FROM (SELECT `r_regionkey` FROM `tpch`.`tiny`.`region`) AS `t2`) AS `t3`)) AS `expr_1` FROM "
        "(SELECT `n_name`, `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t4` WHERE (NOT `expr_1`)",
    )


def test_aggregation(written: Written) -> None:
    written.check(
        "SELECT n_regionkey, count(*), sum(n_nationkey), min(n_name) FROM nation GROUP BY n_regionkey",
        duckdb='SELECT "n_regionkey", COUNT(*) AS "count", CAST(SUM("n_nationkey") AS BIGINT) AS "sum", '
        'MIN("n_name") AS "min" FROM (SELECT "n_nationkey", "n_name", "n_regionkey" FROM "tiny"."nation") AS '
        '"t1" GROUP BY "n_regionkey"',
        spark="SELECT `n_regionkey`, CAST(COUNT(*) AS BIGINT) AS `count`, CAST(SUM(`n_nationkey`) AS BIGINT) AS "
        "`sum`, MIN(`n_name`) AS `min` FROM (SELECT `n_nationkey`, `n_name`, `n_regionkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1` GROUP BY `n_regionkey`",
    )


def test_average_of_integers(written: Written) -> None:
    written.check(
        "SELECT avg(n_nationkey) FROM nation",
        duckdb='SELECT CAST(AVG("n_nationkey") AS DOUBLE) AS "avg" FROM (SELECT "n_nationkey" FROM "tiny"."nation") '
        'AS "t1"',
        spark="SELECT CAST(AVG(`n_nationkey`) AS DOUBLE) AS `avg` FROM (SELECT `n_nationkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1`",
    )


def test_distinct_and_filtered_aggregates(written: Written) -> None:
    written.check(
        "SELECT count(DISTINCT n_regionkey), count(*) FILTER (WHERE n_nationkey > 5) FROM nation",
        duckdb='SELECT COUNT(DISTINCT "n_regionkey") AS "count", COUNT(*) FILTER(WHERE "expr") AS "count_1" FROM '
        '(SELECT "n_regionkey", ("n_nationkey" > CAST(\'5\' AS BIGINT)) AS "expr" FROM (SELECT "n_nationkey", '
        '"n_regionkey" FROM "tiny"."nation") AS "t1") AS "t2"',
        spark="SELECT CAST(COUNT(DISTINCT `n_regionkey`) AS BIGINT) AS `count`, CAST(COUNT(*) FILTER(WHERE `expr`) "
        "AS BIGINT) AS `count_1` FROM (SELECT `n_regionkey`, (`n_nationkey` > CAST('5' AS BIGINT)) AS `expr` "
        "FROM (SELECT `n_nationkey`, `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2`",
    )


def test_distinct_rows(written: Written) -> None:
    written.check(
        "SELECT DISTINCT n_regionkey FROM nation",
        duckdb='SELECT "n_regionkey" FROM (SELECT "n_regionkey" FROM "tiny"."nation") AS "t1" GROUP BY "n_regionkey"',
        spark="SELECT `n_regionkey` FROM (SELECT `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1` GROUP BY "
        "`n_regionkey`",
    )


def test_window(written: Written) -> None:
    written.check(
        "SELECT n_name, rank() OVER (PARTITION BY n_regionkey ORDER BY n_name DESC) FROM nation",
        duckdb='SELECT "n_name", "rank" FROM (SELECT "n_name", "n_regionkey", CAST(RANK() OVER (PARTITION BY '
        '"n_regionkey" ORDER BY "n_name" DESC) AS BIGINT) AS "rank" FROM (SELECT "n_name", "n_regionkey" FROM '
        '"tiny"."nation") AS "t1") AS "t2"',
        spark="SELECT `n_name`, `rank` FROM (SELECT `n_name`, `n_regionkey`, CAST(RANK() OVER (PARTITION BY "
        "`n_regionkey` ORDER BY `n_name` DESC) AS BIGINT) AS `rank` FROM (SELECT `n_name`, `n_regionkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1`) AS `t2`",
    )


def test_window_with_frame(written: Written) -> None:
    written.check(
        "SELECT n_nationkey, sum(n_nationkey) OVER (ORDER BY n_nationkey ROWS BETWEEN 2 PRECEDING AND 1 "
        "FOLLOWING) FROM nation",
        duckdb='SELECT "n_nationkey", "sum" FROM (SELECT "n_nationkey", "frame", "frame_1", CAST(SUM("n_nationkey") '
        'OVER (ORDER BY "n_nationkey" ASC ROWS BETWEEN 2 PRECEDING AND 1 '
        'FOLLOWING) AS BIGINT) AS "sum" FROM (SELECT "n_nationkey", "frame", CAST(\'1\' AS BIGINT) AS "frame_1" '
        'FROM (SELECT "n_nationkey", CAST(\'2\' AS BIGINT) AS "frame" FROM (SELECT "n_nationkey" FROM '
        '"tiny"."nation") AS "t1") AS "t2") AS "t3") AS "t4"',
        spark="SELECT `n_nationkey`, `sum` FROM (SELECT `n_nationkey`, `frame`, `frame_1`, CAST(SUM(`n_nationkey`) "
        "OVER (ORDER BY `n_nationkey` ASC NULLS LAST ROWS BETWEEN 2 PRECEDING AND 1 "
        "FOLLOWING) AS BIGINT) AS `sum` FROM (SELECT `n_nationkey`, `frame`, CAST('1' AS BIGINT) "
        "AS `frame_1` FROM (SELECT `n_nationkey`, CAST('2' AS BIGINT) AS `frame` FROM (SELECT `n_nationkey` "
        "FROM `tpch`.`tiny`.`nation`) AS `t1`) AS `t2`) AS `t3`) AS `t4`",
    )


def test_order_and_limit(written: Written) -> None:
    written.check(
        "SELECT n_name FROM nation ORDER BY n_regionkey DESC NULLS FIRST, n_name LIMIT 3",
        duckdb='SELECT "n_name" FROM (SELECT "n_name", "n_regionkey" FROM "tiny"."nation") AS "t1" ORDER BY '
        '"n_regionkey" DESC NULLS FIRST, "n_name" ASC LIMIT 3',
        spark="SELECT `n_name` FROM (SELECT `n_name`, `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1` ORDER BY "
        "`n_regionkey` DESC NULLS FIRST, `n_name` ASC NULLS LAST LIMIT 3",
    )


def test_offset(written: Written) -> None:
    written.check(
        "SELECT n_nationkey FROM nation ORDER BY n_nationkey OFFSET 20",
        duckdb='SELECT "n_nationkey" FROM (SELECT "n_nationkey" FROM "tiny"."nation") AS "t1" ORDER BY "n_nationkey" '
        "ASC OFFSET 20",
        spark="SELECT `n_nationkey` FROM (SELECT `n_nationkey` FROM `tpch`.`tiny`.`nation`) AS `t1` ORDER BY "
        "`n_nationkey` ASC NULLS LAST OFFSET 20",
    )


def test_limit_alone(written: Written) -> None:
    written.check(
        "SELECT 1 FROM nation LIMIT 3",
        duckdb='SELECT 1 AS "expr" FROM (SELECT 1 AS "dummy" FROM "tiny"."nation") AS "t1" LIMIT 3',
        spark="SELECT 1 AS `expr` FROM (SELECT 1 AS `dummy` FROM `tpch`.`tiny`.`nation`) AS `t1` LIMIT 3",
    )


def test_union_all(written: Written) -> None:
    written.check(
        "SELECT n_name FROM nation WHERE n_nationkey < 2 UNION ALL SELECT r_name FROM region",
        duckdb='SELECT "n_name_1" FROM (SELECT "n_name" AS "n_name_1" FROM (SELECT "n_name" FROM (SELECT '
        '"n_nationkey", "n_name" FROM "tiny"."nation") AS "t1" WHERE ("n_nationkey" < CAST(\'2\' AS BIGINT))) '
        'AS "t2" UNION ALL SELECT "r_name" AS "n_name_1" FROM (SELECT "r_name" FROM (SELECT "r_name" FROM '
        '"tiny"."region") AS "t3") AS "t4") AS "t5"',
        spark="SELECT `n_name_1` FROM (SELECT `n_name` AS `n_name_1` FROM (SELECT `n_name` FROM (SELECT "
        "`n_nationkey`, `n_name` FROM `tpch`.`tiny`.`nation`) AS `t1` WHERE (`n_nationkey` < CAST('2' AS "
        "BIGINT))) AS `t2` UNION ALL SELECT `r_name` AS `n_name_1` FROM (SELECT `r_name` FROM (SELECT "
        "`r_name` FROM `tpch`.`tiny`.`region`) AS `t3`) AS `t4`) AS `t5`",
    )


def test_except_rows(written: Written) -> None:
    written.check(
        "SELECT n_nationkey FROM nation WHERE n_nationkey < 8 EXCEPT SELECT r_regionkey FROM region",
        duckdb='SELECT "n_nationkey_1" FROM (SELECT "n_nationkey_1", COUNT("expr") AS "count", COUNT("expr_1") AS '
        '"count_1" FROM (SELECT "n_nationkey" AS "n_nationkey_1", "mark" AS "expr", "mark_1" AS "expr_1" FROM '
        '(SELECT "n_nationkey", TRUE AS "mark", CAST(NULL AS BOOLEAN) AS "mark_1" FROM (SELECT "n_nationkey" '
        'FROM "tiny"."nation") AS "t1" WHERE ("n_nationkey" < CAST(\'8\' AS BIGINT))) AS "t2" UNION ALL SELECT '
        '"r_regionkey" AS "n_nationkey_1", "mark_2" AS "expr", "mark_3" AS "expr_1" FROM (SELECT '
        '"r_regionkey", CAST(NULL AS BOOLEAN) AS "mark_2", TRUE AS "mark_3" FROM (SELECT "r_regionkey" FROM '
        '"tiny"."region") AS "t3") AS "t4") AS "t5" GROUP BY "n_nationkey_1") AS "t6" WHERE ("count" >= '
        "CAST('1' AS BIGINT)) AND (\"count_1\" = CAST('0' AS BIGINT))",
        spark="SELECT `n_nationkey_1` FROM (SELECT `n_nationkey_1`, CAST(COUNT(`expr`) AS BIGINT) AS `count`, "
        "CAST(COUNT(`expr_1`) AS BIGINT) AS `count_1` FROM (SELECT `n_nationkey` AS `n_nationkey_1`, `mark` "
        "AS `expr`, `mark_1` AS `expr_1` FROM (SELECT `n_nationkey`, TRUE AS `mark`, CAST(NULL AS BOOLEAN) AS "
        "`mark_1` FROM (SELECT `n_nationkey` FROM `tpch`.`tiny`.`nation`) AS `t1` WHERE (`n_nationkey` < "
        "CAST('8' AS BIGINT))) AS `t2` UNION ALL SELECT `r_regionkey` AS `n_nationkey_1`, `mark_2` AS `expr`, "
        "`mark_3` AS `expr_1` FROM (SELECT `r_regionkey`, CAST(NULL AS BOOLEAN) AS `mark_2`, TRUE AS `mark_3` "
        "FROM (SELECT `r_regionkey` FROM `tpch`.`tiny`.`region`) AS `t3`) AS `t4`) AS `t5` GROUP BY "
        "`n_nationkey_1`) AS `t6` WHERE (`count` >= CAST('1' AS BIGINT)) AND (`count_1` = CAST('0' AS "
        "BIGINT))",
    )


def test_unnest(written: Written) -> None:
    written.check(
        "SELECT r_name, x FROM region CROSS JOIN UNNEST(ARRAY[r_regionkey, 7]) AS t (x)",
        duckdb='SELECT "r_name", "field" FROM (SELECT "r_name", UNNEST("unnest") AS "field" FROM (SELECT '
        '"r_name", CAST(["r_regionkey", CAST(\'7\' AS BIGINT)] AS BIGINT[]) AS "unnest" FROM (SELECT '
        '"r_regionkey", "r_name" FROM "tiny"."region") AS "t1") AS "t2") AS "t4"',
        spark="SELECT `r_name`, `t3_item`.`0` AS `field` FROM (SELECT `r_name`, `unnest`, "
        "POSEXPLODE(ARRAYS_ZIP(COALESCE(`unnest`, ARRAY()))) AS (`t3_item_position`, `t3_item`) FROM (SELECT "
        "`r_name`, CAST(ARRAY(`r_regionkey`, CAST('7' AS BIGINT)) AS ARRAY<BIGINT>) AS `unnest` FROM (SELECT "
        "`r_regionkey`, `r_name` FROM `tpch`.`tiny`.`region`) AS `t1`) AS `t2`) AS `t4`",
    )


def test_unnest_with_ordinality(written: Written) -> None:
    written.check(
        "SELECT x, o FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS t (x, o)",
        duckdb='SELECT "field", "t2_position" AS "ordinality" FROM (SELECT UNNEST("unnest") AS "field", '
        'UNNEST(GENERATE_SERIES(1, COALESCE(CAST(LEN("unnest") AS BIGINT), 0))) AS "t2_position" '
        'FROM (SELECT CAST([\'a\', \'b\'] AS TEXT[]) AS "unnest") AS "t1") AS "t3"',
        spark="SELECT `t2_item`.`0` AS `field`, CAST((`t2_item_position` + 1) AS BIGINT) AS `ordinality` FROM "
        "(SELECT `unnest`, POSEXPLODE(ARRAYS_ZIP(COALESCE(`unnest`, ARRAY()))) AS (`t2_item_position`, "
        "`t2_item`) FROM (SELECT CAST(ARRAY('a', 'b') AS ARRAY<STRING>) AS `unnest`) AS `t1`) AS `t3`",
    )


def test_scalar_subquery_of_one_row(written: Written) -> None:
    """An aggregation without keys has one row: nothing checks it, and Spark computes it before it reads the others."""
    written.check(
        "SELECT n_name, (SELECT max(r_name) FROM region) FROM nation WHERE n_nationkey < 2",
        duckdb='SELECT "n_name", "expr" FROM (SELECT "n_name", "expr" FROM (SELECT "n_nationkey", "n_name" FROM '
        '(SELECT "n_nationkey", "n_name" FROM "tiny"."nation") AS "t1" WHERE ("n_nationkey" < CAST(\'2\' AS '
        'BIGINT))) AS "t2" CROSS JOIN (SELECT "max" AS "expr" FROM (SELECT MAX("r_name") AS "max" FROM (SELECT '
        '"r_name" FROM "tiny"."region") AS "t3") AS "t4") AS "t5") AS "t6"',
        spark="SELECT `n_name`, `expr` FROM (SELECT `n_name`, (SELECT `max` AS `expr` FROM (SELECT MAX(`r_name`) "
        "AS `max` FROM (SELECT `r_name` FROM `tpch`.`tiny`.`region`) AS `t3`) AS `t4`) AS `expr` FROM (SELECT "
        "`n_nationkey`, `n_name` FROM (SELECT `n_nationkey`, `n_name` FROM `tpch`.`tiny`.`nation`) AS `t1` WHERE "
        "(`n_nationkey` < CAST('2' AS BIGINT))) AS `t2`) AS `t5`",
    )


def test_scalar_subquery_that_may_have_several_rows(written: Written) -> None:
    written.check(
        "SELECT count(*) FROM nation WHERE n_name > (SELECT r_name FROM region WHERE r_regionkey = 2)",
        duckdb='SELECT COUNT(*) AS "count" FROM (SELECT 1 AS "dummy" FROM (SELECT "n_name", "expr" FROM (SELECT '
        '"n_name" FROM (SELECT "n_name" FROM "tiny"."nation") AS "t1") AS "t2" CROSS JOIN (SELECT "r_name" AS "expr" '
        "FROM (SELECT CASE WHEN (COUNT(*) > 1) THEN CAST(ERROR('Scalar sub-query has returned multiple rows') AS "
        'TEXT) ELSE FIRST("r_name") END AS "r_name" FROM (SELECT "r_name" FROM (SELECT "r_regionkey", "r_name" FROM '
        '"tiny"."region") AS "t3" WHERE ("r_regionkey" = CAST(\'2\' AS BIGINT))) AS "t4") AS "t5") AS "t6") AS "t7" '
        'WHERE ("n_name" > "expr")) AS "t8"',
        spark="SELECT CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT 1 AS `dummy` FROM (SELECT `n_name`, (SELECT "
        "`r_name` AS `expr` FROM (SELECT CASE WHEN (COUNT(*) > 1) THEN CAST(RAISE_ERROR('Scalar sub-query has "
        "returned multiple rows') AS STRING) ELSE FIRST(`r_name`) END AS `r_name` FROM (SELECT `r_name` FROM (SELECT "
        "`r_regionkey`, `r_name` FROM `tpch`.`tiny`.`region`) AS `t3` WHERE (`r_regionkey` = CAST('2' AS BIGINT))) "
        "AS `t4`) AS `t5`) AS `expr` FROM (SELECT `n_name` FROM (SELECT `n_name` FROM `tpch`.`tiny`.`nation`) AS "
        "`t1`) AS `t2`) AS `t6` WHERE (`n_name` > `expr`)) AS `t7`",
    )


def test_single_row_whose_column_a_join_reads(written: Written) -> None:
    written.check(
        "SELECT r_name FROM nation CROSS JOIN (SELECT max(n_regionkey) FROM nation) AS t (k) JOIN region ON "
        "r_regionkey = k AND n_nationkey = 1",
        duckdb='SELECT "r_name" FROM (SELECT "r_name" FROM (SELECT "n_nationkey" FROM (SELECT "n_nationkey" FROM '
        '"tiny"."nation") AS "t1" WHERE ("n_nationkey" = CAST(\'1\' AS BIGINT))) AS "t2" CROSS JOIN (SELECT '
        'CAST(MAX("n_regionkey_1") AS BIGINT) AS "max" FROM (SELECT "n_regionkey" AS "n_regionkey_1" FROM '
        '"tiny"."nation") AS "t3") AS "t4" INNER JOIN (SELECT "r_regionkey", "r_name" FROM (SELECT "r_regionkey", '
        '"r_name" FROM "tiny"."region") AS "t5") AS "t6" ON ("max" = "r_regionkey")) AS "t7"',
        spark="SELECT `r_name` FROM (SELECT `r_name` FROM (SELECT `n_nationkey` FROM (SELECT `n_nationkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1` WHERE (`n_nationkey` = CAST('1' AS BIGINT))) AS `t2` CROSS JOIN (SELECT "
        "CAST(MAX(`n_regionkey_1`) AS BIGINT) AS `max` FROM (SELECT `n_regionkey` AS `n_regionkey_1` FROM "
        "`tpch`.`tiny`.`nation`) AS `t3`) AS `t4` INNER JOIN (SELECT `r_regionkey`, `r_name` FROM (SELECT "
        "`r_regionkey`, `r_name` FROM `tpch`.`tiny`.`region`) AS `t5`) AS `t6` ON (`max` = `r_regionkey`)) AS `t7`",
    )


def test_row_numbers_of_correlated_subqueries(written: Written) -> None:
    written.check(
        "SELECT r_name FROM region WHERE NOT EXISTS (SELECT 1 FROM nation WHERE n_nationkey < r_regionkey)",
        duckdb='SELECT "r_name" FROM (SELECT "r_name", ("count" > CAST(\'0\' AS BIGINT)) AS "exists" FROM (SELECT '
        '"r_name", "count" FROM (SELECT "r_name", "unique", COUNT(*) FILTER(WHERE "non_null") AS "count" FROM '
        '(SELECT "r_name", "unique", "non_null" FROM (SELECT "r_regionkey", "r_name", ROW_NUMBER() OVER () AS '
        '"unique" FROM (SELECT "r_regionkey", "r_name" FROM "tiny"."region") AS "t1") AS "t2" LEFT JOIN '
        '(SELECT "n_nationkey", TRUE AS "non_null" FROM (SELECT "n_nationkey" FROM "tiny"."nation") AS "t3") '
        'AS "t4" ON ("n_nationkey" < "r_regionkey")) AS "t5" GROUP BY "r_name", "unique") AS "t6") AS "t7") '
        'AS "t8" WHERE (NOT "exists")',
        spark="SELECT `r_name` FROM (SELECT `r_name`, (`count` > CAST('0' AS BIGINT)) AS `exists` FROM (SELECT "
        "`r_name`, `count` FROM (SELECT `r_name`, `unique`, CAST(COUNT(*) FILTER(WHERE `non_null`) AS BIGINT) "
        "AS `count` FROM (SELECT `r_name`, `unique`, `non_null` FROM (SELECT `r_regionkey`, `r_name`, "
        "MONOTONICALLY_INCREASING_ID() AS `unique` FROM (SELECT `r_regionkey`, `r_name` FROM "
        "`tpch`.`tiny`.`region`) AS `t1`) AS `t2` LEFT JOIN (SELECT `n_nationkey`, TRUE AS `non_null` FROM "
        "(SELECT `n_nationkey` FROM `tpch`.`tiny`.`nation`) AS `t3`) AS `t4` ON (`n_nationkey` < "
        "`r_regionkey`)) AS `t5` GROUP BY `r_name`, `unique`) AS `t6`) AS `t7`) AS `t8` WHERE (NOT `exists`)",
    )

"""ROLLUP, CUBE and GROUPING SETS as text."""

from __future__ import annotations

from tests.unparser.written import Written


def test_grouping_sets(written: Written) -> None:
    """The source is read once, but for the empty set on Spark, which forgets its row where there are no rows."""
    written.check(
        "SELECT n_regionkey, n_name, count(*), grouping(n_regionkey, n_name) FROM nation GROUP BY "
        "ROLLUP (n_regionkey, n_name)",
        duckdb='SELECT "n_regionkey_gid", "n_name_gid", "count", CASE WHEN ("groupid" = CAST(\'0\' AS BIGINT)) '
        "THEN 0 WHEN (\"groupid\" = CAST('1' AS BIGINT)) THEN 1 WHEN (\"groupid\" = CAST('2' AS BIGINT)) "
        'THEN 3 ELSE CAST(NULL AS INT) END AS "grouping" FROM (SELECT "n_regionkey_gid", '
        '"n_name_gid", CAST(CASE "groupid" WHEN 0 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN 2 END AS BIGINT) '
        'AS "groupid", "count" FROM (SELECT "n_regionkey" AS "n_regionkey_gid", "n_name" AS '
        '"n_name_gid", GROUPING("n_regionkey") * 1 + GROUPING("n_name") * 2 AS "groupid", COUNT(*) AS '
        '"count" FROM (SELECT "n_name", "n_regionkey" FROM "tiny"."nation") AS "t1" GROUP BY GROUPING '
        'SETS (("n_regionkey", "n_name"), ("n_regionkey"), ())) AS "t2") AS "t3"',
        spark="SELECT `n_regionkey_gid`, `n_name_gid`, `count`, CASE WHEN (`groupid` = CAST('0' AS BIGINT)) "
        "THEN 0 WHEN (`groupid` = CAST('1' AS BIGINT)) THEN 1 WHEN (`groupid` = CAST('2' AS BIGINT)) "
        "THEN 3 ELSE CAST(NULL AS INT) END AS `grouping` FROM (SELECT `n_regionkey_gid`, "
        "`n_name_gid`, CAST(CASE `groupid` WHEN 0 THEN 0 WHEN 2 THEN 1 END AS BIGINT) AS `groupid`, "
        "`count` FROM (SELECT `n_regionkey` AS `n_regionkey_gid`, `n_name` AS `n_name_gid`, "
        "GROUPING(`n_regionkey`) * 1 + GROUPING(`n_name`) * 2 AS `groupid`, CAST(COUNT(*) AS BIGINT) "
        "AS `count` FROM (SELECT `n_name`, `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t1` GROUP "
        "BY GROUPING SETS ((`n_regionkey`, `n_name`), (`n_regionkey`))) AS `t2` UNION ALL SELECT "
        "CAST(NULL AS BIGINT) AS `n_regionkey_gid`, CAST(NULL AS STRING) AS `n_name_gid`, CAST(2 AS "
        "BIGINT) AS `groupid`, CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT `n_name`, "
        "`n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t3`) AS `t4`",
    )


def test_grouping_sets_over_groups(written: Written) -> None:
    """What costs more is computed once on Spark too, which gets a row more instead."""
    written.check(
        "SELECT k, max(n), count(*) FROM (SELECT n_regionkey k, count(*) n FROM nation GROUP BY 1) GROUP BY ROLLUP (k)",
        duckdb='SELECT "n_regionkey_gid", "max", "count_1" FROM (SELECT "n_regionkey_gid", CAST(CASE '
        '"groupid" WHEN 0 THEN 0 WHEN 1 THEN 1 END AS BIGINT) AS "groupid", "max", "count_1" FROM '
        '(SELECT "n_regionkey" AS "n_regionkey_gid", GROUPING("n_regionkey") * 1 AS "groupid", '
        'CAST(MAX("count") AS BIGINT) AS "max", COUNT(*) AS "count_1" FROM (SELECT "n_regionkey", '
        'COUNT(*) AS "count" FROM (SELECT "n_regionkey" FROM "tiny"."nation") AS "t1" GROUP BY '
        '"n_regionkey") AS "t2" GROUP BY GROUPING SETS (("n_regionkey"), ())) AS "t3") AS "t4"',
        spark="SELECT `n_regionkey_gid`, `max`, `count_1` FROM (SELECT `n_regionkey_gid`, CAST(CASE "
        "`groupid` WHEN 0 THEN 0 WHEN 1 THEN 1 END AS BIGINT) AS `groupid`, `max`, `count_1` FROM "
        "(SELECT `n_regionkey` AS `n_regionkey_gid`, GROUPING(`n_regionkey`) * 1 AS `groupid`, "
        "(COUNT(`procession_real`) > 0) OR (GROUPING(`n_regionkey`) * 1 = 1) AS `procession_wanted`, "
        "CAST(MAX(`count`) AS BIGINT) AS `max`, CAST(COUNT(*) FILTER(WHERE `procession_real`) AS "
        "BIGINT) AS `count_1` FROM (SELECT `n_regionkey`, `count`, TRUE AS `procession_real` FROM "
        "(SELECT `n_regionkey`, CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT `n_regionkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1` GROUP BY `n_regionkey`) AS `t2` UNION ALL SELECT NULL AS "
        "`n_regionkey`, NULL AS `count`, NULL AS `procession_real`) AS `t3` GROUP BY GROUPING SETS "
        "((`n_regionkey`), ())) AS `t4` WHERE `procession_wanted`) AS `t5`",
    )


def test_equal_grouping_sets(written: Written) -> None:
    """Engines give the rows of equal sets once."""
    written.check(
        "SELECT n_regionkey, count(*) FROM nation GROUP BY GROUPING SETS ((n_regionkey), (n_regionkey))",
        duckdb='SELECT "n_regionkey_gid", "count" FROM (SELECT "n_regionkey" AS "n_regionkey_gid", CAST(0 AS '
        'BIGINT) AS "groupid", COUNT(*) AS "count" FROM (SELECT "n_regionkey" FROM "tiny"."nation") '
        'AS "t1" GROUP BY "n_regionkey" UNION ALL SELECT "n_regionkey" AS "n_regionkey_gid", CAST(1 '
        'AS BIGINT) AS "groupid", COUNT(*) AS "count" FROM (SELECT "n_regionkey" FROM '
        '"tiny"."nation") AS "t2" GROUP BY "n_regionkey") AS "t3"',
        spark="SELECT `n_regionkey_gid`, `count` FROM (SELECT `n_regionkey` AS `n_regionkey_gid`, CAST(0 AS "
        "BIGINT) AS `groupid`, CAST(COUNT(*) AS BIGINT) AS `count` FROM (SELECT `n_regionkey` FROM "
        "`tpch`.`tiny`.`nation`) AS `t1` GROUP BY `n_regionkey` UNION ALL SELECT `n_regionkey` AS "
        "`n_regionkey_gid`, CAST(1 AS BIGINT) AS `groupid`, CAST(COUNT(*) AS BIGINT) AS `count` FROM "
        "(SELECT `n_regionkey` FROM `tpch`.`tiny`.`nation`) AS `t2` GROUP BY `n_regionkey`) AS `t3`",
    )

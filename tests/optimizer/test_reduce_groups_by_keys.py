"""Rows of groups that a join with few keys drops leave before they are grouped."""

from __future__ import annotations

from tests.optimizer.rule_cases import TIDY, RuleCases

RULE = "reduce_groups_by_keys"
FIRST = ("outer_joins_to_inner", *TIDY, "reorder_joins")
"""Rules that say what is joined with what."""
COUNTED = "SELECT l_suppkey, count(*) AS parts FROM lineitem GROUP BY l_suppkey"


def test_a_group_by_and_a_few_of_its_keys(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        f"SELECT s_name, parts FROM ({COUNTED}) JOIN supplier ON l_suppkey = s_suppkey WHERE s_nationkey = 3",
        """
        Output[s_name, count]
          InnerJoin[l_suppkey = s_suppkey] => count, s_name
            Aggregate[l_suppkey]
                count := count(*)
              Scan[lineitem: l_suppkey]
            Filter[s_nationkey = 3]
              Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        """
        Output[s_name, count]
          InnerJoin[l_suppkey = s_suppkey] => count, s_name
            Aggregate[l_suppkey]
                count := count(*)
              Filter[kept_12]
                SemiJoin[kept_12 := l_suppkey IN s_suppkey_9]
                  Scan[lineitem: l_suppkey]
                  Filter[s_nationkey_9 = 3]
                    Scan[supplier: s_suppkey_9, s_nationkey_9]
            Filter[s_nationkey = 3]
              Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        first=FIRST,
    )


def test_a_correlated_aggregate(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT p_name FROM part WHERE p_brand = 'Brand#23' AND p_size > (SELECT avg(l_quantity) FROM "
        "lineitem WHERE l_partkey = p_partkey)",
        """
        Output[p_name]
          Project[p_name]
            Filter[(CAST(p_size AS double)) > expr]
              Project[p_name, p_size, expr := avg]
                InnerJoin[l_partkey = p_partkey] => avg, p_name, p_size
                  Aggregate[l_partkey]
                      avg := avg(l_quantity)
                    Scan[lineitem: l_partkey, l_quantity]
                  Filter[p_brand = 'Brand#23']
                    Scan[part: p_partkey, p_name, p_brand, p_size]
        """,
        """
        Output[p_name]
          Project[p_name]
            Filter[(CAST(p_size AS double)) > expr]
              Project[p_name, p_size, expr := avg]
                InnerJoin[l_partkey = p_partkey] => avg, p_name, p_size
                  Aggregate[l_partkey]
                      avg := avg(l_quantity)
                    Filter[kept_18]
                      SemiJoin[kept_18 := l_partkey IN p_partkey_15]
                        Scan[lineitem: l_partkey, l_quantity]
                        Filter[p_brand_15 = 'Brand#23']
                          Scan[part: p_partkey_15, p_brand_15]
                  Filter[p_brand = 'Brand#23']
                    Scan[part: p_partkey, p_name, p_brand, p_size]
        """,
        first=FIRST,
    )


def test_rows_leave_below_the_joins_of_what_is_grouped(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT s_name, total FROM supplier LEFT JOIN (SELECT l_suppkey + 0 AS k, l_suppkey AS l, "
        "sum(o_totalprice) AS total FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY l_suppkey) "
        "ON l = s_suppkey WHERE s_name LIKE '%7'",
        """
        Output[s_name, sum]
          LeftJoin[s_suppkey = l_suppkey] => s_name, sum
            Filter[LIKE(s_name, CAST('%7' AS likepattern))]
              Scan[supplier: s_suppkey, s_name]
            Aggregate[l_suppkey]
                sum := sum(o_totalprice)
              InnerJoin[l_orderkey = o_orderkey] => l_suppkey, o_totalprice
                Scan[lineitem: l_orderkey, l_suppkey]
                Scan[orders: o_orderkey, o_totalprice]
        """,
        """
        Output[s_name, sum]
          LeftJoin[s_suppkey = l_suppkey] => s_name, sum
            Filter[LIKE(s_name, CAST('%7' AS likepattern))]
              Scan[supplier: s_suppkey, s_name]
            Aggregate[l_suppkey]
                sum := sum(o_totalprice)
              InnerJoin[l_orderkey = o_orderkey] => l_suppkey, o_totalprice
                Filter[kept_14]
                  SemiJoin[kept_14 := l_suppkey IN s_suppkey_11]
                    Scan[lineitem: l_orderkey, l_suppkey]
                    Filter[LIKE(s_name_11, CAST('%7' AS likepattern))]
                      Scan[supplier: s_suppkey_11, s_name_11]
                Scan[orders: o_orderkey, o_totalprice]
        """,
        first=FIRST,
    )


def test_keys_from_below_a_join(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        "SELECT n_name, total FROM nation JOIN customer ON n_nationkey = c_nationkey JOIN (SELECT o_custkey, "
        "l_shipmode, sum(l_quantity) AS total FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY "
        "o_custkey, l_shipmode) ON c_custkey = o_custkey WHERE n_name = 'PERU' AND c_mktsegment = 'BUILDING'",
        """
        Output[n_name, sum]
          InnerJoin[c_nationkey = n_nationkey] => sum, n_name
            InnerJoin[o_custkey = c_custkey] => sum, c_nationkey
              Project[o_custkey, sum]
                Aggregate[o_custkey, l_shipmode]
                    sum := sum(l_quantity)
                  InnerJoin[l_orderkey = o_orderkey] => l_quantity, l_shipmode, o_custkey
                    Scan[lineitem: l_orderkey, l_quantity, l_shipmode]
                    Scan[orders: o_orderkey, o_custkey]
              Filter[c_mktsegment = 'BUILDING']
                Scan[customer: c_custkey, c_nationkey, c_mktsegment]
            Filter[n_name = 'PERU']
              Scan[nation: n_nationkey, n_name]
        """,
        """
        Output[n_name, sum]
          InnerJoin[c_nationkey = n_nationkey] => sum, n_name
            InnerJoin[o_custkey = c_custkey] => sum, c_nationkey
              Project[o_custkey, sum]
                Aggregate[o_custkey, l_shipmode]
                    sum := sum(l_quantity)
                  InnerJoin[l_orderkey = o_orderkey] => l_quantity, l_shipmode, o_custkey
                    Scan[lineitem: l_orderkey, l_quantity, l_shipmode]
                    Filter[kept_20]
                      SemiJoin[kept_20 := o_custkey IN c_custkey_17]
                        Scan[orders: o_orderkey, o_custkey]
                        Filter[c_mktsegment_17 = 'BUILDING']
                          Scan[customer: c_custkey_17, c_mktsegment_17]
              Filter[c_mktsegment = 'BUILDING']
                Scan[customer: c_custkey, c_nationkey, c_mktsegment]
            Filter[n_name = 'PERU']
              Scan[nation: n_nationkey, n_name]
        """,
        first=FIRST,
    )


def test_all_keys(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        f"SELECT s_name, parts FROM ({COUNTED}) JOIN supplier ON l_suppkey = s_suppkey",
        """
        Output[s_name, count]
          InnerJoin[l_suppkey = s_suppkey] => count, s_name
            Aggregate[l_suppkey]
                count := count(*)
              Scan[lineitem: l_suppkey]
            Scan[supplier: s_suppkey, s_name]
        """,
        first=FIRST,
    )


def test_groups_that_are_read_twice_are_computed_once(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        f"WITH g AS ({COUNTED}) SELECT s_name, g.parts FROM g JOIN supplier ON g.l_suppkey = s_suppkey WHERE "
        "s_nationkey = 3 AND parts > (SELECT avg(parts) FROM g)",
        """
        Output[s_name, count]
          Project[s_name, count]
            Filter[(CAST(count AS double)) > expr]
              CrossJoin[] => count, s_name, expr
                InnerJoin[l_suppkey = s_suppkey] => count, s_name
                  Aggregate[l_suppkey]
                      count := count(*)
                    Scan[lineitem: l_suppkey]
                  Filter[s_nationkey = 3]
                    Scan[supplier: s_suppkey, s_name, s_nationkey]
                Project[expr := avg]
                  EnforceSingleRow
                    Aggregate
                        avg := avg(count_1)
                      Project[count_1]
                        Aggregate[l_suppkey_1]
                            count_1 := count(*)
                          Scan[lineitem: l_suppkey_1]
        """,
        first=FIRST,
    )


def test_a_full_join_keeps_all_groups(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        f"SELECT s_name, parts FROM ({COUNTED}) FULL JOIN (SELECT * FROM supplier WHERE s_nationkey = 3) ON "
        "l_suppkey = s_suppkey",
        """
        Output[s_name, count]
          FullJoin[l_suppkey = s_suppkey] => count, s_name
            Aggregate[l_suppkey]
                count := count(*)
              Scan[lineitem: l_suppkey]
            Project[s_suppkey, s_name]
              Filter[s_nationkey = 3]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        first=FIRST,
    )


def test_an_outer_join_keeps_the_groups_of_its_left_side(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        f"SELECT s_name, parts FROM ({COUNTED}) LEFT JOIN (SELECT * FROM supplier WHERE s_nationkey = 3) ON "
        "l_suppkey = s_suppkey",
        """
        Output[s_name, count]
          LeftJoin[l_suppkey = s_suppkey] => count, s_name
            Aggregate[l_suppkey]
                count := count(*)
              Scan[lineitem: l_suppkey]
            Project[s_suppkey, s_name]
              Filter[s_nationkey = 3]
                Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        first=FIRST,
    )


def test_only_what_has_one_value_is_asked_twice(rule: RuleCases) -> None:
    rule.fires(
        RULE,
        f"SELECT s_name, parts FROM ({COUNTED}) JOIN supplier ON l_suppkey = s_suppkey WHERE s_nationkey = 3 "
        "AND s_acctbal > random() - 100000",
        """
        Output[s_name, count]
          Project[s_name, count]
            Filter[s_acctbal > ((random()) - 100000.0)]
              InnerJoin[l_suppkey = s_suppkey] => count, s_name, s_acctbal
                Aggregate[l_suppkey]
                    count := count(*)
                  Scan[lineitem: l_suppkey]
                Filter[s_nationkey = 3]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
        """
        Output[s_name, count]
          Project[s_name, count]
            Filter[s_acctbal > ((random()) - 100000.0)]
              InnerJoin[l_suppkey = s_suppkey] => count, s_name, s_acctbal
                Aggregate[l_suppkey]
                    count := count(*)
                  Filter[kept_13]
                    SemiJoin[kept_13 := l_suppkey IN s_suppkey_10]
                      Scan[lineitem: l_suppkey]
                      Filter[s_nationkey_10 = 3]
                        Scan[supplier: s_suppkey_10, s_nationkey_10]
                Filter[s_nationkey = 3]
                  Scan[supplier: s_suppkey, s_name, s_nationkey, s_acctbal]
        """,
        first=FIRST,
    )


def test_several_grouping_sets(rule: RuleCases) -> None:
    rule.rests(
        RULE,
        "SELECT s_name, parts FROM (SELECT l_suppkey, count(*) AS parts FROM lineitem GROUP BY ROLLUP "
        "(l_suppkey)) JOIN supplier ON l_suppkey = s_suppkey WHERE s_nationkey = 3",
        """
        Output[s_name, count]
          InnerJoin[l_suppkey_gid = s_suppkey] => count, s_name
            Project[l_suppkey_gid, count]
              Aggregate[l_suppkey_gid, groupid]
                  count := count(*)
                GroupId[[l_suppkey], []]
                    l_suppkey_gid := l_suppkey
                  Scan[lineitem: l_suppkey]
            Filter[s_nationkey = 3]
              Scan[supplier: s_suppkey, s_name, s_nationkey]
        """,
        first=FIRST,
    )

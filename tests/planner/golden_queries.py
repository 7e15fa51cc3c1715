"""The queries whose plans are golden files, by name. Those of ``PRESTO`` were planned by a Presto 0.296 as well."""

from __future__ import annotations

PRESTO = {
    "agg_distinct_many": "SELECT count(DISTINCT o_custkey), count(DISTINCT o_orderdate), sum(DISTINCT o_shippriority), "
    "count(*) FROM orders",
    "agg_distinct_mixed": "SELECT o_orderstatus, count(DISTINCT o_custkey), sum(o_totalprice), "
    "avg(DISTINCT o_totalprice) FROM orders GROUP BY o_orderstatus",
    "agg_filter": "SELECT o_orderstatus, count(*) FILTER (WHERE o_totalprice > 100000), "
    "sum(o_totalprice) FILTER (WHERE o_orderpriority = '1-URGENT') FROM orders GROUP BY o_orderstatus",
    "agg_global": "SELECT count(*), count(o_comment), sum(o_orderkey), sum(o_totalprice), avg(o_orderkey), "
    "min(o_orderdate), max(o_comment), stddev(o_totalprice), variance(o_totalprice) FROM orders",
    "agg_having": "SELECT o_custkey, sum(o_totalprice) FROM orders GROUP BY o_custkey "
    "HAVING sum(o_totalprice) > 1e6 AND count(*) > 3",
    "agg_ordered": "SELECT n_regionkey, array_agg(n_name ORDER BY n_name DESC), map_agg(n_nationkey, n_name), "
    "histogram(n_regionkey) FROM nation GROUP BY n_regionkey",
    "anti_not_in": "SELECT c_custkey FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "distinct": "SELECT DISTINCT o_orderstatus, o_orderpriority FROM orders",
    "except": "SELECT r_regionkey FROM region EXCEPT SELECT n_regionkey FROM nation WHERE n_regionkey > 2",
    "grouping_sets": "SELECT o_custkey, o_orderstatus, o_orderpriority, sum(o_totalprice), "
    "grouping(o_custkey, o_orderstatus, o_orderpriority) FROM orders "
    "GROUP BY GROUPING SETS ((o_custkey), (o_orderstatus, o_orderpriority), ())",
    "information_schema": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tiny'",
    "intersect": "SELECT n_regionkey FROM nation INTERSECT SELECT r_regionkey FROM region WHERE r_regionkey > 1",
    "join_full": "SELECT n_name, r_name FROM nation FULL OUTER JOIN region ON n_regionkey = r_regionkey + 3",
    "join_inner": "SELECT o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey",
    "join_left_filter": "SELECT c_name, o_orderkey FROM customer LEFT JOIN orders "
    "ON c_custkey = o_custkey AND o_totalprice > c_acctbal * 10",
    "join_multi_key": "SELECT count(*) FROM lineitem JOIN partsupp "
    "ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_quantity < ps_availqty",
    "join_nested_loop_left": "SELECT n_name, r_name FROM nation LEFT JOIN region ON n_regionkey < r_regionkey",
    "join_or": "SELECT count(*) FROM nation, region WHERE n_regionkey = r_regionkey OR n_name = r_name",
    "join_right": "SELECT n_name, s_name FROM supplier RIGHT JOIN nation ON s_nationkey = n_nationkey",
    "lambda_transform": "SELECT transform(ARRAY[n_nationkey, n_regionkey], x -> x * 2 + n_nationkey), "
    "filter(ARRAY[1, 2, 3], x -> x > n_regionkey) FROM nation",
    "limit": "SELECT * FROM lineitem LIMIT 10",
    "mark_distinct": "SELECT n_regionkey, count(DISTINCT n_name), count(DISTINCT n_comment), sum(n_nationkey) "
    "FROM nation GROUP BY n_regionkey",
    "offset": "SELECT n_name FROM nation ORDER BY n_name OFFSET 3 ROWS LIMIT 5",
    "order_by": "SELECT n_name FROM nation ORDER BY n_regionkey DESC, n_name",
    "predicates": "SELECT count(*) FROM orders WHERE o_orderstatus IN ('F', 'O') AND o_totalprice BETWEEN 1e3 AND 1e5 "
    "AND o_comment LIKE '%x!%y%' ESCAPE '!' AND NOT (o_clerk = 'a' OR o_custkey <> 5) AND o_orderkey NOT IN (1, 2)",
    "quantified": "SELECT n_name FROM nation WHERE n_nationkey >= ALL (SELECT r_regionkey FROM region) "
    "AND n_regionkey = ANY (SELECT r_regionkey FROM region WHERE r_name < 'B')",
    "row_number_only": "SELECT * FROM (SELECT n_name, row_number() OVER (PARTITION BY n_regionkey) r FROM nation) "
    "WHERE r < 3",
    "semi_exists": "SELECT c_name FROM customer c "
    "WHERE EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = c.c_custkey AND o.o_totalprice > 300000)",
    "semi_in": "SELECT count(*) FROM orders WHERE o_custkey IN "
    "(SELECT c_custkey FROM customer WHERE c_mktsegment = 'BUILDING')",
    "subquery_lateral": "SELECT n_name, x FROM nation CROSS JOIN LATERAL (SELECT n_nationkey * 2 AS x)",
    "subquery_scalar": "SELECT n_name, (SELECT max(r_name) FROM region), "
    "(SELECT count(*) FROM supplier WHERE s_nationkey = n_nationkey) FROM nation",
    "tablesample_system": "SELECT count(*) FROM orders TABLESAMPLE SYSTEM (10)",
    "topn": "SELECT o_orderkey, o_totalprice FROM orders "
    "ORDER BY o_totalprice DESC NULLS FIRST, o_orderkey ASC NULLS LAST LIMIT 5",
    "topn_row_number": "SELECT * FROM (SELECT o_custkey, o_orderkey, "
    "row_number() OVER (PARTITION BY o_custkey ORDER BY o_totalprice DESC) r FROM orders) WHERE r <= 3",
    "union": "SELECT n_regionkey FROM nation UNION SELECT r_regionkey FROM region",
    "unnest_array": "SELECT n_name, e, o FROM nation "
    "CROSS JOIN UNNEST(ARRAY[n_nationkey, n_regionkey], ARRAY['a', 'b', 'c']) WITH ORDINALITY AS t (e, f, o)",
    "unnest_map": "SELECT k, v FROM UNNEST(MAP(ARRAY['a', 'b'], ARRAY[1, 2])) AS t (k, v)",
    "values": "SELECT * FROM (VALUES (1, 'a', 1.5, DATE '2020-01-01'), (2, NULL, 2.5, NULL), "
    "(NULL, 'ccc', NULL, DATE '1969-12-31')) AS t (i, s, d, dt)",
    "values_empty": "SELECT n_name FROM nation WHERE false",
    "win_no_order": "SELECT n_nationkey, count(*) OVER (), avg(n_nationkey) OVER (PARTITION BY n_regionkey) "
    "FROM nation",
    "win_rows": "SELECT o_orderkey, sum(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate "
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM orders",
}
OURS = {
    "correlated_count_of_nothing": "SELECT c_name FROM customer "
    "WHERE (SELECT count(*) FROM orders WHERE o_custkey = c_custkey) = 0",
    "correlated_exists_inequality": "SELECT n_name FROM nation a "
    "WHERE NOT EXISTS (SELECT 1 FROM nation b WHERE b.n_regionkey = a.n_regionkey AND b.n_nationkey > a.n_nationkey)",
    "correlated_in": "SELECT n_name FROM nation WHERE n_name IN "
    "(SELECT s_name FROM supplier WHERE s_nationkey = n_nationkey)",
    "correlated_scalar": "SELECT n_name, (SELECT r_name FROM region WHERE r_regionkey = n_regionkey) FROM nation",
    "correlated_two_levels": "SELECT r_name FROM region WHERE EXISTS (SELECT 1 FROM nation "
    "WHERE n_regionkey = r_regionkey AND EXISTS (SELECT 1 FROM supplier WHERE s_nationkey = n_nationkey))",
    "cte_twice": "WITH big AS (SELECT o_custkey k, sum(o_totalprice) s FROM orders GROUP BY 1) "
    "SELECT a.k FROM big a JOIN big b ON a.k = b.k WHERE a.s > 1e6",
    "group_by_named_twice": "SELECT a, b, count(*) FROM (SELECT n_regionkey a, n_regionkey b FROM nation) "
    "GROUP BY ROLLUP (a, b)",
    "jdbc_group": "SELECT city, count(*) FROM shop.public.people WHERE name LIKE 'A%' "
    "GROUP BY city ORDER BY 2 DESC LIMIT 3",
    "jdbc_join": "SELECT city, sum(amount) FROM shop.public.people p JOIN shop.public.purchases b ON p.id = b.person "
    "WHERE b.day >= DATE '2026-01-01' GROUP BY city",
    "jdbc_with_lake": "SELECT p.name, e.payload FROM shop.public.people p JOIN lake.db.events e ON p.id = e.customer "
    "WHERE p.city = 'Rome' AND e.day = DATE '2026-01-01'",
    "join_of_expressions": "SELECT n_name, r_name FROM nation, region WHERE n_regionkey + 1 = r_regionkey + 1",
    "join_using": "SELECT k, n_name, s_name FROM (SELECT n_nationkey k, n_name FROM nation) "
    "JOIN (SELECT s_nationkey k, s_name FROM supplier) USING (k)",
    "lake_domains": "SELECT orderkey FROM lake.db.orders "
    "WHERE status IN ('F', 'O') AND day > DATE '2026-01-01' AND length(comment) > 3",
    "late_filter": "SELECT * FROM lake.db.events WHERE id BETWEEN 5 AND 9",
    "late_join": "SELECT e.payload, c.address, upper(c.name) FROM lake.db.events e JOIN lake.db.customers c "
    "ON e.customer = c.id ORDER BY e.amount DESC LIMIT 5",
    "late_top_n": "SELECT * FROM lake.db.events ORDER BY amount DESC LIMIT 10",
    "left_join_and_where": "SELECT n_name, s_name FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey "
    "WHERE s_acctbal IS NULL AND n_regionkey = 1",
    "no_from": "SELECT 1 + 1, upper('a'), current_user",
    "rank_over_groups": "SELECT c_nationkey, rank() OVER (ORDER BY sum(c_acctbal) DESC) "
    "FROM customer GROUP BY c_nationkey",
    "union_all_ordered": "SELECT n_name AS name FROM nation UNION ALL SELECT r_name FROM region ORDER BY name LIMIT 7",
    "where_is_never_true": "SELECT o_orderkey, o_comment FROM orders WHERE 1 = 0 ORDER BY 2",
}

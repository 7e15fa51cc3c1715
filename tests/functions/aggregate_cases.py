# ruff: noqa: E501
# A table: one case beside the other reads better than one below the other.
"""Aggregates over a table ``t(k, v, x, b, m)`` of four rows; expectations from Presto's documentation and by hand."""

from __future__ import annotations

from typing import Any

ROWS = "VALUES ('a', 1, 1.0e0, true, MAP(ARRAY['p'], ARRAY[1])), ('a', 3, 2.0e0, false, MAP(ARRAY['p', 'q'], ARRAY[2, 5])), ('b', 2, 4.0e0, true, NULL), (NULL, NULL, 0.5e0, NULL, MAP(ARRAY['r'], ARRAY[7]))"

AGGREGATES: tuple[tuple[str, Any], ...] = (
    ("max_data_size_for_stats(k)", 1), ("sum_data_size_for_stats(k)", 3), ("count(*)", 4), ("count(v)", 3), ("count(DISTINCT k)", 2), ("sum(v)", 6), ("avg(v)", 2.0), ("min(v)", 1), ("max(k)", "b"), ("max(v, 2)", [3, 2]), ("min(v, 2)", [1, 2]),
    ("max_by(k, v)", "a"), ("min_by(k, v)", "a"), ("max_by(k, v, 2)", ["a", "b"]), ("min_by(v, x, 2)", [None, 1]), ("bool_and(b)", False), ("bool_or(b)", True), ("every(b)", False), ("count_if(b)", 2), ("count_if(b) FILTER (WHERE b IS NULL)", 0), ("count_if(DISTINCT b)", 1),
    ("arbitrary(k) IS NOT NULL", True), ("any_value(k) IS NOT NULL", True), ("array_agg(v ORDER BY v)", [1, 2, 3, None]), ("array_agg(DISTINCT k ORDER BY k)", ["a", "b", None]), ("array_sort(set_agg(k))", ["a", "b", None]), ("array_sort(set_union(map_keys(m)))", ["p", "q", "r"]),
    ("map_agg(k, v) FILTER (WHERE v > 1)", {"a": 3, "b": 2}), ("multimap_agg(k, v ORDER BY v)", {"a": [1, 3], "b": [2]}), ("map_union_sum(m)", {"p": 3, "q": 5, "r": 7}), ("cardinality(map_union(m))", 3), ("histogram(k)", {"a": 2, "b": 1}),
    ("reduce_agg(v, 0, (s, i) -> s + i, (s, r) -> s + r)", 6), ("reduce_agg(k, '', (s, i) -> s || i, (s, r) -> s || r) FILTER (WHERE v = 2)", "b"), ("approx_most_frequent(2, k, 10)", {"a": 2, "b": 1}), ("approx_distinct(v)", 3), ("approx_distinct(v, 0.023e0)", 3),
    ("approx_percentile(v, 0.5e0)", 2), ("approx_percentile(x, ARRAY[0.25e0, 1e0])", [1.0, 4.0]), ("approx_percentile(v, 2, 0.5e0)", 2), ("approx_percentile(v, 0.5e0, 0.01e0)", 2), ("round(geometric_mean(x), 9)", 1.414213562), ("entropy(v)", 1.4591479170272448),
    ("stddev(v)", 1.0), ("stddev_samp(v)", 1.0), ("stddev_pop(v)", 0.816496580927726), ("variance(v)", 1.0), ("var_samp(v)", 1.0), ("var_pop(v)", 0.6666666666666666), ("corr(v, v)", 1.0), ("corr(v, 1)", None), ("corr(x, v) FILTER (WHERE v = 2)", None), ("covar_pop(x, x)", 1.796875), ("covar_samp(v, v)", 1.0),
    ("regr_slope(v, v)", 1.0), ("regr_intercept(v, v)", 0.0), ("regr_count(v, v)", 3.0), ("regr_avgx(v, v)", 2.0), ("regr_avgy(v, v)", 2.0), ("regr_r2(v, v)", 1.0), ("regr_sxx(v, v)", 2.0), ("regr_sxy(v, v)", 2.0), ("regr_syy(v, v)", 2.0),
    ("skewness(v)", 0.0), ("round(skewness(x), 6)", 0.656808), ("round(kurtosis(x), 6)", 0.757656), ("bitwise_and_agg(v)", 0), ("bitwise_or_agg(v)", 3), ("bitwise_xor_agg(v)", 0), ("numeric_histogram(2, x)", {"1.1666666666666667": 3.0, "4.0": 1.0}), ("length(checksum(v))", 8), ("checksum(v) = checksum(DISTINCT v)", True),
    ("cardinality(approx_set(v))", 3), ("tdigest_agg(x) IS NULL", False), ("value_at_quantile(qdigest_agg(CAST(v AS bigint)), 0.9e0)", 3), ("values_at_quantiles(qdigest_agg(CAST(v AS bigint)), ARRAY[0.0e0, 1.0e0])", [1, 3]), ("quantile_at_value(qdigest_agg(CAST(v AS bigint)), 1)", 0.0),
    ("quantile_at_value(tdigest_agg(x), 0e0)", 0.0), ("quantiles_at_values(tdigest_agg(x), ARRAY[0e0, 9e0])", [0.0, 1.0]), ("trimmed_mean(tdigest_agg(x), 0e0, 1e0)", 1.875), ("value_at_quantile(scale_tdigest(tdigest_agg(x), 2e0), 1e0)", 4.0),
    ("cardinality(destructure_tdigest(tdigest_agg(x)).centroid_means)", 4), ("value_at_quantile(merge_tdigest(ARRAY[tdigest_agg(x), tdigest_agg(x)]), 1e0)", 4.0), ("value_at_quantile(construct_tdigest(ARRAY[1e0, 2e0], ARRAY[1e0, 1e0], 100e0, 1e0, 2e0, 3e0, 2), 1e0)", 2.0), ("cardinality(CAST(approx_set(v) AS P4HyperLogLog))", 3),
    ("value_at_quantile(scale_qdigest(qdigest_agg(CAST(v AS bigint)), 2e0), 0.9e0)", 3), ("cardinality(make_set_digest(v))", 3), ("cardinality(hash_counts(make_set_digest(k)))", 2), ("jaccard_index(make_set_digest(v), make_set_digest(v + 1))", 1 / 3), ("intersection_cardinality(make_set_digest(v), make_set_digest(v + 1))", 2),
    ("cardinality(khyperloglog_agg(k, v))", 2), ("element_at(uniqueness_distribution(khyperloglog_agg(k, v)), 1)", 0.5), ("reidentification_potential(khyperloglog_agg(k, v), 1)", 0.5), ("cardinality(merge_khll(ARRAY[khyperloglog_agg(k, v), khyperloglog_agg(v, k)]))", 5), ("cardinality(merge_hll(ARRAY[approx_set(v), approx_set(v + 2)]))", 5),
    ("sketch_kll_quantile(sketch_kll(v), 0.5e0)", 2), ("sketch_kll_rank(sketch_kll(v), 2)", 0.6666666666666666), ("sketch_kll_quantile(sketch_kll_with_k(v, 200), 1e0)", 3), ("sketch_theta_estimate(sketch_theta(v))", 3.0), ("sketch_theta_summary(sketch_theta(v))", [3.0, 1.0, 3.0, 3.0, 3]),
    ("classification_thresholds(2, b, x / 4e0)", [0.0, 0.5]), ("classification_precision(2, b, x / 4e0)", [0.6666666666666666, 0.5]), ("classification_recall(2, b, x / 4e0)", [1.0, 0.5]), ("classification_fall_out(2, b, x / 4e0)", [1.0, 1.0]), ("classification_miss_rate(2, b, x / 4e0)", [0.0, 0.5]),
    ("noisy_approx_distinct_sfm(v, infinity())", 3), ("cardinality(merge_sfm(ARRAY[noisy_approx_set_sfm(k, infinity()), NULL, noisy_approx_set_sfm(v, infinity(), 4096, 24)]))", 5), ("cardinality(noisy_approx_set_sfm_from_index_and_zeros(v, v, infinity(), 1024))", 3),
    ("noisy_count_gaussian(v, 0e0)", 3), ("noisy_count_if_gaussian(b, 0e0)", 2), ("noisy_sum_gaussian(v, 0e0)", 6.0), ("noisy_avg_gaussian(v, 0e0)", 2.0), ("cardinality(reservoir_sample(NULL, 0, v, 2).sample)", 2), ("round(differential_entropy(100, x), 3)", 2.446),
)  # fmt: skip

EMPTY: tuple[tuple[str, Any], ...] = (
    ("count_if(b)", 0), ("count_if(b) FILTER (WHERE b)", 0),
    ("count(*)", 0), ("sum(v)", None), ("array_agg(v)", None), ("map_agg(k, v)", None), ("histogram(k)", None), ("reduce_agg(v, 0, (s, i) -> s + i, (s, r) -> s + r)", None), ("approx_percentile(v, 0.5e0)", None), ("entropy(v)", 0.0), ("approx_distinct(v)", 0), ("checksum(v)", None), ("max(v, 2)", None), ("approx_set(v)", None),
)  # fmt: skip

WINDOWS: tuple[tuple[str, Any], ...] = (
    ("row_number() OVER (ORDER BY v)", [1, 2, 3, 4]), ("rank() OVER (ORDER BY k)", [1, 1, 3, 4]), ("dense_rank() OVER (ORDER BY k)", [1, 1, 2, 3]), ("percent_rank() OVER (ORDER BY v)", [0.0, 0.3333333333333333, 0.6666666666666666, 1.0]), ("cume_dist() OVER (ORDER BY v)", [0.25, 0.5, 0.75, 1.0]),
    ("ntile(2) OVER (ORDER BY v)", [1, 1, 2, 2]), ("lag(v) OVER (ORDER BY v)", [1, 2, 3, None]), ("lead(v, 1, 0) OVER (ORDER BY v)", [0, 2, 3, None]), ("first_value(v) OVER (ORDER BY v)", [1, 1, 1, 1]), ("last_value(v) OVER (ORDER BY v)", [1, 2, 3, None]), ("nth_value(v, 2) OVER (ORDER BY v)", [2, 2, 2, None]),
    ("cardinality(array_agg(v) OVER (ORDER BY v))", [1, 2, 3, 4]), ("reduce_agg(v, 0, (s, i) -> s + i, (s, r) -> s + r) OVER (ORDER BY v)", [1, 3, 6, 6]), ("entropy(v) OVER (PARTITION BY k)", [0.0, 0.0, 0.8112781244591328, 0.8112781244591328]), ("cardinality(set_agg(k) OVER (ORDER BY v))", [1, 2, 2, 3]),
)  # fmt: skip
"""Each column sorted, NULLs last."""

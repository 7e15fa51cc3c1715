"""The table of ``benchmarks.rewrite`` along a Z-order curve through part and ship date, beside Iceberg's own."""

from __future__ import annotations

from benchmarks.rewrite import Case, run_case

CASE = Case(
    "rewrite_zorder",
    {"strategy": "sort", "sorted_by": ("zorder(l_partkey, l_shipdate)",)},
    ", strategy => 'sort', sort_order => 'zorder(l_partkey, l_shipdate)'",
)

if __name__ == "__main__":
    run_case(CASE)

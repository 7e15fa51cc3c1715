"""The table of ``benchmarks.rewrite`` sorted by ship date and part, over all files, beside Iceberg's own sort."""

from __future__ import annotations

from benchmarks.rewrite import Case, run_case

CASE = Case(
    "rewrite_sort",
    {"strategy": "sort", "sorted_by": ("l_shipdate", "l_partkey DESC")},
    ", strategy => 'sort', sort_order => 'l_shipdate ASC NULLS FIRST, l_partkey DESC NULLS LAST'",
)

if __name__ == "__main__":
    run_case(CASE)

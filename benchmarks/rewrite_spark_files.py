"""The table of ``rewrite`` as Spark writes it: prices, keys and comments without dictionaries, pages with indexes.

``python -m benchmarks.rewrite_spark_files [runs] [directory] [--only ours]``; takes the directories of ``rewrite``.
"""

from __future__ import annotations

from benchmarks.rewrite import Case, run_case

_SPREAD = "/*+ REPARTITION_BY_RANGE(400, l_orderkey, l_linenumber) */"
CASE = Case(
    "rewrite_spark_files",
    setup=(
        "ALTER TABLE lab.db.lineitem SET TBLPROPERTIES ('write.distribution-mode' = 'none', "
        "'write.parquet.compression-codec' = 'zstd')",
        f"INSERT OVERWRITE lab.db.lineitem SELECT {_SPREAD} * FROM lab.db.lineitem",
    ),
)


if __name__ == "__main__":
    run_case(CASE)

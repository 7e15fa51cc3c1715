"""The table of ``benchmarks.rewrite``, a tenth of its rows deleted by Spark in deletion vectors."""

from __future__ import annotations

from benchmarks.lineitem import DELETED
from benchmarks.rewrite import Case, run_case

CASE = Case(
    "rewrite_vectors",
    {"options": {"rewrite-all": "true"}},
    ", options => map('rewrite-all', 'true')",
    setup=(
        "ALTER TABLE lab.db.lineitem SET TBLPROPERTIES "
        "('write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'file', 'format-version' = '3')",
        f"DELETE FROM lab.db.lineitem WHERE {DELETED}",
    ),
    deletes=True,
)

if __name__ == "__main__":
    run_case(CASE)

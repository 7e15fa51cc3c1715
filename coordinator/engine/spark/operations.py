"""What a statement was on Spark: the operations of Spark Connect that it began, and the jobs that ran for those."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from pyspark.sql.connect.session import SparkSession

_JOBS = re.compile(r"procession: jobs((?: \d+)*)\.")
_ASKED_SECONDS = 2.0
"""The rows have arrived: the statement waits for no more than that."""


def jobs_of(session: SparkSession, catalog: str, operations: Sequence[str]) -> tuple[int, ...]:
    """Asked by way of our catalog in Spark (``jvm/procession/spark``); none where it does not answer soon. Blocks."""
    found: list[int] = []
    asking = threading.Thread(
        target=lambda: found.extend(_asked(session, catalog, operations)), name="spark-jobs", daemon=True
    )
    asking.start()
    asking.join(_ASKED_SECONDS)
    return tuple(found)


def _asked(session: SparkSession, catalog: str, operations: Sequence[str]) -> list[int]:
    try:
        # Asking for the schema is enough for the catalog to be asked.
        session.sql(f"SELECT * FROM `{catalog}`.procession_jobs.`{','.join(operations)}`").schema  # noqa: B018, S608
    except Exception as error:
        jobs = _JOBS.search(str(error))
        return [] if jobs is None else [int(job) for job in jobs[1].split()]
    return []

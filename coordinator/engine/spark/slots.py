"""How many tasks a cluster's executors run at once, as Spark's scheduler counts them."""

from __future__ import annotations

import re

from pyspark.sql.connect.session import SparkSession

_SLOTS = re.compile(r"procession: (\d+) slots")
_DYNAMIC = "spark.dynamicAllocation.enabled"


def executor_slots(session: SparkSession, catalog: str) -> int | None:
    """Asked by way of our catalog in Spark (``jvm/procession/spark``); None of a Spark without it. Blocks."""
    try:
        # Asking for the schema is enough for the catalog to be asked.
        session.sql(f"SELECT * FROM `{catalog}`.procession_executors.slots").schema  # noqa: B018, S608
    except Exception as error:
        told = _SLOTS.search(str(error))
        return None if told is None else int(told[1])
    return None


def starts_together(session: SparkSession) -> bool:
    """Whether tasks can be made to run side by side: not where executors come as they are needed."""
    return str(session.conf.get(_DYNAMIC, "false")).lower() != "true"

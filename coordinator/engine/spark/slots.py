"""How many tasks a cluster's executors run at once, as Spark's scheduler counts them."""

from __future__ import annotations

import re

from pyspark.sql.connect.session import SparkSession

from coordinator.engine.spark.settings import SparkSettings

_SLOTS = re.compile(r"procession: (\d+) slots")
_LOCAL = re.compile(r"local(\[.*\])?")
_DYNAMIC = "spark.dynamicAllocation.enabled"


def executor_slots(session: SparkSession, catalog: str) -> int | None:
    """Asked by way of our catalog in Spark (``jvm/procession/spark``); None of a Spark without it. Blocks."""
    try:
        # Asking for the schema is enough for the catalog to be asked.
        session.sql(f"SELECT * FROM `{catalog}`.procession_executors.slots").schema  # noqa: B018, S608
    except Exception as error:
        slots = _SLOTS.search(str(error))
        return None if slots is None else int(slots[1])
    return None


def starts_together(session: SparkSession) -> bool:
    """Whether tasks can be made to run side by side: not where executors come as they are needed."""
    return str(session.conf.get(_DYNAMIC, "false")).lower() != "true"


def is_one_process(session: SparkSession) -> bool:
    """Whether a server of others runs its tasks itself, as far as it tells."""
    return _LOCAL.fullmatch(str(session.conf.get("spark.master", ""))) is not None


def configured_parallelism(session: SparkSession, settings: SparkSettings) -> int:
    """Tasks at once as far as settings tell."""
    local = settings.local_cores
    if local is not None:
        return local
    value = session.conf.get("spark.default.parallelism", None)
    if value is not None:
        return int(value)
    cores = int(session.conf.get("spark.executor.cores", None) or 1)
    return max(1, cores * int(session.conf.get("spark.executor.instances", None) or 2))

"""Spark's Python worker daemon with the kernels' libraries already imported, so that each forked worker is warm.

Named in ``spark.python.daemon.module`` of the embedded server, which puts this folder on the workers' path.
"""

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    # Forked workers share these pages; a pool thread here would not survive the fork.
    assert pa.parquet is not None
    manager()

"""Spark's Python worker daemon with the kernels' libraries already imported, so that each forked worker is warm.

Named in ``spark.python.daemon.module`` of the embedded server, which puts this folder on the workers' path.
"""

import sys
from importlib.util import find_spec


def forget_archives() -> None:
    """Take zips and jars off the import path where pyspark is installed as a package.

    Spark puts ``pyspark.zip`` and its core jar in front. ``importlib.invalidate_caches``, which pyspark calls before
    every task, then reads an archive's whole directory again for each package imported from it: measured as 98 % of a
    small task's time in the worker, 0.07 to 0.13 CPU s a task.
    """
    whole = list(sys.path)
    sys.path[:] = [entry for entry in whole if not entry.endswith((".zip", ".jar"))]
    if find_spec("pyspark") is None or find_spec("py4j") is None:
        sys.path[:] = whole
    for entry in [entry for entry in sys.path_importer_cache if ".zip" in entry or ".jar" in entry]:
        if entry not in sys.path:
            del sys.path_importer_cache[entry]


def main() -> None:
    """Import what every task needs, then fork workers until Spark closes standard input."""
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    forget_archives()
    main()

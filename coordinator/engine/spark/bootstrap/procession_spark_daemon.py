"""Spark's Python worker daemon with the kernels' libraries already imported, so that each forked worker is warm.

Named in ``spark.python.daemon.module`` of the embedded server, which puts this folder on the workers' path.
"""

import gc
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

KERNELS = ("rewrite", "join", "sorting", "partitioning", "lookup", "moved_rows", "scan_part", "functions.program")
"""They import nearly all others; with pandas, which pyarrow looks for at its first array, 0.4 CPU s a worker."""


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

    for name in ("pandas", *(f"procession_kernels.{kernel}" for kernel in KERNELS)):
        with suppress(ImportError):  # the task that needs it tells that better
            import_module(name)
    gc.collect()
    gc.freeze()  # its memory stays shared with the workers
    manager()


if __name__ == "__main__":
    forget_archives()
    main()

"""Run as a child: one rewrite of everything; prints the greatest memory of the process in MiB.

measured_rewrite.py CATALOG_HOME TABLE
"""

from __future__ import annotations

import importlib.util
import resource
import sys
from pathlib import Path


def main() -> None:
    home, table = Path(sys.argv[1]), sys.argv[2]
    spec = importlib.util.spec_from_file_location("iceberg_conftest", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    conftest.Lake(home, create=False).rewrite(table, {"rewrite-all": "true"})
    sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


if __name__ == "__main__":
    main()

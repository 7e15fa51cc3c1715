"""Run as a child: one rewrite of everything; prints the greatest memory of the process in MiB.

measured_rewrite.py CATALOG_HOME TABLE [SORTED_BY]
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def main() -> None:
    home, table, *sorted_by = Path(sys.argv[1]), *sys.argv[2:]
    spec = importlib.util.spec_from_file_location("iceberg_conftest", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    given = {"strategy": "sort", "sorted_by": sorted_by} if sorted_by else {}
    conftest.Lake(home, create=False).rewrite(table, {"rewrite-all": "true"}, **given)
    # Not getrusage's, which counts the parent of a child made by vfork.
    (peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    sys.stdout.write(str(int(peak) // 1024))


if __name__ == "__main__":
    main()

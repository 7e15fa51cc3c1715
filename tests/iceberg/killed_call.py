"""Run as a child: one rewrite that dies at a given point, as a coordinator under kill -9 does.

killed_call.py CATALOG_HOME POINT
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from coordinator.connectors.iceberg.snapshots.metadata_deletes import delete_files
from shared.spi.catalog_changes import NewColumn, TableCreation


def die() -> None:
    os.kill(os.getpid(), 9)


def arm(lake: Any, point: str) -> None:
    """Whatever is done at ``point`` ends this process."""
    journal = lake.connector.journal

    def then_die(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            function(*args, **kwargs)
            die()

        return call

    if point == "begin":
        journal.begin = then_die(journal.begin)
    elif point == "tasks":
        lake.workers.before = lambda kernel, number: die() if number == 0 else None
    elif point == "join":
        lake.workers.before = lambda kernel, number: die() if kernel.startswith("join") else None
    elif point == "before-commit":
        journal.committing = then_die(journal.committing)
    elif point in {"staged", "staged-delete", "staged-table", "staged-placed-table"}:
        # The new metadata file is written, the swap is not made.
        import coordinator.connectors.iceberg.manifests.metadata_files as metadata_files

        metadata_files.write_metadata = then_die(metadata_files.write_metadata)
    elif point == "after-commit":
        journal.close = lambda *args: die()
    elif point in {"named-delete", "named-placed-table"}:
        lake.connector.tables_of.open_commits.over = lambda _location: die()
    elif point == "named-table":
        lake.connector.tables_of.unfinished.close = lambda *_key: die()
    if point == "join":
        import coordinator.connectors.iceberg.rewrite.planning.outputs as outputs

        outputs._LEAST_PART = 1


def main() -> None:
    home, point = Path(sys.argv[1]), sys.argv[2]
    spec = importlib.util.spec_from_file_location("iceberg_conftest", Path(__file__).with_name("conftest.py"))
    assert spec is not None and spec.loader is not None
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    lake = conftest.Lake(home, create=False)
    arm(lake, point)
    if point.endswith("-table"):
        properties = {"location": f"file://{home}/chosen"} if "placed" in point else {}
        lake.change(TableCreation("db", "fresh", (NewColumn("id", "bigint"),), properties))
    if point.endswith("-delete"):
        delete_files(lake.connector.tables_of.open("db", "t"), None, {})
    lake.rewrite("t", {"rewrite-all": "true"})


if __name__ == "__main__":
    main()

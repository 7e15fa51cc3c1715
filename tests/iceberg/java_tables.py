"""Tables that Iceberg Java made, with relative paths, in a Spark that runs elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def seen_by_spark(engine: Any, home: Path, catalog: str) -> Iterator[None]:
    """``catalog`` of ``engine`` is the one in ``home``, which is also where this process works meanwhile."""
    connection = engine.connect()
    # The server finds relative paths from its own working directory.
    link = connection.server.child.log_file.parents[1] / "wh"
    link.symlink_to(home / "wh")
    options = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".warehouse": "wh",
        ".uri": f"jdbc:sqlite:{home}/catalog.db",
        ".jdbc.schema-version": "V1",
        ".cache-enabled": "false",
    }
    for name, value in options.items():
        connection.session.conf.set(f"spark.sql.catalog.{catalog}{name}", value)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield
    link.unlink()

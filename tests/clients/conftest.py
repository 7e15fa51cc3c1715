"""The JDBC driver of each family."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.jdbc import Driver
from tests.maven import jar


@pytest.fixture(params=["presto", "trino"])
def driver(request: pytest.FixtureRequest, jdbc_jar: Path) -> Driver:
    return request.param, jdbc_jar if request.param == "presto" else jar("io.trino", "trino-jdbc", "476")

"""Every method of DatabaseMetaData by both drivers: what DBeaver, DataGrip and Metabase may call; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.jdbc import Driver, answers
from tests.e2e.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
UNSUPPORTED = {
    "getBestRowIdentifier", "getColumnPrivileges", "getCrossReference", "getExportedKeys", "getFunctionColumns",
    "getFunctions", "getIndexInfo", "getTablePrivileges", "getVersionColumns",
}  # fmt: skip
"""What both drivers refuse by themselves, without a word to the server."""


def test_every_method_of_the_metadata(driver: Driver, quiet_service: Service, tmp_path: Path) -> None:
    found = answers("EveryMethod", driver, tmp_path, quiet_service, "tpch/tiny", "tpch", "tiny", "nation")
    assert len(found) > 150
    assert [f"{name}: {answer}" for name, answer in found.items() if answer.startswith("FAILED")] == []
    refused = {name.removesuffix(" of nulls") for name, answer in found.items() if answer == "not supported"}
    assert refused == UNSUPPORTED | ({"getImportedKeys", "getPrimaryKeys"} if driver[0] == "presto" else set())
    assert (found["getTables"], found["getColumns"], found["getCatalogs"]) == ("1 rows", "4 rows", "3 rows")
    assert (found["getProcedures"], found["getTableTypes"]) == ("0 rows", "2 rows")
    assert (found["getUserName"], found["isReadOnly"]) == ("java", "false")

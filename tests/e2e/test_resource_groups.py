"""etc/resource-groups.properties on a whole service: groups, and a changed file while statements wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.service import Service, start_service, write_etc


def groups(limit: int) -> str:
    root = {"name": "g", "softMemoryLimit": "50%", "hardConcurrencyLimit": limit, "maxQueued": 9}
    return json.dumps({"rootGroups": [root], "selectors": [{"group": "g"}]})


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[tuple[Service, Path]]:
    """A service whose only group lets nothing run, and the file that says so."""
    etc = write_etc(tmp_path / "etc", spark=False)
    file = etc / "groups.json"
    file.write_text(groups(0))
    (etc / "resource-groups.properties").write_text(
        "resource-groups.configuration-manager=file\n"
        "resource-groups.config-file=etc/groups.json\n"
        "resource-groups.refresh-interval=50ms\n"
    )
    service = start_service(etc, tmp_path / "data", tmp_path / "log")
    yield service, file
    assert service.stop() == 0, (tmp_path / "log").read_text()


def test_a_changed_file_counts_and_a_wrong_one_does_not(closed: tuple[Service, Path], tmp_path: Path) -> None:
    service, file = closed
    page = httpx.post(f"{service.url}/v1/statement", content="SELECT 1", headers={"X-Presto-User": "ann"}).json()
    while page["stats"]["state"] in ("WAITING_FOR_PREREQUISITES",):
        page = httpx.get(page["nextUri"]).json()
    assert page["stats"]["state"] == "QUEUED"
    assert service.get("/v1/resourceGroupState/g")["softMemoryLimit"] == "512MB"

    file.write_text(groups(1)[:-1])
    _wait(lambda: "resource groups stay as they are" in (tmp_path / "log").read_text())
    assert service.get("/v1/resourceGroupState/g")["numQueuedQueries"] == 1

    file.write_text(groups(1))
    while "nextUri" in page:
        page = httpx.get(page["nextUri"], timeout=30).json()
        assert page["stats"]["state"] != "FAILED"
    assert service.get("/v1/resourceGroupState/g")["hardConcurrencyLimit"] == 1
    refused = httpx.post(f"{service.url}/v1/validate", content="SELECT nope", headers={"X-Presto-User": "ann"})
    assert (refused.status_code, refused.json()["verdict"]) == (200, "refused")


def _wait(condition: object) -> None:
    assert callable(condition)
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)

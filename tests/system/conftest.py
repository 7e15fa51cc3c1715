"""A service with catalogs ``tpch`` and ``iceberg``, configured as the Presto server whose answers were recorded."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import tpch_tables
from tests.e2e.service import Service, start_service

RECORDED = Path(__file__).parents[1] / "data" / "presto_protocol" / "exchanges.jsonl.gz"


def write_etc(directory: Path) -> Path:
    """Without a native checker, as the recorded server was; Spark starts only when it is needed, which is never."""
    (directory / "catalog").mkdir(parents=True)
    (directory / "plan-checker-providers").mkdir()
    (directory / "config.properties").write_text("spark.warm-up=false\nnested-data-serialization-enabled=true\n")
    with (directory / "config.properties").open("a") as config:
        config.write("eager-plan-validation-thread-pool-size=1\n")
    (directory / "catalog" / "iceberg.properties").write_text("connector.name=iceberg\n")
    (directory / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file("tpch.column-naming=STANDARD"))
    return directory


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests over the service are slow, as those over other services are (tests/conftest.py)."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "service" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def service(system_service: Service) -> Service:
    """One for all of this folder, whose tests stay on one worker (tests/conftest.py)."""
    return system_service


@pytest.fixture(scope="session")
def system_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("system")
    running = start_service(write_etc(home / "etc"), home / "data", home / "log")
    yield running
    assert running.stop() == 0, (home / "log").read_text()
    assert "Started Spark" not in (home / "log").read_text()


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


def read_recorded(file: Path) -> dict[str, dict[str, Any]]:
    """Recorded conversations with Presto 0.296 by name."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {entry["name"]: entry for entry in map(json.loads, lines)}

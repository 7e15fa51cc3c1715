"""The catalog over the shared PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.connectors.registry import CatalogConfig, Catalogs
from coordinator.engine.spark.engine import SparkEngine
from shared.properties import Property


@pytest.fixture(scope="session")
def jdbc_spark(spark_engine: SparkEngine) -> Iterator[SparkEngine]:
    """The shared Spark, which has both drivers; its event log shows what was read, where secrets are looked for."""
    yield spark_engine
    server = spark_engine.connect().server
    assert server is not None
    events = server.child.log_file.parents[2] / "events"
    assert any("procession_remote" in file.read_text(errors="replace") for file in events.rglob("*") if file.is_file())


def catalog_config(url: str, **more: str) -> CatalogConfig:
    """Catalog ``pg`` over the server at ``url``."""
    address = url.split("@")[1]
    values = {"connection-url": f"jdbc:postgresql://{address}", "connection-user": "postgres"} | more
    properties = {n: Property(n, v, Path("pg.properties"), i) for i, (n, v) in enumerate(values.items(), 1)}
    return CatalogConfig("pg", "postgresql", properties)


@pytest.fixture(scope="session")
def catalogs(postgres: str) -> Catalogs:
    return Catalogs([catalog_config(postgres)])

"""One catalog database, two engines: what is a view here is one in Spark, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.properties import spark_properties
from shared.properties import Property
from shared.spi.catalog_changes import CatalogChange, ViewCreation, ViewRemoval, ViewRename
from shared.spi.connector import ViewColumn, ViewMetadata
from shared.spi.procedure import ProcedureContext
from shared.spi.session import Session
from tests.execution import FakeExecution

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAME = "viewed"


class Viewed:
    """Our connector and Spark over one SQLite catalog."""

    def __init__(self, home: Path, engine: Any) -> None:
        values = {
            "iceberg.catalog.uri": f"sqlite:///{home}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{home}/wh",
        }
        properties = {k: Property(k, v, Path("viewed.properties"), 2) for k, v in values.items()}
        self.engine = engine
        self.connector = IcebergConnector(NAME, properties)
        SqlCatalog(NAME, uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh").create_namespace("db")
        for name, value in spark_properties(self.connector.settings).items():
            engine.connect().session.conf.set(name, value)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.engine.workers(FakeExecution()).run_sql(text)]

    def views(self) -> list[str]:
        """What Spark lists, without the temporary views that others made in its session."""
        return [name for _, name, temporary in self.sql(f"SHOW VIEWS IN {NAME}.db") if not temporary]

    def change(self, change: CatalogChange) -> None:
        workers = self.engine.workers(FakeExecution())
        self.connector.change(change, ProcedureContext(Session(user="test"), NAME, workers, datetime.now(UTC)))


@pytest.fixture(scope="module")
def viewed(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    yield Viewed(tmp_path_factory.mktemp("viewed"), spark_engine)


def view(definition: str, *columns: ViewColumn) -> ViewMetadata:
    return ViewMetadata(NAME, "db", "ours", definition, columns, NAME, "db", owner="alice")


def test_spark_reads_our_view_and_its_newest_version(viewed: Viewed) -> None:
    viewed.sql(f"CREATE TABLE {NAME}.db.t (id bigint, name string) USING iceberg")
    viewed.sql(f"INSERT INTO {NAME}.db.t VALUES (1, 'a'), (2, 'b'), (3, null)")
    first = view(
        "SELECT id, coalesce(name, 'none') AS name FROM t", ViewColumn("id", "bigint"), ViewColumn("name", "varchar")
    )
    viewed.change(ViewCreation(first, replace=False))
    assert viewed.sql(f"SELECT * FROM {NAME}.db.ours ORDER BY id") == [(1, "a"), (2, "b"), (3, "none")]
    assert viewed.views() == ["ours"]
    second = view("SELECT count(*) AS n FROM t", ViewColumn("n", "bigint"))
    viewed.change(ViewCreation(second, replace=True))
    assert viewed.sql(f"SELECT n FROM {NAME}.db.ours") == [(3,)]
    viewed.change(ViewRename("db", "ours", "db", "moved"))
    assert viewed.sql(f"SELECT n FROM {NAME}.db.moved") == [(3,)]
    # Spark makes a version of its own of it, which keeps ours in the history.
    viewed.sql(f"ALTER VIEW {NAME}.db.moved SET TBLPROPERTIES ('comment' = 'told by Spark')")
    found = viewed.connector.view("db", "moved")
    assert found is not None
    assert (found.definition, found.comment, found.owner) == (second.definition, "told by Spark", "alice")
    viewed.change(ViewRemoval("db", "moved"))
    assert viewed.views() == []


def test_a_view_of_spark_alone_is_listed_but_not_read(viewed: Viewed) -> None:
    viewed.sql(f"CREATE VIEW {NAME}.db.theirs (k COMMENT 'key', v) AS SELECT id, name FROM {NAME}.db.t")
    assert viewed.connector.view_names("db") == ["theirs"]
    found = viewed.connector.view("db", "theirs")
    assert found is not None
    assert (found.definition, found.dialect) == ("", "spark")
    assert found.columns == (ViewColumn("k", "bigint", "key"), ViewColumn("v", "varchar"))
    viewed.change(ViewRemoval("db", "theirs"))
    assert viewed.views() == []

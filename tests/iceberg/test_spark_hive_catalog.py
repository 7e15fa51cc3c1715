"""Tables of a Hive metastore that Iceberg Java and we change in turn: either reads what the other wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.properties import spark_properties
from shared.spi.catalog_changes import NewColumn, TableCreation
from tests.execution import FakeExecution
from tests.iceberg.reachable import needed, plain
from tests.iceberg.test_concurrency import meanwhile
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# What each commit makes new, and what the metastore keeps for itself.
OWN = {"metadata_location", "previous_metadata_location", "transient_lastDdlTime", "touched", "last_modified_by"}
OWN |= {"last_modified_time"}


class Java:
    """Iceberg's own Hive catalog in Spark, over the same metastore."""

    def __init__(self, lake: Any, engine: Any) -> None:
        self.lake = lake
        self.engine = engine
        for name, value in spark_properties(lake.connector.settings).items():
            engine.connect().session.conf.set(name, value)

    def sql(self, text: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.engine.workers(FakeExecution()).run_sql(text)]

    def ids(self, name: str) -> list[int]:
        return sorted(row["id"] for row in self.sql(f"SELECT id FROM hived.db.{name}"))


@pytest.fixture(scope="module")
def java(hive_lake: Any, spark_engine: Any) -> Iterator[Java]:
    hive_lake.connector = hive_lake.connect()
    yield Java(hive_lake, spark_engine)
    assert hive_lake.metastore.locks() == []


@pytest.fixture(params=some([3], [2], "the same with version 3"))
def table(request: pytest.FixtureRequest, java: Java) -> str:
    """Made by us, through Spark where it is of version 3, and filled by Iceberg Java in commits with deletes."""
    name = f"{request.node.originalname}_{request.param}"
    java.lake.workers.run_sql = java.engine.workers(FakeExecution()).run_sql
    java.lake.workers.before = lambda _kernel, _number: None
    columns = (NewColumn("id", "bigint"), NewColumn("p", "varchar"))
    properties = {"format-version": str(request.param), "partitioning": ["p"], "sorted_by": ["id"]}
    java.lake.change(TableCreation("db", name, columns, properties, "made by us", False))
    java.sql(f"ALTER TABLE hived.db.{name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    for number in range(3):
        java.sql(f"INSERT INTO hived.db.{name} VALUES ({number}, 'a'), ({number + 10}, 'b'), ({number + 20}, 'b')")
    java.sql(f"DELETE FROM hived.db.{name} WHERE id = 20")
    return name


def unneeded(lake: Any, name: str) -> set[str]:
    """Files in the table's folder that its metadata does not name; Hadoop leaves checksums beside its own."""
    table = lake.connector.tables_of.open("db", name)
    files = {str(path) for path in Path(plain(table.location())).rglob("*") if path.is_file()}
    return {file for file in files - needed(table) if not file.endswith(".crc")}


ROWS = [*range(3), *range(10, 13), 21, 22]


def described(java: Java, name: str) -> tuple[dict[str, Any], Any]:
    found = java.lake.metastore.table("db", name)
    parameters = {key: value for key, value in found.parameters.items() if key not in OWN}
    for key in ("current-schema", "default-partition-spec", "default-sort-order", "current-snapshot-summary"):
        parameters[key] = json.loads(parameters[key])
    if parameters["current-schema"].get("identifier-field-ids") == []:
        del parameters["current-schema"]["identifier-field-ids"]
    return parameters, (found.sd, found.tableType, found.owner, found.retention)


def test_procedures_and_iceberg_java_in_turn(java: Java, table: str) -> None:
    lake, asked = java.lake, {"schema": "db", "table_name": table}
    lake.call("rewrite_manifests", **asked)
    assert java.ids(table) == ROWS
    assert lake.rewrite(table, {"rewrite-all": "true"})["rewritten_rows_count"] == len(ROWS)
    rewritten = lake.connector.tables_of.open("db", table).current_snapshot().snapshot_id
    assert java.ids(table) == ROWS
    says_what_java_would(java, table)
    lake.call("create_branch", branch="audit", **asked)
    java.sql(f"INSERT INTO hived.db.{table} VALUES (100, 'c')")
    assert java.sql(f"SELECT count(*) AS n FROM hived.db.{table} VERSION AS OF 'audit'")[0]["n"] == len(ROWS)
    lake.call("rollback_to_snapshot", snapshot_id=rewritten, **asked)
    assert java.ids(table) == ROWS
    lake.call("expire_snapshots", retain_last=1, **asked)
    java.sql(f"INSERT INTO hived.db.{table} VALUES (101, 'a')")
    assert java.ids(table) == [*ROWS, 101]
    assert lake.call("validate_files", check_footers=True, **asked).rows == []


def says_what_java_would(java: Java, table: str) -> None:
    """Java writes every parameter anew from the metadata: a change of one property of the same state is the oracle."""
    ours = described(java, table)
    java.sql(f"ALTER TABLE hived.db.{table} SET TBLPROPERTIES ('touched'='1')")
    theirs = described(java, table)
    assert ours == theirs
    assert ours[0]["numRows"] == str(len(ROWS))
    before = java.lake.metastore.table("db", table).parameters
    java.lake.call("create_tag", schema="db", table_name=table, tag="kept")
    after = java.lake.metastore.table("db", table).parameters
    assert after["previous_metadata_location"] == before["metadata_location"]
    java.sql(f"ALTER TABLE hived.db.{table} UNSET TBLPROPERTIES ('touched')")
    java.lake.call("set_table_property", schema="db", table_name=table, key="comment", value="1")
    found = java.lake.metastore.table("db", table).parameters
    assert (found["comment"], "touched" in found) == ("1", False)


def test_java_commits_while_we_rewrite(java: Java, table: str) -> None:
    lake = java.lake
    meanwhile(lake, lambda: java.sql(f"INSERT INTO hived.db.{table} VALUES (200, 'a'), (201, 'b')"))
    assert lake.rewrite(table, {"rewrite-all": "true"})["rewritten_rows_count"] == len(ROWS)
    assert java.ids(table) == [*ROWS, 200, 201]
    assert unneeded(lake, table) == set()
    meanwhile(lake, lambda: java.sql(f"DELETE FROM hived.db.{table} WHERE id = 200"))
    lost = lake.rewrite(table, {"rewrite-all": "true"})["failed_data_files_count"]
    assert lost == 1, "Java dropped the one file that had the row"
    assert java.ids(table) == [*ROWS, 201]
    assert unneeded(lake, table) == set()
    meanwhile(lake, lambda: java.sql(f"DELETE FROM hived.db.{table} WHERE id = {ROWS[0]}"))
    assert lake.rewrite(table, {"rewrite-all": "true"})["failed_data_files_count"] == 0
    assert java.ids(table) == [*ROWS[1:], 201]
    assert unneeded(lake, table) == set()

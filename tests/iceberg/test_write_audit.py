"""Write, audit, publish by the session: what it reads, where its writes go, and what it may not do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from coordinator.connectors.iceberg.manifests.live_files import LiveFiles, read_live
from coordinator.connectors.iceberg.snapshots.cherry_pick import staged_wap_id
from coordinator.connectors.iceberg.snapshots.own import QUERY_ID
from coordinator.connectors.iceberg.tables.writing import write
from coordinator.planning.plan_statement import plan_statement
from shared.errors import ProcessionError
from shared.spi.catalog_changes import TableTruncation
from shared.spi.session import Session
from shared.spi.table_writes import TableWrite, WriteContext
from tests.iceberg.test_embedded_geometry import with_types
from tests.iceberg.test_fetch_rows import NoCheckers, catalogs

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
INSERT = TableWrite("lab", "db", "t", "INSERT", "INSERT INTO", "SELECT 1")


@pytest.fixture(autouse=True)
def table(lake: Any) -> Any:
    return lake.create("t", [ROWS], properties={"write.wap.enabled": "true"})


def session(**asked: str) -> Session:
    return Session(user="test", query_id=uuid4().hex, catalog_properties={"lab": asked})


def written(lake: Any, change: TableWrite, **asked: str) -> tuple[list[str], dict[str, str]]:
    """The statements that Spark is given, and its settings; an INSERT lands where it is sent."""
    context = replace(lake.context(), session=session(**asked))
    given: list[str] = []
    told: dict[str, str] = {}

    def run(sql: str, _write_id: str | None = None, settings: Any = None) -> Any:
        given.append(sql)
        told.update(settings)
        branch = sql.rpartition("`branch_")[2].partition("`")[0] if "`branch_" in sql else "main"
        properties = {QUERY_ID: context.session.query_id}
        lake.table("t").append(ROWS, snapshot_properties=properties, branch=branch)
        return []

    count = write(lake.connector.tables_of, change, WriteContext(context, run))
    assert count == 3 or change.kind != "INSERT"
    return given, told


def rows(lake: Any, branch: str) -> int:
    table = lake.table("t")
    return int(table.scan(snapshot_id=table.snapshot_by_name(branch).snapshot_id).to_arrow().num_rows)


def test_writes_go_to_the_branch_which_the_first_makes(lake: Any) -> None:
    for count in (6, 9):
        (sql,), settings = written(lake, INSERT, wap_branch="audit")
        assert sql == "INSERT INTO `lab`.`db`.`t`.`branch_audit` SELECT 1"
        assert settings == {}
        assert (rows(lake, "main"), rows(lake, "audit")) == (3, count)


def test_an_insert_is_staged_by_spark(lake: Any) -> None:
    (sql,), settings = written(lake, INSERT, wap_id="load-1")
    assert sql == "INSERT INTO `lab`.`db`.`t` SELECT 1"
    assert settings == {"spark.wap.id": "load-1"}


@pytest.mark.parametrize("kind", ["DELETE", "UPDATE", "MERGE"])
def test_other_changes_are_staged_by_spark_too(lake: Any, kind: Any) -> None:
    """A DELETE of whole files as well: by metadata alone it would be seen at once."""
    (_,), settings = written(lake, replace(INSERT, kind=kind, all_rows=kind == "DELETE"), wap_id="load-1")
    assert settings == {"spark.wap.id": "load-1"}


@pytest.mark.parametrize("version", [2, 3])
def test_a_truncation_is_staged_and_published(lake: Any, foreign: Any, version: int) -> None:
    path = next(iter(lake.table("t").scan().plan_files())).file.file_path
    foreign.delete_positions(lake.table("t"), {path: [1]})
    if version == 3:
        with_types(lake, "t", {})
    context = replace(lake.context(), session=session(wap_id="empty"))
    before = lake.connector.tables_of.open("db", "t")
    lake.connector.change(TableTruncation("db", "t"), context)
    after = lake.connector.tables_of.open("db", "t")
    assert after.metadata.refs == before.metadata.refs
    (staged,) = [s for s in after.snapshots() if staged_wap_id(s) == "empty"]
    assert staged.parent_snapshot_id == before.current_snapshot().snapshot_id
    assert staged.summary.operation.value == "delete"
    figures = staged.summary.additional_properties
    assert (figures["total-records"], figures["total-delete-files"], figures["deleted-data-files"]) == ("0", "0", "1")
    lake.call("publish_changes", schema="db", table_name="t", wap_id="empty")
    published = lake.connector.tables_of.open("db", "t")
    assert published.current_snapshot().snapshot_id == staged.snapshot_id
    assert read_live(published, staged) == LiveFiles((), ())
    assert lake.orphans("t") == set() or version == 3


def test_a_delete_of_every_row_leaves_main_alone(lake: Any) -> None:
    (sql,), _ = written(lake, replace(INSERT, kind="DELETE", before="DELETE FROM", all_rows=True), wap_branch="audit")
    assert "branch_audit" in sql
    assert rows(lake, "main") == 3


@pytest.mark.parametrize(
    ("asked", "properties"),
    [
        ({"wap_branch": "audit"}, {"write.wap.enabled": "false"}),
        ({"wap_branch": "main"}, {}),
        ({"wap_branch": ""}, {}),
    ],
)
def test_other_tables_and_sessions_write_main(lake: Any, asked: dict[str, str], properties: dict[str, str]) -> None:
    with lake.table("t").transaction() as transaction:
        transaction.set_properties(properties)
    (sql,), settings = written(lake, INSERT, **asked)
    assert (sql, settings) == ("INSERT INTO `lab`.`db`.`t` SELECT 1", {})
    assert list(lake.table("t").metadata.refs) == ["main"]


def test_what_cannot_be(lake: Any) -> None:
    lake.table("t").manage_snapshots().create_tag(lake.table("t").current_snapshot().snapshot_id, "kept").commit()
    with pytest.raises(ProcessionError, match=r"both WAP ID and branch, but got ID \[a\] and branch \[b\]"):
        written(lake, INSERT, wap_id="a", wap_branch="b")
    with pytest.raises(ProcessionError, match="wap_branch kept is a tag"):
        written(lake, INSERT, wap_branch="kept")


def test_a_branch_of_a_table_without_snapshots_begins_empty(lake: Any) -> None:
    lake.other.drop_table("db.t")
    lake.other.create_table("db.t", schema=ROWS.schema, properties={"write.wap.enabled": "true"})
    for count in (3, 6):
        (sql,), _ = written(lake, INSERT, wap_branch="audit")
        assert "`branch_audit`" in sql
        assert (lake.table("t").current_snapshot(), rows(lake, "audit")) == (None, count)
    assert len(lake.table("t").snapshots()) == 3
    lake.call("fast_forward", schema="db", table_name="t", branch="main", to="audit")
    assert rows(lake, "main") == 6


def test_the_session_reads_its_branch_once_it_is_there(lake: Any) -> None:
    def read(name: str = "t", **asked: str) -> object:
        return plan_statement(
            f"SELECT * FROM {name}",
            replace(session(**asked), catalog="lab", schema="db", properties={"engine": "spark"}),
            catalogs(lake),
            NoCheckers(),
        ).work

    plain = repr(read())
    assert repr(read(wap_branch="audit")) == plain
    written(lake, INSERT, wap_branch="audit")
    head = lake.table("t").snapshot_by_name("audit").snapshot_id
    assert str(head) in repr(read(wap_branch="audit"))
    assert str(head) not in repr(read())
    assert str(head) not in repr(read(wap_id="some"))
    main = lake.table("t").current_snapshot().snapshot_id
    assert str(head) not in repr(read(f"t FOR VERSION AS OF {main}", wap_branch="audit"))

"""Each procedure beside Iceberg's own of the same name, on two registrations of one table, in one Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.properties import spark_properties
from coordinator.connectors.iceberg.views.catalog_views import load_view
from coordinator.engine.procedures import run_procedure
from coordinator.engine.spark.engine import SparkEngine
from coordinator.vocabulary.planned_statement import CallProcedure
from shared.errors import ErrorLocation, ProcessionError
from shared.properties import Property
from shared.spi.procedure import ProcedureContext
from shared.spi.session import Session
from tests.execution import FakeExecution
from tests.tiers import some

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAME = "both"


class Both:
    """Table ``x`` is called by us, ``x_java`` by Iceberg: both begin at the same metadata file."""

    def __init__(self, home: Path, engine: SparkEngine, name: str = NAME) -> None:
        self.name = name
        values = {
            "iceberg.catalog.uri": f"sqlite:///{home}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{home}/wh",
            "iceberg.allowed-locations": f"file://{home}",
        }
        properties = {k: Property(k, v, Path("both.properties"), 2) for k, v in values.items()}
        self.home = home
        self.engine = engine
        self.properties = properties
        self.connector = IcebergConnector(name, properties)
        self.other = SqlCatalog(name, uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/wh")
        self.other.create_namespace("db")

    def sql(self, text: str) -> list[dict[str, Any]]:
        return [dict(row) for row in self.engine.workers(FakeExecution()).run_sql(text)]

    def table(self, name: str) -> Any:
        return self.other.load_table(f"db.{name}")

    def twin(self, name: str) -> None:
        """Register the table's present state once more, for Iceberg."""
        self.other.register_table(f"db.{name}_java", self.table(name).metadata_location)

    def ours(self, procedure: str, name: str, **given: Any) -> list[dict[str, Any]]:
        found: Any = next(p for p in self.connector.procedures() if p.declaration.name == procedure)
        arguments = {a.name: given.get(a.name, a.default) for a in found.declaration.arguments}
        arguments |= {"schema": "db", "table_name": name}
        work = CallProcedure(self.name, procedure, found.declaration.kind, arguments, location=ErrorLocation(1, 1))
        workers = self.engine.workers(FakeExecution())
        context = ProcedureContext(Session(user="test"), self.name, workers, datetime.now(UTC))
        columns = [column.name for column in found.declaration.output]
        return [dict(zip(columns, row, strict=True)) for row in run_procedure(found, work, context).rows]

    def java(self, procedure: str, name: str, arguments: str = "") -> list[dict[str, Any]]:
        comma = ", " if arguments else ""
        return self.sql(f"CALL {self.name}.system.{procedure}(table => 'db.{name}_java'{comma}{arguments})")

    def same(self, procedure: str, name: str, arguments: str = "", **given: Any) -> list[dict[str, Any]]:
        """Our rows, which must be Iceberg's."""
        expected = self.java(procedure, name, arguments)
        found = self.ours(procedure, name, **given)
        assert found == expected, procedure
        return found

    def refusal(self, procedure: str, name: str, arguments: str = "", **given: Any) -> str:
        """Our text, which must be within Iceberg's."""
        with pytest.raises(ProcessionError) as theirs:
            self.java(procedure, name, arguments)
        with pytest.raises(ProcessionError) as ours:
            self.ours(procedure, name, **given)
        assert ours.value.message in theirs.value.message
        return ours.value.message

    def state(self, name: str) -> dict[str, Any]:
        """What a call may change, as Iceberg Java reads it."""
        refs = self.sql(f"SELECT * FROM {self.name}.db.{name}.refs ORDER BY name")
        log = self.sql(f"SELECT snapshot_id, is_current_ancestor FROM {self.name}.db.{name}.history ORDER BY 1")
        rows = self.sql(f"SELECT * FROM {self.name}.db.{name} ORDER BY ALL")
        return {"refs": refs, "log": log, "rows": rows}

    def same_state(self, name: str) -> None:
        assert self.state(name) == self.state(f"{name}_java")
        # PyIceberg reads what both wrote.
        assert self.table(name).refs() == self.table(f"{name}_java").refs()


@pytest.fixture(scope="module")
def both(spark_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    home = tmp_path_factory.mktemp("both")
    lake = Both(home, spark_engine)
    for name, value in spark_properties(lake.connector.settings).items():
        spark_engine.connect().session.conf.set(name, value)
    yield lake


def ids_of(both: Both, name: str) -> list[int]:
    return [s.snapshot_id for s in sorted(both.table(name).snapshots(), key=lambda s: s.sequence_number)]


@pytest.fixture(scope="module", params=some([3], [2], "the same with version 3"))
def table(request: pytest.FixtureRequest, both: Both) -> str:
    """Four appends made by Spark, one staged, in both format versions."""
    name = f"v{request.param}"
    both.sql(
        f"CREATE TABLE {NAME}.db.{name} (id bigint, p string) USING iceberg PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version'='{request.param}', 'write.wap.enabled'='true')"
    )
    for number in range(4):
        both.sql(f"INSERT INTO {NAME}.db.{name} VALUES ({number}, 'a'), ({number + 10}, 'b')")
    session = both.engine.connect().session
    for wap_id in ("first", "second"):
        session.conf.set("spark.wap.id", wap_id)
        both.sql(f"INSERT INTO {NAME}.db.{name} VALUES (100, '{wap_id}')")
    session.conf.set("spark.wap.id", "dynamic")
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    both.sql(f"INSERT OVERWRITE {NAME}.db.{name} VALUES (200, 'a')")
    session.conf.unset("spark.wap.id")
    session.conf.unset("spark.sql.sources.partitionOverwriteMode")
    both.twin(name)
    return name


def test_references_move_as_iceberg_moves_them(both: Both, table: str) -> None:
    ids = ids_of(both, table)
    both.same("ancestors_of", table)
    both.same("ancestors_of", table, f"snapshot_id => {ids[1]}", snapshot_id=ids[1])
    both.same("rollback_to_snapshot", table, f"snapshot_id => {ids[2]}", snapshot_id=ids[2])
    both.refusal("rollback_to_snapshot", table, "snapshot_id => 7", snapshot_id=7)
    both.refusal("rollback_to_snapshot", table, f"snapshot_id => {ids[3]}", snapshot_id=ids[3])
    at = next(s.timestamp_ms for s in both.table(table).snapshots() if s.snapshot_id == ids[2])
    moment = datetime.fromtimestamp(at / 1000, UTC)
    text = f"timestamp => TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}Z'"
    both.same("rollback_to_timestamp", table, text, timestamp=moment)
    both.refusal("rollback_to_timestamp", table, "timestamp => TIMESTAMP '2001-01-01 00:00:00Z'",
                 timestamp=datetime(2001, 1, 1))  # fmt: skip
    both.same("set_current_snapshot", table, f"snapshot_id => {ids[3]}", snapshot_id=ids[3])
    both.refusal("set_current_snapshot", table)
    both.refusal("set_current_snapshot", table, "ref => 'nope'", ref="nope")
    both.same_state(table)


def test_branches_and_tags_as_iceberg_makes_them(both: Both, table: str) -> None:
    ids = ids_of(both, table)
    java = f"ALTER TABLE {NAME}.db.{table}_java"
    both.sql(f"{java} CREATE BRANCH b AS OF VERSION {ids[0]} RETAIN 7 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 DAYS")
    day = 24 * 3600 * 1000
    kept = {"max_ref_age_ms": 7 * day, "min_snapshots_to_keep": 2, "max_snapshot_age_ms": 3 * day}
    both.ours("create_branch", table, branch="b", snapshot_id=ids[0], **kept)
    both.sql(f"{java} CREATE TAG v")
    both.ours("create_tag", table, tag="v")
    both.sql(f"{java} REPLACE TAG v AS OF VERSION {ids[1]} RETAIN 1 DAYS")
    both.ours("replace_tag", table, tag="v", snapshot_id=ids[1], max_ref_age_ms=day)
    both.same_state(table)
    both.same("fast_forward", table, "branch => 'b', to => 'v'", branch="b", to="v")
    both.same("fast_forward", table, "branch => 'new', to => 'main'", branch="new", to="main")
    both.same("fast_forward", table, "branch => 'new', to => 'main'", branch="new", to="main")
    both.refusal("fast_forward", table, "branch => 'new', to => 'v'", branch="new", to="v")
    both.refusal("fast_forward", table, "branch => 'v', to => 'main'", branch="v", to="main")
    both.refusal("fast_forward", table, "branch => 'main', to => 'nope'", branch="main", to="nope")
    both.same("set_current_snapshot", table, "ref => 'v'", ref="v")
    both.same_state(table)
    refs = both.sql(f"SELECT * FROM {NAME}.db.{table}.refs ORDER BY name")
    assert both.ours("show_refs", table) == refs
    both.sql(f"{java} DROP TAG v")
    both.ours("drop_tag", table, tag="v")
    both.same_state(table)


def test_staged_changes_are_published_as_iceberg_publishes_them(both: Both, table: str) -> None:
    ids = ids_of(both, table)
    for name in (table, f"{table}_java"):
        both.ours("set_current_snapshot", name, snapshot_id=ids[3])
    # Staged on the current snapshot, the first one is a fast-forward.
    both.same("publish_changes", table, "wap_id => 'first'", wap_id="first")
    both.refusal("publish_changes", table, "wap_id => 'nope'", wap_id="nope")
    assert both.ours("publish_changes", table, wap_id="second")[0]["source_snapshot_id"] == ids[5]
    assert both.java("publish_changes", table, "wap_id => 'second'")[0]["source_snapshot_id"] == ids[5]
    both.ours("cherrypick_snapshot", table, snapshot_id=ids[6])
    both.java("cherrypick_snapshot", table, f"snapshot_id => {ids[6]}")
    both.refusal("cherrypick_snapshot", table, f"snapshot_id => {ids[0]}", snapshot_id=ids[0])
    both.refusal("cherrypick_snapshot", table, "snapshot_id => 5", snapshot_id=5)
    ours, java = both.state(table), both.state(f"{table}_java")
    assert ours["rows"] == java["rows"]
    assert {row["id"] for row in ours["rows"]} == {10, 11, 12, 13, 100, 200}
    counts = [
        dict(both.table(name).current_snapshot().summary.additional_properties) for name in (table, f"{table}_java")
    ]
    for key in ("source-snapshot-id", "published-wap-id", "added-records", "deleted-records", "total-records",
                "total-data-files", "total-files-size"):  # fmt: skip
        assert counts[0][key] == counts[1][key], key


def test_a_contradicted_overwrite_is_refused_in_icebergs_words(both: Both) -> None:
    both.sql(
        f"CREATE TABLE {NAME}.db.clash (id bigint, p string) USING iceberg PARTITIONED BY (p) "
        "TBLPROPERTIES ('write.wap.enabled'='true')"
    )
    both.sql(f"INSERT INTO {NAME}.db.clash VALUES (1, 'a'), (2, 'b')")
    session = both.engine.connect().session
    session.conf.set("spark.wap.id", "w")
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    both.sql(f"INSERT OVERWRITE {NAME}.db.clash VALUES (200, 'a')")
    session.conf.unset("spark.wap.id")
    session.conf.unset("spark.sql.sources.partitionOverwriteMode")
    both.sql(f"INSERT INTO {NAME}.db.clash VALUES (3, 'a')")
    both.twin("clash")
    message = both.refusal("publish_changes", "clash", "wap_id => 'w'", wap_id="w")
    assert "Cannot cherry-pick replace partitions with changed partition" in message


def test_registering_is_as_icebergs(both: Both, table: str) -> None:
    location = both.table(table).metadata_location
    expected = both.sql(f"CALL {NAME}.system.register_table('db.{table}_again_java', '{location}')")
    # Ours puts no table over the files of another, so that these are forgotten meanwhile.
    names = [
        name for _, name in both.other.list_tables("db") if both.table(name).location() == both.table(table).location()
    ]
    known = {name: both.table(name).metadata_location for name in names}
    for name in known:
        both.other.drop_table(f"db.{name}")
    assert both.ours("register_table", f"{table}_again", metadata_file=location) == expected
    for name, file in known.items():
        both.other.register_table(f"db.{name}", file)
    both.same_state(f"{table}_again")


def ndv(both: Both, name: str) -> dict[int, str]:
    (file,) = both.table(name).metadata.statistics
    return {blob.fields[0]: blob.properties["ndv"] for blob in file.blob_metadata}


def test_statistics_are_icebergs_and_iceberg_reads_them(both: Both, table: str) -> None:
    assert len(both.ours("compute_table_stats", table)) == 1
    assert len(both.java("compute_table_stats", table)) == 1
    assert ndv(both, table) == ndv(both, f"{table}_java")
    rows = []
    for name, files in ((table, both.ours), (f"{table}_java", both.java)):
        ((path,),) = [row.values() for row in files("compute_partition_stats", table)]
        rows.append(both.sql(f"SELECT * FROM parquet.`{path}` ORDER BY partition"))
        assert both.table(name).metadata.partition_statistics[0].statistics_path == path
    assert len(rows[0]) == len(rows[1]) > 1
    known = both.table(table).snapshot_by_id
    for ours, java in zip(*rows, strict=True):
        # After the picks the two have snapshots of their own.
        if java["last_updated_snapshot_id"] != ours["last_updated_snapshot_id"]:
            assert known(ours["last_updated_snapshot_id"]).timestamp_ms == ours["last_updated_at"]
            ours = {**ours, **{k: java[k] for k in ("last_updated_snapshot_id", "last_updated_at")}}
        assert ours == java
    # Iceberg goes on from our statistics: its next ones are made from them.
    both.sql(f"INSERT INTO {NAME}.db.{table} VALUES (900, 'z')")
    again = both.sql(f"CALL {NAME}.system.compute_partition_stats(table => 'db.{table}')")[0]
    counts = both.sql(f"SELECT sum(data_record_count) AS n FROM parquet.`{again['partition_statistics_file']}`")
    assert counts == both.sql(f"SELECT count(*) AS n FROM {NAME}.db.{table}")


def test_changes_are_icebergs(both: Both) -> None:
    name = "log"
    both.sql(f"CREATE TABLE {NAME}.db.{name} (id bigint, p string) USING iceberg")
    for values in ("(1, 'a'), (2, 'b')", "(3, 'c')"):
        both.sql(f"INSERT INTO {NAME}.db.{name} VALUES {values}")
    both.sql(f"DELETE FROM {NAME}.db.{name} WHERE id = 1")
    first = ids_of(both, name)[0]
    assert both.ours("create_changelog_view", name) == [{"changelog_view": f"{name}_changes"}]
    both.sql(f"CALL {NAME}.system.create_changelog_view(table => 'db.{name}', changelog_view => 'theirs')")
    columns = "id, p, _change_type AS t, _change_ordinal AS o, _commit_snapshot_id AS s"
    ours = both.sql(f"SELECT {columns} FROM {NAME}.db.{name}_changes ORDER BY ALL")
    assert ours == both.sql(f"SELECT {columns} FROM theirs ORDER BY ALL")
    assert len(ours) == 4
    assert load_view(both.connector.tables_of, "db", f"{name}_changes") is not None, "as Presto's clients see it"
    assert both.ours("create_changelog_view", name) == [{"changelog_view": f"{name}_changes"}], "replaced"
    with pytest.raises(ProcessionError, match=r"Table already exists: db\.log_changes_rows"):
        both.ours("create_changelog_view", name, changelog_view=f"{name}_changes_rows")
    later = {"start-snapshot-id": str(first)}
    both.ours("create_changelog_view", name, changelog_view=f"{name}_later", options=later)
    assert len(both.sql(f"SELECT * FROM {NAME}.db.{name}_later")) == 2
    views = both.sql("SHOW VIEWS")
    assert not [view for view in views if str(view).find("procession_") >= 0]


def test_copies_go_by_the_names_of_columns(both: Both) -> None:
    both.sql(f"CREATE TABLE {NAME}.db.named (a bigint, b bigint) USING iceberg")
    both.sql(f"INSERT INTO {NAME}.db.named VALUES (1, 10), (2, 20)")
    both.ours("create_tag", "named", tag="old")
    both.sql(f"CREATE TABLE {NAME}.db.turned (c string, b bigint, A bigint) USING iceberg")
    assert both.ours("copy_to_table", "named", new_table="turned", save_mode="append")[0]["copied_records_count"] == 2
    both.ours("copy_to_table", "named", new_table="turned", save_mode="append", columns=["a"])
    found = both.sql(f"SELECT A, b, c FROM {NAME}.db.turned ORDER BY 1, 2")
    assert [tuple(row.values()) for row in found] == [(1, None, None), (1, 10, None), (2, None, None), (2, 20, None)]
    # Without a snapshot since, the table is copied as its columns are called now, and were called then.
    both.sql(f"ALTER TABLE {NAME}.db.named RENAME COLUMN b TO renamed")
    both.sql(f"ALTER TABLE {NAME}.db.named ADD COLUMN added string")
    both.ours("copy_to_table", "named", new_table="now")
    assert both.sql(f"SELECT * FROM {NAME}.db.now WHERE a = 1") == [{"a": 1, "renamed": 10, "added": None}]
    both.ours("copy_to_table", "named", new_table="then", as_of_instant="old", columns=["B"])
    assert both.sql(f"SELECT * FROM {NAME}.db.then ORDER BY 1") == [{"b": 10}, {"b": 20}]
    with pytest.raises(ProcessionError, match=r"Table db\.turned has no column 'renamed'"):
        both.ours("copy_to_table", "named", new_table="turned", save_mode="append")
    with pytest.raises(ProcessionError, match=r"Table db\.nowhere does not exist"):
        both.ours("copy_to_table", "named", new_table="nowhere", save_mode="append")


def test_copies_and_the_way_to_version_3(both: Both) -> None:
    both.sql(
        f"CREATE TABLE {NAME}.db.src (id bigint, `it's` string) USING iceberg TBLPROPERTIES ('format-version'='2')"
    )
    for values in ("(1, 'a')", "(2, 'b'), (3, 'c')"):
        both.sql(f"INSERT INTO {NAME}.db.src VALUES {values}")
    first, second = ids_of(both, "src")
    both.ours("create_tag", "src", tag="one", snapshot_id=first)
    assert both.ours("copy_to_table", "src", new_table="copied")[0] == {
        "new_table": "db.copied", "source_snapshot_id": second, "copied_records_count": 3,
    }  # fmt: skip
    made = both.ours("copy_to_table", "src", new_table="copied", as_of_instant="one", save_mode="append")
    assert (made[0]["source_snapshot_id"], made[0]["copied_records_count"]) == (first, 1)
    assert both.sql(f"SELECT id FROM {NAME}.db.copied ORDER BY 1") == [{"id": 1}, {"id": 1}, {"id": 2}, {"id": 3}]
    both.ours("copy_to_table", "src", new_table="copied", columns=["IT'S"], save_mode="overwrite")
    assert both.sql(f"SELECT * FROM {NAME}.db.copied ORDER BY 1") == [{"it's": "a"}, {"it's": "b"}, {"it's": "c"}]
    with pytest.raises(ProcessionError, match=r"Table db\.copied already exists"):
        both.ours("copy_to_table", "src", new_table="copied")
    assert both.ours("upgrade_format_version", "src", format_version=3) == [
        {"previous_version": 2, "current_version": 3}
    ]
    assert both.table("src").format_version == 3
    both.sql(f"INSERT INTO {NAME}.db.src VALUES (4, 'd')")
    assert both.ours("rollback_to_snapshot", "src", snapshot_id=second)[0]["current_snapshot_id"] == second
    assert len(both.sql(f"SELECT * FROM {NAME}.db.src")) == 3

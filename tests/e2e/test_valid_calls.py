"""Every procedure called rightly through HTTP in each spelling: the declared columns, the table read back by others.

Oracles: PyIceberg reads the rows after each call, DuckDB the files of the last snapshot. No Spark is needed here; what
needs one is walked through in ``test_valid_calls_spark.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import prestodb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from tests.e2e.service import Service, checksum
from tests.e2e.spellings import (
    SPELLINGS,
    called_as_in_iceberg,
    called_by_position,
    check_result,
    fitted,
    reference,
)
from tests.tiers import some

pytestmark = pytest.mark.slow

NEED_SPARK = {"rewrite_data_files", "compute_table_stats", "copy_to_table", "create_changelog_view", "add_files",
              "rewrite_position_delete_files", "rewrite_table_path", "clean_data_cache"}  # fmt: skip
"""Only their dry runs are here, where they have one."""
NO_DRY_RUN = {"compute_table_stats", "copy_to_table", "create_changelog_view", "clean_data_cache"}


@dataclass(frozen=True)
class Step:
    """One call; ``days`` are the days whose rows the table holds afterwards, None for those that it held before."""

    procedure: str
    arguments: Mapping[str, str]
    days: range | None = None


def step(procedure: str, days: range | None = None, **arguments: str) -> Step:
    return Step(procedure, arguments, days)


ALL = range(5)
STEPS = [
    step("show_snapshots", limit="3"), step("show_refs"), step("show_savepoints"),
    step("show_snapshot_files", snapshot_id="{first}"), step("show_snapshot_partitions", snapshot_id="{second}"),
    step("show_snapshot_stats", snapshot_id="{last}"), step("show_commits_metadata", limit="7"),
    step("ancestors_of", snapshot_id="{third}"), step("file_size_stats"), step("write_amplification", limit="5"),
    step("table_storage", list_files="true"), step("validate_files", verbose="true", check_footers="true"),
    step("create_tag", tag="'t'"), step("replace_tag", tag="'t'", snapshot_id="{first}", max_ref_age_ms="86400000"),
    step("set_current_snapshot", range(1), ref="'t'"), step("set_current_snapshot", ALL, snapshot_id="{last}"),
    step("drop_tag", tag="'t'", if_exists="true"),
    step("create_branch", branch="'b'", snapshot_id="{first}", min_snapshots_to_keep="2"),
    step("replace_branch", branch="'b'", snapshot_id="{second}"), step("fast_forward", branch="'b'", to="'main'"),
    step("commits_compare", ref="'b'", other="'main'"), step("drop_branch", branch="'b'"),
    step("create_savepoint", commit_time="'{first}'", user="'me'", comments="'kept'"),
    step("show_savepoints"), step("rollback_to_savepoint", range(1), instant_time="'{first}'"),
    step("delete_savepoint", instant_time="'{first}'"), step("cherrypick_snapshot", range(2), snapshot_id="{second}"),
    step("set_current_snapshot", ALL, snapshot_id="{last}"),
    step("rollback_to_snapshot", range(2), snapshot_id="{second}"),
    step("rollback_to_instant", range(1), instant_time="'{first}'"),
    step("set_current_snapshot", ALL, snapshot_id="{last}"),
    step("rollback_to_timestamp", range(1), timestamp="TIMESTAMP '{after_first}'"),
    step("set_current_snapshot", ALL, snapshot_id="{last}"), step("publish_changes", range(6), wap_id="'staged'"),
    step("set_table_property", key="'owner'", value="'me'"), step("upgrade_format_version", format_version="2"),
    step("compute_partition_stats", snapshot_id="{last}"),
    step("export_metadata", location="'{home}/exported-{table}'"),
    step("rewrite_data_files", dry_run="true"), step("rewrite_position_delete_files", dry_run="true"),
    step("rewrite_manifests", dry_run="true"), step("convert_equality_deletes", dry_run="true"),
    step("remove_dangling_deletes", dry_run="true"), step("expire_snapshots", dry_run="true"),
    step("rewrite_table_path", source_prefix="'{location}'", target_prefix="'file:///elsewhere'", dry_run="true"),
    step("add_files", source_table="'`parquet`.`{incoming}`'", dry_run="true"),
    step("rewrite_manifests"), step("remove_dangling_deletes"), step("convert_equality_deletes"),
    step("expire_partitions", older_than="TIMESTAMP '2026-11-02 00:00:00'", dry_run="true"),
    step("expire_partitions", range(1, 6), older_than="TIMESTAMP '2026-11-02 00:00:00'"),
    step("expire_snapshots", older_than="TIMESTAMP '2100-01-01 00:00:00'", retain_last="1"),
    step("remove_orphan_files", older_than="TIMESTAMP '2001-01-01 00:00:00'"), step("remove_orphan_files"),
    step("auto_maintain", budget_seconds="60", dry_run="true"), step("validate_files"),
    step("drop_extended_stats"),
]  # fmt: skip
FORGETTING = (
    "flush_metadata_cache",
    *(f"invalidate_{kind}_cache" for kind in ("metadata", "manifest_file", "statistics_file")),
)
WITHOUT_TABLE = [
    ("help", {"procedure": "'show_refs'"}),
    ("show_jobs", {"limit": "5"}),
    *((n, {"schema_name": "'db'"}) for n in FORGETTING),
]
MAINTENANCE = ("explain_maintenance", "maintain", "pause", "resume")
ELSEWHERE = {"unregister_table", "register_table", "snapshot", "migrate", "kill_job", "kill_query", *MAINTENANCE}
"""Called in tests of their own, here, in ``test_catalogue.py`` and in ``test_maintenance_service.py``."""


def rows_of_day(number: int) -> pa.Table:
    """Twenty rows of one day."""
    ids = pa.array(range(number * 20, number * 20 + 20), pa.int64())
    return pa.table({"id": ids, "day": [date(2026, 11, number + 1)] * 20})


@pytest.fixture(scope="module")
def quiet(quiet_service: Service) -> Service:
    """Its Spark is never started."""
    return quiet_service


@pytest.fixture
def inside(quiet: Service) -> Path:
    """A folder in the warehouse: files elsewhere are not taken in."""
    folder = quiet.data_dir / "iceberg" / "warehouse" / f"inside_{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    return folder


def made(service: Service, name: str, incoming: Path) -> dict[str, Any]:
    """Five days in five appends and one more staged; what steps name."""
    table = service.create(name, [rows_of_day(0).slice(0, 0)])
    with table.update_spec() as spec:
        spec.add_identity("day")
    for number in ALL:
        table.append(rows_of_day(number))
    line = [snapshot.snapshot_id for snapshot in table.snapshots()][-5:]
    first = next(s for s in table.snapshots() if s.snapshot_id == line[0])
    table.append(rows_of_day(5), snapshot_properties={"wap.id": "staged"}, branch=None)
    after = datetime.fromtimestamp(first.timestamp_ms / 1000 + 0.001, UTC)
    return {
        "first": line[0], "second": line[1], "third": line[2], "last": line[-1], "table": name,
        "after_first": f"{after:%Y-%m-%d %H:%M:%S.%f}"[:-3], "location": table.location(), "incoming": incoming,
        "home": f"file://{service.data_dir}/iceberg/warehouse",
    }  # fmt: skip


def read_back(table: Table, days: range) -> None:
    """PyIceberg reads just the rows of ``days``, and DuckDB as many in the files."""
    found = sorted(table.scan().to_arrow().column("id").to_pylist())
    assert found == list(range(days.start * 20, days.stop * 20))
    assert checksum(table)[0] == len(found)


@pytest.mark.parametrize(
    "spelling",
    some(["name", "execute"], ["position", "iceberg"], "all spellings of a rewrite in test_valid_calls_spark"),
)
def test_each_answers_as_declared_and_keeps_the_rows(quiet: Service, inside: Path, spelling: str) -> None:
    name = f"by_{spelling}"
    pq.write_table(rows_of_day(9).drop(["day"]), inside / "more.parquet")
    known = made(quiet, name, inside)
    days, lake = ALL, quiet.lake()
    read = None
    for item in STEPS:
        arguments = {key: value.format(**known) for key, value in item.arguments.items()}
        sql = SPELLINGS[spelling](item.procedure, f"db.{name}", arguments)
        check_result(quiet, sql, item.procedure, arguments)
        table = lake.load_table(f"db.{name}")
        assert item.days is None or read != table.metadata_location, item
        if read != table.metadata_location:
            days, read = item.days or days, table.metadata_location
            read_back(table, days)


def test_none_is_left_out() -> None:
    walked = {item.procedure for item in STEPS} | {name for name, _ in WITHOUT_TABLE}
    assert walked | ELSEWHERE | NO_DRY_RUN == set(reference()), "a procedure that nobody walks through"


@pytest.mark.parametrize(("name", "arguments"), WITHOUT_TABLE)
def test_those_without_a_table(quiet: Service, name: str, arguments: dict[str, str]) -> None:
    called = f"CALL {'iceberg.' if name in FORGETTING else ''}system.{name}"
    for sql in (f"{called}({', '.join(f'{k} => {v}' for k, v in arguments.items())})",
                f"{called}({', '.join(fitted(name, arguments))})"):  # fmt: skip
        assert check_result(quiet, sql, name, arguments) or name == "show_jobs", "none yet"


def test_a_table_leaves_the_catalog_and_comes_back(quiet: Service) -> None:
    quiet.create("moved", [rows_of_day(0), rows_of_day(1)])
    ((file,),) = check_result(quiet, called_by_position("unregister_table", "db.moved", {}), "unregister_table", {})
    assert not quiet.lake().table_exists("db.moved")
    sql = called_as_in_iceberg("register_table", "db.moved", {"metadata_file": f"'{file}'"})
    ((_, rows, files),) = check_result(quiet, sql, "register_table", {})
    assert (rows, files) == (40, 2)
    read_back(quiet.lake().load_table("db.moved"), range(2))


def test_trinos_thresholds(quiet: Service) -> None:
    table = quiet.create("aged", [rows_of_day(0), rows_of_day(1)])
    execute = "ALTER TABLE iceberg.db.aged EXECUTE"
    assert quiet.execute(f"{execute} expire_snapshots(retention_threshold => '7d')") == [[0] * 6]
    aged = "older_than => current_timestamp - INTERVAL '5' DAY"
    assert quiet.execute(f"{execute} expire_snapshots({aged})") == [[0] * 6]
    assert quiet.execute(f"CALL iceberg.system.remove_orphan_files(table => 'db.aged', {aged})") == []
    assert quiet.execute(f"{execute} optimize_manifests") == [[2, 1]]
    with pytest.raises(prestodb.exceptions.PrestoQueryError, match=r"Retention specified \(0.00ms\) is shorter than"):
        quiet.execute(f"{execute} expire_snapshots(retention_threshold => '0s')")
    given = {"iceberg.expire_snapshots_min_retention": "0s"}
    (row,) = quiet.execute(f"{execute} expire_snapshots('0s')", session_properties=given)
    assert row[3:5] == [2, 2], "manifests and manifest lists"
    assert quiet.execute(f"{execute} remove_orphan_files(retention_threshold => '7d')") == []
    read_back(table.refresh(), range(2))


@pytest.mark.parametrize("name", ["snapshot", "migrate"])
def test_a_folder_becomes_a_table(quiet: Service, inside: Path, name: str) -> None:
    pq.write_table(rows_of_day(0), inside / "0.parquet")
    pq.write_table(rows_of_day(1), inside / "1.parquet")
    arguments = {"source_table": f"'`parquet`.`{inside}`'"}
    for dry_run in ("true", "false"):
        sql = SPELLINGS["name"](name, f"db.{name}_made", {**arguments, "dry_run": dry_run})
        if name == "snapshot" and dry_run == "false":  # Iceberg's source comes first
            sql = f"CALL iceberg.system.snapshot('`parquet`.`{inside}`', 'db.snapshot_made')"
        rows = check_result(quiet, sql, name, {"dry_run": dry_run})
    assert rows == [[2]]
    read_back(quiet.lake().load_table(f"db.{name}_made"), range(2))

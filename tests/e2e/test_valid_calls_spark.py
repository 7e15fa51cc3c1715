"""Procedures that need Spark called rightly: the declared columns, and the rows read back by PyIceberg and DuckDB."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.e2e.service import Service, checksum
from tests.e2e.spellings import SPELLINGS, check_result, executed
from tests.e2e.test_valid_calls import NEED_SPARK

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ALL = "map(ARRAY['rewrite-all'], ARRAY['true'])"
SORT = {"strategy": "'sort'", "sorted_by": "ARRAY['id DESC']", "options": ALL}
REWRITES = {
    **{spelling: (call, SORT) for spelling, call in SPELLINGS.items()},
    "spark": (SPELLINGS["name"], {"strategy": "'sort'", "sort_order": "'zorder(id, p)'", "where": "'id >= 0'",
                                  "options": "map('rewrite-all', 'true')"}),
    "trino": (executed, {"options": "'rewrite-all=true'"}),
}  # fmt: skip


def numbers(start: int) -> pa.Table:
    ids = range(start, start + 50)
    return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array([i % 3 for i in ids], pa.int32())})


PROPERTIES = {
    **{f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")},
    "write.delete.granularity": "partition",
}


@pytest.fixture(scope="module")
def table(service: Service) -> Any:
    made = service.create("called", [numbers(i * 50) for i in range(4)])
    with made.transaction() as transaction:
        transaction.set_properties(PROPERTIES)
    for gone in (7, 8, 107):
        service.execute(f"DELETE FROM iceberg.db.called WHERE id = {gone}")
    return made


def ids(service: Service, name: str) -> list[int]:
    return sorted(service.lake().load_table(f"db.{name}").scan().to_arrow().column("id").to_pylist())


LEFT = [i for i in range(200) if i not in (7, 8, 107)]


def called(service: Service, name: str, **arguments: str) -> list[list[Any]]:
    return check_result(service, SPELLINGS["name"](name, "db.called", arguments), name, arguments)


def test_joining_delete_files_keeps_the_rows(service: Service, table: Any) -> None:
    files = table.refresh().inspect.delete_files().column("file_path").to_pylist()
    assert len(files) == 3, "Spark deleted by position"
    (row,) = called(service, "rewrite_position_delete_files", options="map('rewrite-all', 'true')")
    assert row[:2] == [3, 1]
    assert ids(service, "called") == LEFT


@pytest.mark.parametrize("spelling", REWRITES)
def test_a_rewrite_in_each_spelling(service: Service, table: Any, spelling: str) -> None:
    call, arguments = REWRITES[spelling]
    (row,) = check_result(service, call("rewrite_data_files", "db.called", arguments), "rewrite_data_files", arguments)
    assert (row[1], row[3], row[5]) == (1, 0, len(LEFT))
    assert ids(service, "called") == LEFT
    assert checksum(table)[0] == len(LEFT), "no delete is left to apply"


@pytest.fixture
def inside(service: Service) -> Path:
    """A folder in the warehouse: nothing is written or taken in elsewhere."""
    folder = service.data_dir / "iceberg" / "warehouse" / f"inside_{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    return folder


def test_what_reads_the_table_answers_as_declared(service: Service, table: Any, inside: Path) -> None:
    ((path,),) = called(service, "compute_table_stats", columns="ARRAY['id']")
    assert Path(path.removeprefix("file://")).exists()
    # Spark writes file:/ for some paths of a table, which then do not all begin alike.
    other = service.create("pathed", [numbers(0)])
    prefixes = {"source_prefix": f"'{other.location()}'", "target_prefix": "'file:///elsewhere'",
                "staging_location": f"'file://{inside}/staged/'"}  # fmt: skip
    sql = SPELLINGS["position"]("rewrite_table_path", "db.pathed", prefixes)
    ((latest, listed, manifests, deletes),) = check_result(service, sql, "rewrite_table_path", prefixes)
    assert (latest, manifests, deletes) == (Path(other.metadata_location).name, 1, 0)
    assert listed.startswith((f"file:{inside}", f"file://{inside}"))
    # Iceberg looks for changes only where no commit has delete files.
    changes = {"changelog_view": "'pathed_changes'", "net_changes": "true"}
    sql = SPELLINGS["iceberg"]("create_changelog_view", "db.pathed", changes)
    assert check_result(service, sql, "create_changelog_view", changes) == [["pathed_changes"]]
    assert service.execute("SELECT count(*) FROM iceberg.db.pathed_changes") == [[50]]
    ((name, _, copied),) = called(service, "copy_to_table", new_table="'copied'", columns="array('id')")
    assert (name, copied) == ("db.copied", len(LEFT))
    assert ids(service, "copied") == LEFT
    assert ids(service, "called") == LEFT


def test_files_that_are_there_already_are_added(service: Service, table: Any, inside: Path) -> None:
    pq.write_table(numbers(1000), inside / "more.parquet")
    rows = called(service, "add_files", source_table=f"'`parquet`.`{inside}`'", check_duplicate_files="true")
    assert rows == [[1, None]]
    assert ids(service, "called") == [*LEFT, *range(1000, 1050)]


def test_every_executor_drops_what_it_cached(service: Service) -> None:
    for sql in ("CALL system.clean_data_cache('ALL_WORKERS')", "CALL clean_data_cache(scope => 'ALL_WORKERS')"):
        assert len(check_result(service, sql, "clean_data_cache", {})) >= 1


def test_none_is_left_out() -> None:
    here = Path(__file__).read_text()
    assert {name for name in NEED_SPARK if name not in here} == set()

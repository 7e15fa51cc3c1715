"""Files that others remove while a rewrite reads them: the rest of its work lands, and no row is lost or comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, LessThan
from pyiceberg.transforms import IdentityTransform

from coordinator.connectors.iceberg.manifests.live_files import read_live
from coordinator.connectors.iceberg.rewrite.committing import one_rewrite, searched_rows
from coordinator.connectors.iceberg.rewrite.committing.recovery import recover
from coordinator.expressions.builders import constant, operator
from coordinator.expressions.types import BOOLEAN
from shared.errors import ErrorCode, ProcessionError
from shared.plan.expressions import Variable
from shared.plan.types import Type
from tests.iceberg.test_carried_deletes import add_vector, files, ids, meanwhile, numbers
from tests.iceberg.test_copying import values
from tests.iceberg.test_copying_version_three import append, create, lineage, live

ALL = {"rewrite-all": "true"}
WAYS: list[dict[str, Any]] = [
    {},
    {"strategy": "sort", "sorted_by": ["name"]},
    {"strategy": "sort", "sorted_by": ["hilbert(id, name)"]},
]


def rival(lake: Any, options: dict[str, str], predicate: Any = None) -> None:
    """Another coordinator rewrites one file."""
    lake.connector, kept = lake.connect(), lake.connector
    assert lake.rewrite("t", options, predicate)["rewritten_data_files_count"] == 1
    lake.connector.close()
    lake.connector = kept


@pytest.fixture
def table(lake: Any) -> Any:
    """Eight files of 100 rows."""
    return lake.create("t", [numbers(100 * i, 100) for i in range(8)])


def tidy(lake: Any, left: list[int]) -> None:
    """The rows are those of ``left``, also for a rewrite that applies all deletes, and nothing lies about."""
    assert ids(lake) == left
    assert lake.orphans("t") == set()
    assert lake.connector.journal.open_entries("lab") == []
    lake.workers.before = lambda _kernel, _number: None
    lake.rewrite("t", ALL | {"remove-dangling-deletes": "true"})
    assert ids(lake) == left
    table = lake.table("t")
    assert len(read_live(table, table.current_snapshot()).deletes) == 0
    assert lake.orphans("t") == set()


@pytest.mark.parametrize("given", WAYS, ids=["packed", "sorted", "curve"])
def test_a_copied_file_costs_its_own_rows(lake: Any, table: Any, given: dict[str, Any]) -> None:
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("id", 275)))
    result = lake.rewrite("t", ALL, **given)
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (7, 1)
    summary = lake.table("t").current_snapshot().summary.additional_properties
    assert (summary["deleted-data-files"], summary["deleted-records"]) == ("7", "700")
    assert (summary["total-data-files"], summary["total-records"]) == ("2", "899")
    tidy(lake, [i for i in range(800) if i != 275])


@pytest.mark.parametrize("given", WAYS, ids=["packed", "sorted", "curve"])
def test_a_file_without_which_the_table_goes_on_is_one_as_well(
    lake: Any, table: Any, foreign: Any, given: dict[str, Any]
) -> None:
    """Beside deletes of rows, before and meanwhile, of files that stay and of one that goes."""
    paths = files(lake)
    foreign.delete_positions(table, {paths[100]: [5], paths[200]: [0, 99], paths[300]: [7]})

    def action() -> None:
        foreign.delete_positions(lake.table("t"), {paths[200]: [50], paths[300]: [8]})
        with lake.table("t").transaction() as transaction, transaction.update_snapshot().delete() as delete:
            delete.delete_by_predicate(LessThan("id", 300) & GreaterThanOrEqual("id", 200))

    meanwhile(lake, action)
    result = lake.rewrite("t", ALL, **given)
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (7, 1)
    tidy(lake, [i for i in range(800) if i not in {105, 307, 308} and not 200 <= i < 300])


def test_equality_deletes_that_the_rewrite_applied_stay_applied(lake: Any, table: Any, foreign: Any) -> None:
    foreign.delete_equal(table, pa.table({"id": pa.array([5, 205, 700], pa.int64())}))
    below = operator("<", (Variable(name="id", type="bigint"), constant(100, Type("bigint"))), BOOLEAN)
    meanwhile(lake, lambda: rival(lake, ALL, below))
    result = lake.rewrite("t", ALL)
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (7, 1)
    lake.rewrite("t", ALL)  # PyIceberg reads no equality deletes
    tidy(lake, [i for i in range(800) if i not in {5, 205, 700}])


@pytest.mark.parametrize("given", [{}, {"strategy": "sort", "sorted_by": ["id DESC"]}], ids=["packed", "sorted"])
def test_rows_of_version_three_keep_their_ids(
    lake: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rival rewrites one of the files, with a vector; its rows are then in that file alone, with their ids."""
    monkeypatch.setattr(searched_rows, "_MOST_ROWS", 0)  # ids are enough, of which there may be more
    table = create(lake)
    append(table, values(0, 300), values(300, 200), values(500, 400))
    before = lineage(lake)
    chosen = next(file for file in live(lake).data if file.file.record_count == 300)

    def action() -> None:
        add_vector(lake.connector.tables_of.open("db", "t"), chosen, [7])
        rival(lake, {"delete-file-threshold": "1", "min-input-files": "100", "max-file-group-size-bytes": "1"})

    meanwhile(lake, action)
    result = lake.rewrite("t", ALL, **given)
    assert (result["rewritten_data_files_count"], result["failed_data_files_count"]) == (2, 1)
    (gone,) = before.keys() - lineage(lake).keys()
    left = {key: row for key, row in before.items() if key != gone}
    assert lineage(lake) == left
    assert before[gone][0] == before[min(before)][0] + 7
    lake.workers.before = lambda _kernel, _number: None
    lake.rewrite("t", ALL)
    assert lineage(lake) == left


def test_where_most_rows_of_a_group_are_gone_its_old_files_stay(lake: Any, table: Any) -> None:
    meanwhile(lake, lambda: lake.table("t").delete(LessThan("id", 500)))
    with pytest.raises(ProcessionError, match="Missing required files to delete") as failure:
        lake.rewrite("t", ALL)
    assert failure.value.code is ErrorCode.TRANSACTION_CONFLICT
    tidy(lake, [*range(500, 800)])


def test_version_one_has_no_deletes_for_them(lake: Any) -> None:
    lake.create("t", [numbers(100 * i, 100) for i in range(8)], properties={"format-version": "1"})
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("id", 275)))
    with pytest.raises(ProcessionError, match="Missing required files to delete"):
        lake.rewrite("t", ALL)
    tidy(lake, [i for i in range(800) if i != 275])


def partitioned(lake: Any) -> None:
    """Three groups: the partitions 0, 1 and 2 with three files each."""
    schema = pa.schema([("part", pa.int32()), ("id", pa.int64())])
    table = lake.other.create_table("db.t", schema=schema)
    with table.update_spec() as update:
        update.add_field("part", IdentityTransform(), "part")
    for start in range(0, 90, 10):
        found = [*range(start, start + 10)]
        table.append(pa.table({"part": pa.array([start // 30] * 10, pa.int32()), "id": found}, schema=schema))


def test_a_lost_group_costs_itself_alone(lake: Any) -> None:
    """A partition is dropped while all are rewritten: what was written for it is not committed, and not left either."""
    partitioned(lake)
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("part", 1)))
    result = lake.rewrite("t", ALL)
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 2)
    assert (result["failed_data_files_count"], result["rewritten_rows_count"]) == (3, 60)
    assert [row[1] for row in lake.rows("t")] == [*range(30), *range(60, 90)]
    assert lake.orphans("t") == set()
    assert lake.connector.journal.open_entries("lab") == []


def test_files_of_a_lost_group_go_after_a_crash_too(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator ends between the commit and the removal of what was not committed."""
    partitioned(lake)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(one_rewrite, "_remove_lost_attempts", killed)
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("part", 1)))
    with pytest.raises(KeyboardInterrupt):
        lake.rewrite("t", ALL)
    assert len(lake.orphans("t")) == 1
    again = lake.connect()
    assert [each.outcome for each in recover(again.tables_of, again.journal)] == ["COMMITTED"]
    assert lake.orphans("t") == set()
    assert [row[1] for row in lake.rows("t")] == [*range(30), *range(60, 90)]


def test_a_file_that_goes_between_two_attempts_is_seen(lake: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt is made over a head with all files, and loses to a commit without one of them."""
    done: list[int] = []
    carry: Callable[..., Any] = one_rewrite.DeleteCarrier.carry

    def late(self: Any, *given: Any) -> Any:
        found = carry(self, *given)
        if not done:
            done.append(1)
            lake.table("t").delete(EqualTo("id", 275))
        return found

    monkeypatch.setattr(one_rewrite.DeleteCarrier, "carry", late)
    assert lake.rewrite("t", ALL)["failed_data_files_count"] == 1
    assert done
    tidy(lake, [i for i in range(800) if i != 275])


def test_a_branch_loses_no_more(lake: Any, table: Any) -> None:
    with table.manage_snapshots() as change:
        change.create_branch(table.refresh().current_snapshot().snapshot_id, "side")
    main = table.refresh().current_snapshot().snapshot_id
    meanwhile(lake, lambda: lake.table("t").delete(EqualTo("id", 275), branch="side"))
    assert lake.rewrite("t", ALL, branch="side")["failed_data_files_count"] == 1
    table = lake.table("t")
    side = table.snapshot_by_name("side").snapshot_id
    found = table.scan(snapshot_id=side).to_arrow()["id"].to_pylist()
    assert sorted(found) == [i for i in range(800) if i != 275]
    assert table.current_snapshot().snapshot_id == main
    assert lake.orphans("t") == set()

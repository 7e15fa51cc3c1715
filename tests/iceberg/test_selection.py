"""Which files a rewrite takes: options, filters, partitions, fixed points. Cases of Presto's TestRewriteDataFiles."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType

from coordinator.connectors.iceberg.rewrite.asked.options import parse_options
from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Constant, Signature, SpecialForm, StaticFunctionHandle, Variable


def numbers(start: int, count: int = 20) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids]})


def constant(value: Any, kind: str) -> Constant:
    return Constant(valueBlock=encode_constant(value, kind), type=kind)


def operator(name: str, *arguments: Any) -> Call:
    signature = Signature(name=f"presto.default.$operator${name}", kind="SCALAR", returnType="boolean")
    handle = StaticFunctionHandle(signature=signature)
    return Call(displayName=name.upper(), functionHandle=handle, returnType="boolean", arguments=arguments)


def negation(argument: Any) -> Call:
    signature = Signature(name="presto.default.not", kind="SCALAR", returnType="boolean")
    handle = StaticFunctionHandle(signature=signature)
    return Call(displayName="not", functionHandle=handle, returnType="boolean", arguments=(argument,))


def form(name: Any, *arguments: Any) -> SpecialForm:
    return SpecialForm(form=name, returnType="boolean", arguments=arguments)


ID = Variable(name="id", type="bigint")


def big(value: int) -> Constant:
    return constant(value, "bigint")


FILTERS = [
    (operator("equal", ID, big(25)), 1),
    (operator("equal", big(25), ID), 1),
    (operator("greater_than", big(40), ID), 2),
    (operator("less_than_or_equal", ID, big(40)), 3),
    (operator("between", ID, big(15), big(45)), 3),
    (form("AND", operator("greater_than", ID, big(19)), operator("less_than", ID, big(40))), 1),
    (form("OR", operator("equal", ID, big(0)), operator("equal", ID, big(99))), 2),
    (form("IN", ID, big(1), big(61)), 2),
    (form("IS_NULL", ID), 0),
    (negation(form("IS_NULL", ID)), 5),
    (negation(operator("less_than", ID, big(80))), 1),
    (negation(form("OR", operator("less_than", ID, big(40)), operator("greater_than", ID, big(59)))), 1),
    (constant(True, "boolean"), 5),
    (constant(False, "boolean"), 0),
    (form("AND", operator("equal", ID, big(25)), operator("unknown_function", ID)), 1),
    (negation(form("AND", operator("equal", ID, big(25)), operator("unknown_function", ID))), 5),
    (operator("equal", Variable(name="missing", type="bigint"), big(1)), 5),
    (operator("equal", ID, constant("x", "varchar")), 5),
    (operator("greater_than", Variable(name="NAME", type="varchar"), constant("row 9", "varchar")), 1),
]


@pytest.mark.parametrize(("predicate", "files"), FILTERS)
def test_filters_select_files_by_statistics(lake: Any, predicate: Any, files: int) -> None:
    lake.create("t", [numbers(i * 20) for i in range(5)])
    before = lake.rows("t")
    result = lake.rewrite("t", {"rewrite-all": "true"}, predicate)
    assert result["rewritten_data_files_count"] == files
    assert lake.rows("t") == before


def partitioned(lake: Any) -> None:
    schema = Schema(
        NestedField(1, "region", StringType(), required=False),
        NestedField(2, "day", DateType(), required=False),
        NestedField(3, "id", LongType(), required=False),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "region"),
        PartitionField(2, 1001, DayTransform(), "day_day"),
        PartitionField(3, 1002, BucketTransform(2), "id_bucket"),
    )
    table = lake.other.create_table("db.p", schema=schema, partition_spec=spec)
    for i in range(6):
        table.append(
            pa.table(
                {
                    "region": ["EU", "EU", None, "ü/x=1"] * 5,
                    "day": pa.array([date(2024, 1, 1), date(2024, 1, 2), None, date(1969, 12, 31)] * 5),
                    "id": pa.array(range(i * 20, i * 20 + 20), pa.int64()),
                }
            )
        )


def test_partitions_stay_apart_and_filters_prune_them(lake: Any) -> None:
    partitioned(lake)
    before = lake.rows("p")
    filtered = operator("equal", Variable(name="region", type="varchar"), constant("EU", "varchar"))
    result = lake.rewrite("p", predicate=filtered)
    assert result["rewritten_data_files_count"] == 24
    assert result["added_data_files_count"] == 4
    assert lake.rewrite("p")["added_data_files_count"] == 4
    assert lake.rows("p") == before
    tasks = list(lake.table("p").scan().plan_files())
    assert len(tasks) == len({(t.file.partition[0], t.file.partition[1], t.file.partition[2]) for t in tasks}) == 8
    assert len(list(lake.table("p").scan(row_filter="region = 'ü/x=1' and day = '1969-12-31'").plan_files())) == 2
    assert lake.orphans("p") == set()


def test_partition_evolution_moves_files_to_the_spec_of_today(lake: Any) -> None:
    lake.create("t", [numbers(i * 20) for i in range(6)])
    with lake.table("t").update_spec() as update:
        update.add_field("name", IdentityTransform())
    for i in range(5):
        lake.table("t").append(pa.table({"id": pa.array([1000 + i] * 3, pa.int64()), "name": ["a", "a", "b"]}))
    before = lake.rows("t")
    result = lake.rewrite("t")
    assert result["rewritten_data_files_count"] == 16
    names = {row[1] for row in before}
    files = list(lake.table("t").scan().plan_files())
    assert {file.file.spec_id for file in files} == {1}
    # The six files of the old spec and those of each partition are groups of their own.
    assert {file.file.partition[0] for file in files} == names
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()


def test_schema_evolution_in_one_table(lake: Any) -> None:
    lake.create("t", [numbers(i * 20) for i in range(3)])
    with lake.table("t").update_schema() as update:
        update.add_column("extra", LongType())
        update.rename_column("name", "label")
        update.move_first("extra")
    for i in range(3):
        rows = {"extra": pa.array([i], pa.int64()), "id": pa.array([500 + i], pa.int64()), "label": [f"n{i}"]}
        lake.table("t").append(pa.table(rows))
    before = lake.rows("t")
    assert lake.rewrite("t")["rewritten_data_files_count"] == 6
    assert lake.rows("t") == before


def test_empty_table_and_too_few_files_make_no_snapshot(lake: Any) -> None:
    lake.other.create_table("db.empty", schema=numbers(0).schema)
    assert lake.rewrite("empty") == dict.fromkeys(lake.rewrite("empty"), 0)
    assert lake.table("empty").current_snapshot() is None
    lake.create("few", [numbers(0), numbers(20)])
    snapshot = lake.table("few").current_snapshot()
    files = lake.files("few")
    assert lake.rewrite("few")["rewritten_data_files_count"] == 0
    assert lake.table("few").current_snapshot() == snapshot
    assert lake.files("few") == files
    assert lake.rewrite("few", {"min-input-files": "2"})["rewritten_data_files_count"] == 2
    assert lake.rewrite("few", {"min-input-files": "1"})["rewritten_data_files_count"] == 0


@pytest.mark.parametrize("most", [1, 2, 5, 8, 11])
def test_a_limit_of_files_takes_as_many_as_it_lets(lake: Any, most: int) -> None:
    """As in Iceberg, a group that is larger than the limit is begun; repeated calls come to an end."""
    lake.create("t", [numbers(i * 20) for i in range(11)])
    before, left = lake.rows("t"), 11
    while taken := lake.rewrite("t", {"max-files-to-rewrite": str(most)})["rewritten_data_files_count"]:
        assert taken == min(most, left)
        assert lake.rows("t") == before
        left = len(list(lake.table("t").scan().plan_files()))
    # One file alone is not worth writing again.
    assert left == 11 if most == 1 else left < 5


def test_large_files_are_split_between_row_groups(lake: Any) -> None:
    table = lake.create("t", [numbers(0, 1)], properties={"write.parquet.row-group-limit": "1000"})
    table.append(numbers(1, 20_000))
    before = lake.rows("t")
    size = max(task.file.file_size_in_bytes for task in table.refresh().scan().plan_files())
    lake.workers.parallelism = 3
    target = size // 4
    result = lake.rewrite("t", {"target-file-size-bytes": str(target), "rewrite-all": "true"})
    sizes = [task.file.file_size_in_bytes for task in lake.table("t").scan().plan_files()]
    assert len(sizes) == result["added_data_files_count"] >= 2
    assert max(sizes) <= 1.1 * target, "row groups of a thousand rows took more room than theirs do"
    assert lake.rows("t") == before


def test_parts_of_one_output_are_joined(lake: Any, monkeypatch: Any) -> None:
    from coordinator.connectors.iceberg.rewrite.planning import outputs

    monkeypatch.setattr(outputs, "_LEAST_PART", 1)
    lake.workers.parallelism = 4
    lake.create("t", [numbers(i * 20) for i in range(9)])
    before = lake.rows("t")
    result = lake.rewrite("t")
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (9, 1)
    assert lake.workers.tasks == 5
    assert lake.rows("t") == before
    assert lake.orphans("t") == set()


def test_position_deletes_are_applied_and_removed(lake: Any, foreign: Any) -> None:
    lake.create("t", [numbers(i * 20) for i in range(5)])
    paths = sorted(task.file.file_path for task in lake.table("t").scan().plan_files())
    foreign.delete_positions(lake.table("t"), {paths[0]: [3, 4], paths[1]: [0]})
    foreign.delete_positions(lake.table("t"), {paths[2]: range(20)})
    before = lake.rows("t")
    assert len(before) == 77
    # 20 of 20 rows deleted is above delete-ratio-threshold: the group is worth it whatever the file count.
    result = lake.rewrite("t", {"min-input-files": "100"})
    assert result["removed_delete_files_count"] == 2
    assert result["rewritten_rows_count"] == 77
    assert lake.rows("t") == before
    summary = lake.table("t").current_snapshot().summary
    assert summary["total-delete-files"] == "0"
    assert summary["removed-position-delete-files"] == "2"
    assert summary["operation"].value == "replace"


def test_delete_file_that_still_serves_another_file_stays(lake: Any, foreign: Any) -> None:
    lake.create("t", [numbers(i * 20) for i in range(2)])
    small, other = sorted(task.file.file_path for task in lake.table("t").scan().plan_files())
    foreign.delete_positions(lake.table("t"), {small: [1], other: [2]})
    before = lake.rows("t")
    low = operator("less_than", ID, big(20))
    result = lake.rewrite("t", {"rewrite-all": "true"}, low)
    assert result["rewritten_data_files_count"] == 1
    assert result["removed_delete_files_count"] == 0
    assert lake.rows("t") == before


WRONG = [
    ({"min-input-files": "x"}, "min-input-files must be a valid integer, got: x"),
    ({"min-input-files": "0"}, "min-input-files must be at least 1, got: 0"),
    ({"min-file-size-bytes": "-1"}, "min-file-size-bytes must be non-negative, got: -1"),
    ({"max-file-size-bytes": "1e3"}, "max-file-size-bytes must be a valid long, got: 1e3"),
    ({"max-file-size-bytes": "9223372036854775808"}, "max-file-size-bytes must be a valid long, got: "),
    ({"target-file-size-bytes": "0"}, "target-file-size-bytes must be at least 1, got: 0"),
    ({"target-file-size-bytes": "10", "min-file-size-bytes": "10"}, "all new files will be smaller than the min"),
    ({"target-file-size-bytes": "10", "max-file-size-bytes": "10"}, "all new files will be larger than the max"),
    ({"rewrite-all": "maybe"}, "rewrite-all must be true or false, got: maybe"),
    ({"delete-ratio-threshold": "1.5"}, "delete-ratio-threshold must be > 0 and <= 1, got: 1.5"),
    ({"min-input-files": None}, "min-input-files has no value"),
    ({"rewrite-job-order": "random"}, "Invalid rewrite job order name: random"),
    ({"min-input-file": "2"}, r"Cannot use options \[min-input-file\]"),
    ({"compression-factor": "2"}, r"Cannot use options \[compression-factor\]"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options_are_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(ProcessionError, match=message) as failure:
        parse_options(options)
    assert failure.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategy": "fast"}, "Invalid rewrite strategy: fast. Valid values are 'sort' or 'binpack'."),
        ({"sorted_by": ["id"]}, "Cannot use binpack strategy with sorted_by option."),
    ],
)
def test_what_is_not_supported_is_said_before_any_work(lake: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProcessionError) as failure:
        lake.procedure("rewrite_data_files").validate({"schema": "db", "table_name": "t", **given})
    assert failure.value.message.startswith(message)
    assert failure.value.code is ErrorCode.NOT_SUPPORTED


def test_bounds_alone_move_the_target() -> None:
    """Presto has no target: its bounds must not make every new file a candidate again."""
    low = parse_options({"max-file-size-bytes": "1000000"})
    assert low.min_file_size < low.target_file_size < low.max_file_size == 1_000_000
    high = parse_options({"min-file-size-bytes": "1000000000"})
    assert high.min_file_size == 1_000_000_000 < high.target_file_size < high.max_file_size
    table = parse_options({}, {"write.target-file-size-bytes": "1000"})
    assert (table.min_file_size, table.target_file_size, table.max_file_size) == (750, 1000, 1800)
    assert parse_options({"min-file-size-bytes": "0", "max-file-size-bytes": "0"}).max_file_size > 1 << 60


def test_rollback_to_snapshot(lake: Any) -> None:
    table = lake.create("t", [numbers(0), numbers(20)])
    first, second = (snapshot.snapshot_id for snapshot in table.refresh().snapshots())
    result = lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=first)
    assert list(result.rows) == [(second, first)]
    assert len(lake.rows("t")) == 20
    assert list(lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=first).rows) == [
        (first, first)
    ]
    for wrong in (second, 77):
        with pytest.raises(ProcessionError) as failure:
            lake.call("rollback_to_snapshot", schema="db", table_name="t", snapshot_id=wrong)
        assert failure.value.code is ErrorCode.ICEBERG_INVALID_SNAPSHOT_ID
        assert str(wrong) in failure.value.message
    with pytest.raises(ProcessionError, match=r"Table db\.none does not exist"):
        lake.call("rollback_to_snapshot", schema="db", table_name="none", snapshot_id=1)


def test_clean_data_cache(lake: Any, tmp_path: Path) -> None:
    lake.create("t", [numbers(i * 20) for i in range(5)])
    lake.rewrite("t")
    (row,) = lake.call("clean_data_cache", scope="ALL_WORKERS").rows
    assert row[0] == "local-0"
    assert row[1] >= 5
    assert row[2] > 0
    (row,) = lake.call("clean_data_cache", scope="all_workers").rows
    assert row[1:] == (0, 0)
    with pytest.raises(ProcessionError, match="Invalid scope: SOME"):
        lake.call("clean_data_cache", scope="SOME")

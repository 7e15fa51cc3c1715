"""Cases of Presto's TestRewriteDataFilesProcedure that other files do not have, each with its name there.

Elsewhere: empty table, partitions, filters, true and false filters, wrong parameters, min-input-files, evolution
(test_selection.py), strategies and their arguments, mixed, malformed, multiple and unknown zorder columns
(test_delegated.py, test_sorted_rewrite.py). Presto refuses zorder on decimals; here all primitive types have a place.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "p", StringType(), required=False))
SPEC = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))


def rows(start: int, part: str, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "p": [part] * count})


def fill(lake: Any, name: str, files: dict[str, int], **options: Any) -> Any:
    """A table with so many files in each partition."""
    table = lake.other.create_table(f"db.{name}", schema=SCHEMA, **options)
    for place, (part, count) in enumerate(files.items()):
        for i in range(count):
            table.append(rows(place * 1000 + i * 10, part))
    return table


def live(lake: Any, name: str) -> Counter[str]:
    tasks = lake.table(name).scan().plan_files()
    return Counter(str(task.file.partition[0]) if len(task.file.partition) else "" for task in tasks)


def paths(table: Any, part: str) -> list[str]:
    tasks = table.refresh().scan().plan_files()
    return sorted(task.file.file_path for task in tasks if task.file.partition[0] == part)


def test_min_input_files_with_partitioning_combine_all(lake: Any) -> None:
    fill(lake, "t", {"a": 3, "b": 4}, partition_spec=SPEC)
    before = lake.rows("t")
    result = lake.rewrite("t", {"min-input-files": "3"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (7, 2)
    assert live(lake, "t") == {"a": 1, "b": 1}
    assert lake.rows("t") == before


def test_min_input_files_with_partitioning_selective_rewrite(lake: Any) -> None:
    fill(lake, "t", {"a": 2, "b": 5, "c": 1}, partition_spec=SPEC)
    before = lake.rows("t")
    result = lake.rewrite("t", {"min-input-files": "3"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (5, 1)
    assert live(lake, "t") == {"a": 2, "b": 1, "c": 1}
    assert lake.rows("t") == before


@pytest.mark.parametrize("partitioned", [False, True])
def test_min_input_files_with_delete_files(lake: Any, foreign: Any, partitioned: bool) -> None:
    """Too few files stay, whatever deletes they have below the thresholds; a file with many deletes goes alone."""
    options = {"partition_spec": SPEC} if partitioned else {}
    table = fill(lake, "t", {"a": 3}, **options)
    chosen = sorted(task.file.file_path for task in table.scan().plan_files())
    partition = next(iter(table.scan().plan_files())).file.partition if partitioned else None
    foreign.delete_positions(table, {chosen[0]: [0]}, partition)
    few = {"min-input-files": "5"}
    assert lake.rewrite("t", few)["rewritten_data_files_count"] == 0
    foreign.delete_positions(table, {chosen[0]: [1, 2, 3]}, partition)
    before = lake.rows("t")
    result = lake.rewrite("t", few)
    assert result["rewritten_data_files_count"] == 3, "the group with the deleted rows is rewritten as a whole"
    assert result["removed_delete_files_count"] == 2
    assert lake.rows("t") == before
    assert len(before) == 26


def test_min_input_files_with_multiple_delete_files(lake: Any, foreign: Any) -> None:
    table = fill(lake, "t", {"a": 4})
    chosen = sorted(task.file.file_path for task in table.scan().plan_files())
    for i, path in enumerate(chosen):
        foreign.delete_positions(table, {path: [i]})
    before = lake.rows("t")
    result = lake.rewrite("t", {"min-input-files": "4"})
    assert (result["rewritten_data_files_count"], result["removed_delete_files_count"]) == (4, 4)
    assert not any(task.delete_files for task in lake.table("t").scan().plan_files())
    assert lake.rows("t") == before
    assert len(before) == 36


def test_min_and_max_file_size_bytes(lake: Any) -> None:
    table = fill(lake, "t", {"a": 3})
    for i in range(2):
        table.append(rows(5000 + 3000 * i, "a", 3000))
    sizes = sorted(task.file.file_size_in_bytes for task in table.scan().plan_files())
    between = str((sizes[2] + sizes[3]) // 2)
    before = lake.rows("t")
    bounds = {"min-file-size-bytes": between, "max-file-size-bytes": str(sizes[-1] * 9), "min-input-files": "2"}
    result = lake.rewrite("t", {**bounds, "target-file-size-bytes": str(sizes[-1] * 5)})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (3, 1)
    assert result["rewritten_bytes_count"] == sum(sizes[:3])
    assert lake.rows("t") == before


def test_rewrite_all_overrides_file_filters(lake: Any) -> None:
    fill(lake, "t", {"a": 2})
    loose = {"min-file-size-bytes": "0", "max-file-size-bytes": "0", "min-input-files": "100"}
    assert lake.rewrite("t", loose)["rewritten_data_files_count"] == 0
    result = lake.rewrite("t", {**loose, "rewrite-all": "true"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (2, 1)


def test_delete_and_partition_evolution(lake: Any, foreign: Any) -> None:
    table = fill(lake, "t", {"a": 3})
    old = sorted(task.file.file_path for task in table.scan().plan_files())
    foreign.delete_positions(table, {old[0]: [0, 1, 2, 3]})
    table.refresh()
    with table.update_spec() as update:
        update.add_identity("p")
    table.refresh()
    for i in range(3):
        table.append(rows(9000 + i * 10, "a"))
    before = lake.rows("t")
    result = lake.rewrite("t", {"min-input-files": "2"})
    assert (result["rewritten_data_files_count"], result["added_data_files_count"]) == (6, 2)
    assert result["removed_delete_files_count"] == 1
    assert live(lake, "t") == {"a": 2}, "files of the old spec go to that of today"
    assert lake.rows("t") == before
    assert len(before) == 56

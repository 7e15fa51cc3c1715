"""Dry runs of what Iceberg does in Spark: they need no Spark, and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shared.errors import ErrorCode, ProcessionError
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Call, Constant, Signature, StaticFunctionHandle, Variable

PART = pa.table({"id": pa.array(range(10), pa.int64())})


def call(lake: Any, procedure: str, **given: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.call(procedure, schema="db", table_name="t", dry_run=True, **given).rows]


def test_files_that_would_be_added(lake: Any, tmp_path: Path) -> None:
    table = lake.create("t", [PART])
    folder = tmp_path / "in"
    for name in ("p=a/one.parquet", "p=b/two.parquet", "p=__HIVE_DEFAULT_PARTITION__/three.parquet"):
        (folder / name).parent.mkdir(parents=True)
        pq.write_table(PART, folder / name)
    (folder / "p=b" / "_SUCCESS").touch()
    table.add_files([f"file://{folder}/p=a/one.parquet"])
    found = call(lake, "add_files", source_table=f"`parquet`.`{folder}`")
    size = (folder / "p=b" / "two.parquet").stat().st_size
    assert found == [
        (f"{folder}/p=__HIVE_DEFAULT_PARTITION__/three.parquet", "p=null", size, False),
        (f"{folder}/p=a/one.parquet", "p=a", size, True),
        (f"{folder}/p=b/two.parquet", "p=b", size, False),
    ]
    assert len(call(lake, "add_files", source_table=f"`parquet`.`{folder}`", partition_filter={"p": "b"})) == 1
    with pytest.raises(ProcessionError, match="A dry run can only look at folders") as caught:
        call(lake, "add_files", source_table="db.other")
    assert caught.value.code is ErrorCode.NOT_SUPPORTED
    assert lake.workers.statements == []


def test_delete_files_that_would_be_joined(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [PART])
    path = next(iter(table.scan().plan_files())).file.file_path
    for number in range(5):
        foreign.delete_positions(table, {path: [number]})
    ((partition, files, size, chosen, reason),) = call(lake, "rewrite_position_delete_files")
    assert (partition, files, chosen) == ("", 5, True)
    assert reason.startswith("5 files are not between")
    few = call(lake, "rewrite_position_delete_files", options={"min-input-files": "6"})[0]
    assert few[3:] == (False, "5 files of a wrong size are fewer than min-input-files, 6")
    right = {"min-file-size-bytes": "1", "max-file-size-bytes": str(size)}
    assert call(lake, "rewrite_position_delete_files", options=right)[0][3] is False
    assert call(lake, "rewrite_position_delete_files", options={**right, "rewrite-all": "true"})[0][3] is True
    with pytest.raises(ProcessionError, match="min-input-files must be a number, got: few"):
        call(lake, "rewrite_position_delete_files", options={"min-input-files": "few"})
    with pytest.raises(ProcessionError, match=r"Cannot use options \[min-input-file\]"):
        call(lake, "rewrite_position_delete_files", options={"min-input-file": "2"})
    assert lake.workers.statements == []


def test_deletes_of_some_partitions(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [PART])
    with table.update_spec() as update:
        update.add_identity("id")
    lake.table("t").append(PART)
    files = [task.file for task in lake.table("t").scan().plan_files() if task.file.spec_id == 1]
    for file in files[:3]:
        foreign.delete_positions(lake.table("t"), {file.file_path: [0]}, file.partition)
    wanted = files[0].partition[0]
    signature = Signature(name="presto.default.$operator$equal", kind="SCALAR", returnType="boolean")
    given = (Variable(name="id", type="bigint"), Constant(valueBlock=encode_constant(wanted, "bigint"), type="bigint"))
    handle = StaticFunctionHandle(signature=signature)
    equal = Call(displayName="EQUAL", functionHandle=handle, returnType="boolean", arguments=given)
    assert len(call(lake, "rewrite_position_delete_files")) == 3
    ((partition, *_),) = call(lake, "rewrite_position_delete_files", predicate=equal)
    assert partition == f"id={wanted}"
    with pytest.raises(ProcessionError, match="Spark is not available"):
        lake.call("rewrite_position_delete_files", schema="db", table_name="t", predicate=equal)
    (statement,) = lake.workers.statements
    assert f"where => '\\u0060id\\u0060 = {wanted}" in statement


def test_paths_that_would_be_rewritten(lake: Any, foreign: Any) -> None:
    table = lake.create("t", [PART, PART])
    path = next(iter(table.scan().plan_files())).file.file_path
    foreign.delete_positions(table, {path: [1]})
    source, target = f"file://{lake.home}/wh", "s3://elsewhere/wh"
    found = call(lake, "rewrite_table_path", source_prefix=source, target_prefix=f"{target}/")
    assert {row[0] for row in found} == {f"{source}/db/t/{name}" for name in lake.files("t")}
    assert all(moved == target + path.removeprefix(source) for path, moved, *_ in found)
    copied = {row[0] for row in found if not row[3]}
    assert copied == {task.file.file_path for task in lake.table("t").scan().plan_files()}
    with pytest.raises(ProcessionError, match="does not start with file:///other/") as caught:
        call(lake, "rewrite_table_path", source_prefix="file:///other", target_prefix=target)
    assert caught.value.code is ErrorCode.INVALID_PROCEDURE_ARGUMENT
    with pytest.raises(ProcessionError, match="A dry run looks at all versions"):
        call(lake, "rewrite_table_path", source_prefix=source, target_prefix=target, start_version="v1.metadata.json")
    assert lake.workers.statements == []

"""Rewrites in an object store: requests go out side by side, ahead of what is decoded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from coordinator.kernels import fetching, join, rewrite
from coordinator.kernels.errors import KernelError
from coordinator.kernels.tasks import Input
from tests.kernels.object_store import bucket

pytestmark = pytest.mark.slow
NAMES = [f"c{i}" for i in range(8)]
FIELDS = [{"id": i, "name": name, "type": "long", "required": False} for i, name in enumerate(NAMES)]
SCHEMA = pa.schema([pa.field(name, pa.int64(), metadata={"PARQUET:field_id": f"{i}"}) for i, name in enumerate(NAMES)])


def numbers(start: int, rows: int) -> pa.Table:
    """Which no codec makes smaller."""
    return pa.table([np.random.default_rng(start + i).integers(0, 1 << 62, rows) for i in range(8)], schema=SCHEMA)


def put(store: pafs.FileSystem, path: str, start: int, rows: int) -> dict[str, Any]:
    """A file of such numbers, as an input of a task."""
    made = numbers(start, rows)
    with store.open_output_stream(path) as out:
        pq.write_table(made, out, row_group_size=max(1, rows // 2), use_dictionary=False, compression=None)
    return {"path": f"s3://{path}", "size": store.get_file_info(path).size}


def rewritten(storage: dict[str, str], inputs: list[dict[str, Any]]) -> dict[str, Any]:
    task = {
        "fields": FIELDS,
        "inputs": inputs,
        "output": {"directory": "s3://lake/new", "name": "x"},
        "storage": storage,
    }
    found: dict[str, Any] = json.loads(rewrite.run(json.dumps(task).encode()))
    return found


@pytest.mark.parametrize(("files", "rows"), [(16, 1000), (1, 700_000)], ids=["small files", "a large file"])
def test_rows_come_in_order_and_requests_side_by_side(s3_server: Any, files: int, rows: int) -> None:
    store, storage = bucket(s3_server, "lake")
    inputs = [put(store, f"lake/t/{i}.parquet", i * 100, rows) for i in range(files)]
    assert (inputs[0]["size"] > fetching.WHOLE_FILE_BYTES) == (files == 1)
    before = [numbers(i * 100, rows) for i in range(files)]
    s3_server.most_at_once = s3_server.count = 0
    fragment = rewritten(storage, inputs)
    if files > 1:
        assert s3_server.most_at_once > 4
    # The footer of the first file, or of the only one; then each small file, or each row group, is one request.
    assert s3_server.count <= max(files, 2) + 2
    assert fragment["rows"] == files * rows
    found = pq.read_table(fragment["path"].removeprefix("s3://"), filesystem=store)
    assert found.equals(pa.concat_tables(before))


def test_row_groups_are_copied_by_some_requests_at_once(s3_server: Any) -> None:
    store, storage = bucket(s3_server, "lake")
    parts = [put(store, f"lake/parts/{i}.parquet", i, 400_000) for i in range(2)]
    before = [numbers(i, 400_000) for i in range(2)]
    s3_server.most_at_once = 0
    output = {"directory": "s3://lake/new", "name": "joined"}
    task = {"fields": FIELDS, "parts": parts, "output": output, "storage": storage}
    fragment = json.loads(join.run(json.dumps(task).encode()))
    assert s3_server.most_at_once > 1
    found = pq.read_table(fragment["path"].removeprefix("s3://"), filesystem=store)
    assert found.equals(pa.concat_tables(before))


def test_a_file_that_is_gone_is_named(s3_server: Any) -> None:
    store, storage = bucket(s3_server, "lake")
    inputs = [put(store, f"lake/t/{i}.parquet", i, 10) for i in range(12)]
    store.delete_file("lake/t/9.parquet")
    store.delete_dir_contents("lake/new", missing_dir_ok=True)  # the server's state is that of the whole process
    with pytest.raises(KernelError, match=r"9\.parquet"):
        rewritten(storage, inputs)
    left = store.get_file_info(pafs.FileSelector("lake/new", allow_not_found=True, recursive=True))
    assert [info.path for info in left if info.is_file] == []


def test_so_much_ahead_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def whole(item: Input, _storage: Any) -> str:
        started.append(item.path)
        return item.path

    monkeypatch.setattr(fetching, "_whole", whole)
    inputs = [Input(f"s3://b/{i}", 30 << 20) for i in range(6)] + [Input("/local", 1), Input("s3://b/large", 1 << 30)]
    taken = []
    for item, fetched in fetching.fetched_ahead(inputs, {}):
        taken.append(item)
        if fetched is not None:
            assert fetched.result() == item.path
        # Two of 30 MB fit into 64 MB beside the one in hand.
        assert len(started) <= len(taken) + 2
    assert taken == inputs
    assert sorted(started) == [f"s3://b/{i}" for i in range(6)]

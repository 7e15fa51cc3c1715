"""The contract between the coordinator and its workers: every kernel has its records, and bytes carry them whole."""

from __future__ import annotations

import importlib
from dataclasses import is_dataclass
from typing import Any

import pytest

from coordinator.kernels import sort_tasks, tasks
from coordinator.kernels.sort_tasks import KeyColumn, PartitionColumn, Piece, RowOrder, SortedRange, SortedWhole
from coordinator.kernels.tasks import DeleteFile, Fragment, Input, Metrics, Output, PositionFile, Sketch, Tag
from coordinator.kernels.wire import Kernel, decode, encode

FIELDS = [{"id": 1, "name": "a", "required": False, "type": {"type": "list", "element-id": 2, "element": "long"}}]
WRITE = tasks.WriteTask(
    FIELDS,
    [Input("f", 1, (0, 2), {"1": "x"}, positions=[0], equality=[0], first_row_id=5, sequence=7), Input("g", 2)],
    Output("d", "n", level=3, bloom_filters={"a.list.element": (10, 0.01)}),
    modes={"1": "truncate(16)"},
    position_deletes=[DeleteFile("p", 3, offset=4, length=5, data_file="f")],
    equality_deletes=[DeleteFile("q", 4, FIELDS, keys=9)],
    name_mapping=[{"field-id": 1, "names": ["a", "b"]}],
    storage={"s3.region": "x"},
    tag=Tag(3, 1),
    final=False,
)
METRICS = Metrics({"1": 4}, {"1": 2}, {"1": 0}, {}, {"1": "00ff"}, {}, [4, 100])
FRAGMENT = Fragment(Tag(3), "f", 10, 20, 12, {"1": 2}, METRICS, [{"1": 1}, {"1": 1}])
ORDER = RowOrder([KeyColumn(1, "bucket[4]", descending=True), KeyColumn(2, prefix=8)], "zorder", 64)
PIECE = Piece("f", 1, 2, 3, 4, 5)
RECORDS: list[Any] = [
    WRITE,
    FRAGMENT,
    Fragment(Tag(1, 0), None),
    tasks.JoinTask(FIELDS, [Input("f", 0, (1, 2))], Output("d", "n"), {"1": "full"}, {"1": 3}, {}, Tag(1)),
    tasks.ProbeTask(FIELDS, [tasks.Input("a", 1), tasks.Input("b", 2)], {"k": "v"}, 4, [tasks.DeleteFile("d", 3)]),
    tasks.Probed(4, ["x"], ["zstd"], None, [tasks.RowGroups("a", [1, 2], [1])], ["fixed"]),
    tasks.PositionsTask(WRITE, vectors=True),
    tasks.PositionFiles([PositionFile("f", 1, 2, "p", 3, bounds=(0, 9)), PositionFile("g", 1, 2, "p", 3, None, 4, 5)]),
    tasks.Sketches({"1": Sketch(1 << 62, b"\x00\xff" * 8)}),
    tasks.Cleared(1, 2),
    tasks.LookUpTask(FIELDS, [tasks.FileRows("f", b"\x01" + b"\x00" * 7)], {}, None, 3),
    tasks.TakeTask(WRITE, b"\x01" + b"\x00" * 7, b"", 2),
    tasks.TakenRows(2, b"\x00", 1),
    tasks.FindTask(FIELDS, b"\x00", Input("f", 3), 1, {"k": "v"}, 4),
    tasks.FoundRows(4, b"\x01" + b"\x00" * 7, b"\x00" * 8),
    sort_tasks.SampleTask(WRITE, ORDER, 10, 2),
    sort_tasks.Sample(2, None, 0, 1.5),
    sort_tasks.SpreadTask(WRITE, None, ["s"], 3, "lz4", [PartitionColumn(1, "day")], 1),
    sort_tasks.Spread(1, "f", 10, [PIECE], ["a"], [2], [[None, "x", 3]]),
    sort_tasks.GatherTask(WRITE, ORDER, [SortedRange([PIECE, PIECE]), SortedRange([PIECE], single=True)], ["a"]),
    sort_tasks.SortTask(WRITE, ORDER),
    SortedWhole(3, FRAGMENT),
    SortedWhole(3, None),
]
KERNELS = [value for module in (tasks, sort_tasks) for value in vars(module).values() if isinstance(value, Kernel)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_bytes_carry_every_record_whole(record: Any) -> None:
    assert decode(type(record), encode(record)) == record


def test_what_is_left_out_of_the_bytes_has_its_default() -> None:
    assert decode(Input, b'{"path": "f", "size": 3}') == Input("f", 3)


def test_every_kernel_is_a_function_and_every_record_is_among_those_tested() -> None:
    known = {type(record) for record in RECORDS}
    for kernel in KERNELS:
        module, _, function = kernel.name.partition(":")
        assert callable(getattr(importlib.import_module(f"coordinator.kernels.{module}"), function))
        for kind in (kernel.task, kernel.answer):
            assert kind is bytes or (is_dataclass(kind) and kind in known), kernel.name
    assert len(KERNELS) == 14

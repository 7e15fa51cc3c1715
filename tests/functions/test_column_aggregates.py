# ruff: noqa: E501
# A table: one entry beside the other reads better than one below the other.
"""Aggregates over whole columns: percentiles beside sorted lists, checksums beside the hashes of each value."""

from __future__ import annotations

import json
import random
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.arrow_forms import arrow_type
from coordinator.kernels.functions.program import Program
from coordinator.kernels.functions.type_hashes import type_hash
from coordinator.kernels.types import parse_type

_PRIME, _MASK = 0x9E3779B185EBCA87, (1 << 64) - 1
Rows = list[tuple[Any, ...]]


def folded(function: str, types: list[str], result: str, groups: list[Rows | None]) -> list[Any]:
    """The aggregate of each group, as an engine collects them."""
    row = f"row({','.join(f'v{i} {t}' for i, t in enumerate(types))})"
    struct_type = arrow_type(parse_type(row))
    names = [field.name for field in struct_type]
    values = [None if g is None else [dict(zip(names, r, strict=True)) for r in g] for g in groups]
    call = ["call", f"aggregate${function}", result, [f"array({row})"], [["column", 0]]]
    program = {"zone": "UTC", "columns": [f"array({row})"], "result": result, "expression": call}
    found: list[Any] = (
        Program(json.dumps(program)).run([pa.array(values, pa.list_(struct_type))], len(groups)).to_pylist()
    )
    return found


def wanted(values: list[Any], share: float) -> Any:
    known = sorted((v for v in values if v is not None), key=lambda v: (v != v, v))
    return known[min(int(share * len(known)), len(known) - 1)] if known else None


@pytest.mark.parametrize(
    ("type_", "sizes"), [("bigint", (0, 1, 2, 7, 500)), ("double", (3, 0, 9)), ("real", (5, 4000))]
)
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.999, 1.0])
def test_percentiles(type_: str, sizes: tuple[int, ...], share: float) -> None:
    """Of many small groups in one go, and of large ones."""
    chosen = random.Random(f"{type_}{share}")
    odd = [None] if type_ == "bigint" else [None, float("inf"), -0.5, float("-inf")]
    pool = [*odd, *(chosen.randint(-50, 50) * (1 if type_ == "bigint" else 0.25) for _ in range(40))]
    groups = [[chosen.choice(pool) for _ in range(size)] for size in sizes * 3]
    found = folded("approx_percentile", [type_, "double"], type_, [[(v, share) for v in g] for g in groups])
    assert found == [wanted(g, share) for g in groups]


def test_percentiles_with_weights_and_of_several() -> None:
    values = [(v, v % 3 + 1, [0.1, 0.5, 1.0]) for v in range(100)]
    [found] = folded("approx_percentile", ["bigint", "bigint", "array(double)"], "array(bigint)", [values])
    repeated = [v for v, weight, _ in values for _ in range(weight)]
    assert found == [wanted(repeated, share) for share in (0.1, 0.5, 1.0)]
    nan = folded("approx_percentile", ["double", "double"], "double", [[(float("nan"), 0.5), (1.0, 0.5)]])
    assert nan[0] != nan[0]
    assert folded("approx_percentile", ["bigint", "double"], "bigint", [None, [], [(None, 0.5)]]) == [None] * 3


@pytest.mark.parametrize("shares", [(0.5, 0.25), (1.5, 1.5), (0.5, -0.1)])
def test_percentiles_that_are_none(shares: tuple[float, ...]) -> None:
    with pytest.raises(KernelError):
        folded("approx_percentile", ["bigint", "double"], "bigint", [[(1, share) for share in shares]] * 3)


CHECKED = {
    "varchar": ["", "a", "été", "😀" * 40, "x" * 300], "varbinary": [b"", b"\x00\xff", b"a" * 33],
    "bigint": [0, -1, 2**63 - 1, -(2**63)], "integer": [0, -1, 2**31 - 1], "smallint": [-3], "tinyint": [127],
    "double": [0.0, -0.0, 1.5, float("nan"), float("inf"), -2.25], "real": [0.0, -0.0, 1.5, float("nan"), -2.25],
    "boolean": [True, False], "date": [date(1969, 1, 1), date(2024, 2, 29)],
    "timestamp": [datetime(1969, 12, 31, 23, 59, 59, 999_000), datetime(2024, 1, 1)],
    "timestamp with time zone": [datetime(2024, 1, 1, tzinfo=UTC)], "decimal(10,2)": [Decimal("-1.25"), Decimal("3.00")],
    "decimal(30,2)": [Decimal("-1.25"), Decimal("123456789012345678901234.50")], "array(bigint)": [[1, None], []],
    "json": ['{"a":1}'], "char(3)": ["ab"],
}  # fmt: skip


@pytest.mark.parametrize("type_", CHECKED)
def test_checksums(type_: str) -> None:
    """NULL counts as one of the numbers that the hashes are multiplied by."""
    kind = parse_type(type_)
    values = [*CHECKED[type_], None, *CHECKED[type_][:1]]
    hashes = [1 if v is None else type_hash(tuple(v) if isinstance(v, list) else v, kind) for v in values]
    expected = struct.pack("<Q", sum(hashes) * _PRIME & _MASK)
    groups: list[Rows | None] = [[(v,) for v in values], [], None, [(None,)]]
    none = struct.pack("<Q", _PRIME)
    assert folded("checksum", [type_], "varbinary", groups) == [expected, None, None, none]

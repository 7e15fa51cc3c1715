"""SfmSketch: bytes worked out by hand, and estimates as near as Presto's own tests ask."""

from __future__ import annotations

import math
import struct
from typing import Any

import pyarrow as pa
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.sketches import sfm
from coordinator.kernels.types import Type

_TYPES = (Type("bigint"), Type("double"))


def _sketch(values: range, epsilon: float = math.inf) -> bytes:
    columns = [pa.array(values, pa.int64()), pa.array([epsilon] * len(values))]
    made = sfm.SFM_FOLDS["noisy_approx_set_sfm"](_TYPES, columns)
    assert isinstance(made, bytes)
    return made


def _of_places(places: list[tuple[int, int]], *sizes: int) -> Any:
    numbers = [pa.array(column, pa.int64()) for column in zip(*places, strict=True)]
    more = [pa.array([size] * len(places), pa.int64()) for size in sizes]
    epsilon = pa.array([math.inf] * len(places))
    return sfm.SFM_FOLDS["noisy_approx_set_sfm_from_index_and_zeros"]((), [*numbers, epsilon, *more])


def test_the_bits_stand_level_by_level() -> None:
    """Eight buckets: a byte for each level, and none for those of zeros at the end."""
    head = b"\x07" + struct.pack("<iid", 3, 8, 0.0)
    assert _of_places([(1, 2), (3, 2)], 8, 8) == head + struct.pack("<i", 3) + b"\0\0\x0a"
    assert _of_places([(7, 64)], 8, 8) == head + struct.pack("<i", 8) + b"\0\0\0\0\0\0\0\x80"


@pytest.mark.parametrize("count", [1, 5, 100, 1000, 100_000])
def test_estimates(count: int) -> None:
    assert sfm.cardinality(_sketch(range(count))) == pytest.approx(count, rel=0.05, abs=2)
    assert sfm.cardinality(_sketch(range(count), 3.0)) == pytest.approx(count, rel=0.1, abs=200)


def test_an_empty_sketch_has_none() -> None:
    assert sfm.cardinality(sfm.SFMS["noisy_empty_approx_set_sfm"].call(math.inf)) == 0
    assert sfm.cardinality(sfm.SFMS["noisy_empty_approx_set_sfm"].call(3.0)) < 300
    assert sfm.SFM_FOLDS["noisy_approx_distinct_sfm"](_TYPES, [pa.array([None], pa.int64()), pa.array([1.0])]) is None


def test_merging_without_noise_is_the_sketch_of_all() -> None:
    merge = sfm.SFMS["merge_sfm"].call
    assert merge((_sketch(range(500)), None, _sketch(range(300, 900)))) == _sketch(range(900))
    assert merge((None,)) is None


@pytest.mark.parametrize("epsilons", [(2.0, 4.0), (math.inf, 3.0), (1.5, 1.5)])
def test_merging_with_noise_estimates_the_union(epsilons: tuple[float, float]) -> None:
    """The mean of several, as the noise of one is large; its probability is that of theorem 4.8."""
    found = []
    for _ in range(4):
        parts = [_sketch(range(20_000), epsilons[0]), _sketch(range(10_000, 30_000), epsilons[1])]
        merged = sfm.merge_sfms((), [pa.array(parts, pa.binary())])
        assert merged is not None
        found.append(sfm.cardinality(merged))
    assert sum(found) / len(found) == pytest.approx(30_000, rel=0.15)
    a, b = (math.exp(-e) for e in epsilons)
    assert sfm.from_bytes(merged).flipped == pytest.approx((a + b - a * b) / (1 + a + b - a * b))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0,), "epsilon must be positive"),
        ((1.0, 3), "numberOfBuckets must be a power of 2"),
        ((1.0, 16, 9), "precision must be a multiple of 8"),
        ((1.0, 1 << 20, 64), "precision + indexBitLength cannot exceed 64"),
        ((1.0, 1 << 31, 32), "An SfmSketch of 2147483648 buckets and 32 levels is too large"),
    ],
)
def test_refusals(arguments: tuple[float | int, ...], message: str) -> None:
    with pytest.raises(KernelError) as raised:
        sfm.SFMS["noisy_empty_approx_set_sfm"].call(*arguments)
    assert message in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"\x08" * 40, b"\x07" + b"\xff" * 40, _sketch(range(9))[:-1]])
def test_other_bytes_are_no_sketch(data: bytes) -> None:
    with pytest.raises(KernelError):
        sfm.cardinality(data)


def test_sketches_of_two_shapes_do_not_merge() -> None:
    with pytest.raises(KernelError, match=r"indexBitLength: 3 vs\. 4"):
        sfm.merge_sfms((), [pa.array([_of_places([(1, 1)], n, 8) for n in (8, 16)], pa.binary())])

"""Sketches as bytes that somebody stored: what is broken is refused, and merging in any order counts the same."""

from __future__ import annotations

from datetime import UTC
from itertools import permutations

import pyarrow as pa
import pytest

from coordinator.kernels.errors import KernelError
from coordinator.kernels.functions.column_folds import ColumnFold
from coordinator.kernels.functions.library import LIBRARY
from coordinator.kernels.functions.sketches import SKETCH_FOLDS, khyperloglog, set_digest
from coordinator.kernels.functions.table import Signature
from shared.plan.types import parse_type

_BIGINT = parse_type("bigint")
INT_MAP = pa.map_(pa.int32(), pa.int32())


def _folded(name: str, *columns: list[int]) -> bytes:
    fold: ColumnFold = SKETCH_FOLDS[name]
    made = fold((_BIGINT,) * len(columns), [pa.array(c, pa.int64()) for c in columns])
    assert isinstance(made, bytes)
    return made


def _call(name: str, kind: str, *arguments: object) -> object:
    function = LIBRARY[name]
    signature = Signature((parse_type(kind),), _BIGINT, UTC)
    return function.call(signature, *arguments) if function.typed else function.call(*arguments)


DIGEST = _folded("make_set_digest", [*range(100), 3, 3])
KEYS = _folded("khyperloglog_agg", [x % 20 for x in range(210)], list(range(210)))


@pytest.mark.parametrize(("data", "kind"), [(DIGEST, "setdigest"), (KEYS, "khyperloglog")])
def test_what_is_broken_is_refused(data: bytes, kind: str) -> None:
    """Cut off anywhere, of another version, or with a negative count: one kind of error, whatever Python would say."""
    broken = [data[:end] for end in range(0, len(data), 7)] + [b"\x02" + data[1:], data[:1] + b"\xff" * 16 + data[17:]]
    for bytes_of in broken:
        with pytest.raises(KernelError, match="GENERIC_INTERNAL_ERROR"):
            _call("cardinality", kind, bytes_of)


def test_reading_and_writing_changes_nothing() -> None:
    assert set_digest.read(DIGEST).to_bytes() == DIGEST
    assert khyperloglog.read(KEYS).to_bytes() == KEYS


def test_counts_of_hashes_are_those_of_values() -> None:
    counts = _call("hash_counts", "setdigest", DIGEST)
    assert isinstance(counts, dict)
    assert sorted(counts.values()) == [1] * 99 + [3]


@pytest.mark.parametrize("size", [50, 9000])
def test_merged_digests_are_the_digest_of_all(size: int) -> None:
    """In any order; beyond 8,192 values too, where only the smallest hashes are kept."""
    parts = [list(range(start, start + size)) for start in (0, size // 2, 3 * size)]
    whole = _folded("make_set_digest", [x for part in parts for x in part])
    for order in permutations(_folded("make_set_digest", part) for part in parts):
        merged = SKETCH_FOLDS["merge_set_digest"]((parse_type("setdigest"),), [pa.array(order, pa.binary())])
        assert set_digest.read(merged).counts == set_digest.read(whole).counts
        assert _call("cardinality", "setdigest", merged) == _call("cardinality", "setdigest", whole)


def test_sets_are_compared() -> None:
    """Exactly while both are small."""
    other = _folded("make_set_digest", list(range(50, 150)))
    assert _call("intersection_cardinality", "setdigest", DIGEST, other) == 50
    jaccard = _call("jaccard_index", "setdigest", DIGEST, other)
    assert isinstance(jaccard, float)
    assert abs(jaccard - 1 / 3) < 0.15


def test_large_sets_are_compared_within_their_error() -> None:
    """20,000 values, half of them in both; never more than the smaller set is said to have."""
    a, b = (_folded("khyperloglog_agg", list(range(s, s + 20_000)), [1] * 20_000) for s in (0, 10_000))
    found = _call("intersection_cardinality", "khyperloglog", a, b)
    assert isinstance(found, int)
    assert abs(found - 10_000) < 1_000
    within = _folded("khyperloglog_agg", list(range(300)), [1] * 300)
    assert _call("intersection_cardinality", "khyperloglog", a, within) in range(301)


def test_identifiers_of_a_value_are_counted() -> None:
    distribution = _call("uniqueness_distribution", "khyperloglog", KEYS, 12)
    assert isinstance(distribution, dict)
    assert distribution[10] == pytest.approx(0.5)
    assert _call("reidentification_potential", "khyperloglog", KEYS, 10) == 0.5
    with pytest.raises(KernelError, match="must be positive"):
        _call("uniqueness_distribution", "khyperloglog", KEYS, 0)


@pytest.mark.parametrize(
    ("type_", "value", "hashed"),
    [
        ("json", '{"a":[1,null]}', 5326900826292018353),
        ("ipprefix", "1.0.0.0/8", 4638493031288307160),
    ],
)
def test_values_are_hashed_as_a_real_server_hashes_them(type_: str, value: str, hashed: int) -> None:
    made = SKETCH_FOLDS["make_set_digest"]((parse_type(type_),), [pa.array([value])])
    assert set_digest.hash_counts(made) == {hashed: 1}


@pytest.mark.parametrize(
    ("type_", "values", "code"),
    [
        ("array(integer)", pa.array([[1]]), "FUNCTION_IMPLEMENTATION_MISSING"),
        ("map(integer,integer)", pa.array([[(1, 2)]], INT_MAP), "FUNCTION_IMPLEMENTATION_MISSING"),
        ("geometry", pa.array(["POINT (1 1)"]), "NOT_SUPPORTED"),
    ],
)
def test_values_without_a_hash_are_refused(type_: str, values: pa.Array, code: str) -> None:
    with pytest.raises(KernelError) as refused:
        SKETCH_FOLDS["make_set_digest"]((parse_type(type_),), [values])
    assert refused.value.name == code

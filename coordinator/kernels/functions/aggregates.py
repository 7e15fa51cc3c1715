# ruff: noqa: S311
# The noise of noisy aggregates is Presto's, which is no secret unless its seed is.
"""Aggregates over the collected rows of a group. Each row is a tuple of the arguments; the group fits into memory."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from ..types import Type
from .checksums import checksum
from .column_folds import ColumnFold, GroupFold, of_rows
from .compare import ascending, compare, distinct, key
from .failures import check
from .numbers import single
from .operators import average_of
from .percentiles import percentile, percentiles
from .sketches import SKETCH_AGGREGATES, SKETCH_FOLDS
from .table import Function, Signature, Table
from .type_hashes import value_size

Rows = tuple[tuple[Any, ...], ...]
Fold = Callable[..., Any]
_MASK, _PRIME = (1 << 64) - 1, 0x9E3779B185EBCA87


def _kinds(signature: Signature) -> tuple[Type, ...]:
    return signature.arguments[0].arguments[0].arguments


def _map_agg(rows: Rows) -> object:
    made: dict[object, object] = {}
    for row in rows:
        if row[0] is not None:
            made.setdefault(row[0], row[1])
    return made or None


def _multimap_agg(rows: Rows) -> object:
    made: dict[object, list[object]] = {}
    for row in rows:
        if row[0] is not None:
            made.setdefault(row[0], []).append(row[1])
    return {key: tuple(values) for key, values in made.items()} or None


def _map_union(rows: Rows) -> object:
    maps = [row[0] for row in rows if row[0] is not None]
    made: dict[object, object] = {}
    for other in maps:
        for k, v in other.items():
            made.setdefault(k, v)
    return made if maps else None


def _map_union_sum(rows: Rows) -> object:
    maps = [row[0] for row in rows if row[0] is not None]
    made: dict[object, Any] = {}
    for other in maps:
        for k, v in other.items():
            made[k] = made.get(k, 0) + (v or 0)
    return made if maps else None


def _histogram(rows: Rows) -> Any:
    made: dict[object, list[Any]] = {}
    for row in rows:
        if row[0] is not None:
            made.setdefault(key(row[0]), [row[0], 0])[1] += 1
    return dict(map(tuple, made.values())) or None


def _most_frequent(rows: Rows) -> Any:
    if not rows or rows[0][0] is None:
        return None
    buckets = rows[0][0]
    check(
        buckets >= 2, "approx_most_frequent bucket count must be greater than one, input bucket count: " + str(buckets)
    )
    counts = _histogram(tuple((row[1],) for row in rows))
    return None if counts is None else dict(sorted(counts.items(), key=lambda kv: -kv[1])[:buckets])


def _set_agg(rows: Rows) -> object:
    return tuple(distinct(row[0] for row in rows)) or None


def _set_union(rows: Rows) -> object:
    arrays = [row[0] for row in rows if row[0] is not None]
    return tuple(distinct(v for a in arrays for v in a)) if rows else None


def _reduce(rows: Rows, step: Callable[..., object], _combine: Callable[..., object]) -> object:
    state, begun = None, False
    for row in rows:
        if row[0] is None:
            continue
        if not begun:
            state, begun = row[1], True
        state = step(state, row[0])
    return state


def _entropy(rows: Rows) -> float:
    counts = [row[0] for row in rows if row[0] is not None]
    check(all(c >= 0 for c in counts), "Entropy count argument must be non-negative")
    total = sum(counts)
    return max(0.0, -sum(c / total * math.log2(c / total) for c in counts if c)) if total else 0.0


def _differential_entropy(rows: Rows) -> float:
    values = sorted(row[1] for row in rows if row[1] is not None)
    count = len(values)
    if not count:
        return math.nan
    width = max(math.floor(math.sqrt(count) + 0.5), 2)
    total = 0.0
    for i in range(count):
        above = values[i + width] if i + width < count else values[-1]
        below = values[i - width] if i - width > 0 else values[0]
        sides = 2 if i + width < count and i - width > 0 else 1
        total += math.log(count / (sides * width) * (above - below)) if above > below else -math.inf
    return total / count / math.log(2)


def _moments(rows: Rows) -> tuple[int, float, float, float]:
    values = [float(r[0]) for r in rows if r[0] is not None]
    count = len(values)
    mean = sum(values) / count if count else 0.0
    powers = [sum((v - mean) ** p for v in values) for p in (2, 3, 4)]
    return count, powers[0], powers[1], powers[2]


def _skewness(rows: Rows) -> float | None:
    count, second, third, _ = _moments(rows)
    return math.sqrt(count) * third / second**1.5 if count >= 3 and second else (math.nan if count >= 3 else None)


def _kurtosis(rows: Rows) -> float | None:
    n, second, _, fourth = _moments(rows)
    if n < 4:
        return None
    if not second:
        return math.nan
    variance = second / (n - 1)
    whole = n * (n + 1) / ((n - 1) * (n - 2) * (n - 3)) * fourth / variance**2
    return whole - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))


def _classification(measure: Callable[[float, float, float, float, float], float]) -> Fold:
    """``measure`` of true and false weight above and in all, and the threshold."""

    def fold(rows: Rows) -> object:
        rows = tuple(r for r in rows if None not in r)
        if not rows:
            return None
        buckets = rows[0][0]
        check(buckets >= 2, "bucket count must be at least 2.0")
        weights: dict[bool, list[float]] = {True: [0.0] * buckets, False: [0.0] * buckets}
        for row in rows:
            check(0 <= row[2] <= 1, "Prediction value must be between 0 and 1")
            weights[row[1]][min(int(row[2] * buckets), buckets - 1)] += row[3] if len(row) > 3 else 1.0
        all_true, all_false = sum(weights[True]), sum(weights[False])
        below_true = below_false = 0.0
        made = []
        for i in range(buckets):
            if below_true >= all_true:
                break
            made.append(measure(all_true - below_true, all_false - below_false, all_true, all_false, i / buckets))
            below_true += weights[True][i]
            below_false += weights[False][i]
        return tuple(made)

    return fold


def _numeric_histogram(rows: Rows) -> dict[float, float] | None:
    rows = tuple(r for r in rows if r[1] is not None)
    if not rows:
        return None
    buckets = rows[0][0]
    check(buckets >= 2, "numeric_histogram bucket count must be greater than one")
    bins = sorted((float(r[1]), float(r[2]) if len(r) > 2 else 1.0) for r in rows)
    merged: list[tuple[float, float]] = []
    for value, weight in bins:
        if merged and merged[-1][0] == value:
            merged[-1] = (value, merged[-1][1] + weight)
        else:
            merged.append((value, weight))
    while len(merged) > buckets:
        i = min(range(len(merged) - 1), key=lambda i: merged[i + 1][0] - merged[i][0])
        (a, u), (b, v) = merged[i], merged[i + 1]
        merged[i : i + 2] = [((a * u + b * v) / (u + v), u + v)]
    return dict(merged)


def _reservoir(rows: Rows) -> object:
    if not rows:
        return None
    initial, processed, _, size = rows[0]
    check(size > 0, "desired_sample_size must be greater than 0")
    sample = list(initial or ())
    if initial and processed:
        check(processed >= len(sample), "initial_processed_count must be at least the size of the initial sample")
    seen = processed or len(sample)
    for row in rows:
        seen += 1
        if len(sample) < size:
            sample.append(row[2])
        elif (place := random.randrange(seen)) < size:
            sample[place] = row[2]
    return (seen, tuple(sample))


def _extreme_by(sign: int) -> Fold:
    def fold(rows: Rows) -> object:
        known = [r for r in rows if r[1] is not None]
        if not known:
            return None
        if len(known[0]) > 2:
            count = known[0][2]
            check(count > 0, "third argument of max_by/min_by must be a positive integer")
            chosen = sorted(known, key=lambda r: ascending(r[1]), reverse=sign > 0)[:count]
            return tuple(r[0] for r in chosen)
        best = known[0]
        for row in known[1:]:
            if compare(row[1], best[1]) * sign > 0:
                best = row
        return best[0]

    return fold


def _extreme(sign: int) -> Fold:
    def fold(rows: Rows) -> object:
        known = [r for r in rows if r[0] is not None]
        if not known:
            return None
        check(known[0][1] > 0, "second argument of max_n/min_n must be positive")
        return tuple(sorted((r[0] for r in known), key=ascending, reverse=sign > 0)[: known[0][1]])

    return fold


def _average(signature: Signature, rows: Rows) -> Decimal | None:
    known = [row[0] for row in rows if row[0] is not None]
    return average_of(known, signature.result.numbers[1]) if known else None


def _data_size(total: Callable[[Iterable[int]], int]) -> Fold:
    def fold(signature: Signature, rows: Rows) -> int | None:
        (type_,) = _kinds(signature)
        known = [value_size(row[0], type_) for row in rows if row[0] is not None]
        return total(known) if known else None

    return fold


def _noisy(measure: Callable[[list[object], tuple[object, ...]], float | None], *, whole: bool) -> Fold:
    def fold(_: Signature, rows: Rows) -> object:
        if not rows:
            return None
        scale, *more = rows[0][1:]
        check(scale >= 0, "Noise scale must be >= 0")
        seed = more[-1] if more and len(more) in (1, 3) else None
        value = measure([r[0] for r in rows], tuple(more[:2]) if len(more) >= 2 else ())
        if value is None:
            return None
        noise = random.Random(seed).gauss(0, scale) if scale else 0.0
        return max(0, round(value + noise)) if whole else float(value) + noise

    return fold


def _clipped(values: Iterable[Any], bounds: tuple[Any, ...]) -> list[float]:
    known = [float(v) for v in values if v is not None]
    return [min(max(v, bounds[0]), bounds[1]) for v in known] if bounds else known


def _noisy_sum(values: list[object], bounds: tuple[object, ...]) -> float | None:
    known = _clipped(values, bounds)
    return sum(known) if known else None


def _noisy_avg(values: list[object], bounds: tuple[object, ...]) -> float | None:
    known = _clipped(values, bounds)
    return sum(known) / len(known) if known else None


def _real_map(signature: Signature, rows: Rows) -> object:
    found = _numeric_histogram(rows)
    if found is None or signature.result.arguments[0].base != "real":
        return found
    return {single(k): single(v) for k, v in found.items()}


def _geometries(build: str) -> Fold:
    def fold(rows: Rows) -> object:
        from .geometry import GEOMETRY

        shapes = tuple(r[0] for r in rows if r[0] is not None)
        if not shapes:
            return None
        united = GEOMETRY["geometry_union"].call(shapes)
        return united if build == "union" else GEOMETRY["st_convexhull"].call(united)

    return fold


_PLAIN: dict[str, Fold] = {
    "geometry_union_agg": _geometries("union"),
    "convex_hull_agg": _geometries("hull"),
    "array_agg": lambda rows: tuple(r[0] for r in rows) or None, "map_agg": _map_agg, "multimap_agg": _multimap_agg,
    "map_union": _map_union, "map_union_sum": _map_union_sum, "histogram": _histogram, "set_agg": _set_agg,
    "approx_most_frequent": _most_frequent, "set_union": _set_union, "reduce_agg": _reduce, "entropy": _entropy,
    "skewness": _skewness, "kurtosis": _kurtosis,
    "differential_entropy": _differential_entropy, "reservoir_sample": _reservoir,
    "classification_precision": _classification(lambda t, f, _a, _b, _c: t / (t + f)),
    "classification_recall": _classification(lambda t, _f, all_true, _b, _c: t / all_true),
    "classification_fall_out": _classification(lambda _t, f, _a, every, _c: f / every if every else math.nan),
    "classification_miss_rate": _classification(lambda t, _f, all_true, _b, _c: (all_true - t) / all_true),
    "classification_thresholds": _classification(lambda _t, _f, _a, _b, threshold: threshold),
    "max_by": _extreme_by(1), "min_by": _extreme_by(-1), "max": _extreme(1), "min": _extreme(-1),
}  # fmt: skip
_TYPED: dict[str, Fold] = {
    "avg": _average,
    "max_data_size_for_stats": _data_size(max), "sum_data_size_for_stats": _data_size(sum),
    "numeric_histogram": _real_map,
    "noisy_count_gaussian": _noisy(lambda values, _: sum(v is not None for v in values), whole=True),
    "noisy_count_if_gaussian": _noisy(lambda values, _: sum(v is True for v in values), whole=True),
    "noisy_sum_gaussian": _noisy(_noisy_sum, whole=False), "noisy_avg_gaussian": _noisy(_noisy_avg, whole=False),
}  # fmt: skip
PREFIX = "aggregate$"


def _over(fold: Fold, *, typed: bool) -> Fold:
    def call(*arguments: object) -> object:
        first = 1 if typed else 0
        rows = arguments[first]
        return fold(*arguments[:first], () if rows is None else rows, *arguments[first + 1 :])

    return call


_FOLDS: dict[str, ColumnFold] = {**SKETCH_FOLDS, "approx_percentile": percentile, "checksum": checksum}
COLUMN_FOLDS: dict[str, ColumnFold] = {PREFIX + n: f for n, f in _FOLDS.items()}
"""Those that take columns instead of rows."""
FAST_FOLDS = frozenset(PREFIX + n for n in ("approx_distinct", "approx_percentile", "approx_set", "checksum"))
"""Those of columns that do not go through their values one by one."""
GROUP_FOLDS: dict[str, GroupFold] = {PREFIX + "approx_percentile": percentiles}
"""Those that take the columns of all groups at once."""
AGGREGATES: Table = {
    **{PREFIX + n: Function(_over(f, typed=False), nulls=True) for n, f in _PLAIN.items()},
    **{
        PREFIX + n: Function(_over(f, typed=True), nulls=True, typed=True)
        for n, f in (_TYPED | SKETCH_AGGREGATES).items()
    },
    **{n: Function(of_rows(f), nulls=True, typed=True) for n, f in COLUMN_FOLDS.items()},
}

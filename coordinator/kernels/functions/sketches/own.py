"""Sketches: small summaries of many values. Their bytes are this project's own, and not those of Presto's libraries.

Distinct values: the smallest 4096 of the values' 64-bit hashes (Bar-Yossef et al., k minimum values), a standard
error of 1.6 %, as Presto's HyperLogLog has; exact below 4096 values. Quantiles: up to 4096 weighted values in
order, exact below that, a rank error of about 1/2000 beyond it.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from ..failures import check, invalid
from ..hashes import murmur3_x64_128
from ..table import Signature, Table, plain, typed
from .hyperloglog import from_bytes

_MOST = 4096
_SPACE = 1 << 64
Pairs = list[list[Any]]


def _pack(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(data: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(data))
    except (zlib.error, ValueError) as error:
        raise invalid("Not a sketch of this service") from error


def hashed(value: object) -> int:
    """64 bits, equal for equal values."""
    if isinstance(value, bytes):
        data = b"b" + value
    elif isinstance(value, str):
        data = b"s" + value.encode()
    elif isinstance(value, float):
        data = b"d" + struct.pack("<d", 0.0 if value == 0 else value)
    else:
        data = repr(value).encode()
    return int.from_bytes(murmur3_x64_128(data)[:8], "little")


# Distinct values: {hash: count}.


def _smallest(counts: dict[int, int]) -> dict[int, int]:
    return dict(sorted(counts.items())[:_MOST]) if len(counts) > _MOST else counts


def _counts(data: bytes) -> dict[int, int]:
    return {int(k): v for k, v in _unpack(data)["hashes"].items()}


def _set_bytes(counts: dict[int, int]) -> bytes:
    return _pack({"hashes": {str(k): v for k, v in _smallest(counts).items()}})


def _estimate(counts: Iterable[int]) -> float:
    known = sorted(counts)
    return float(len(known)) if len(known) < _MOST else (_MOST - 1) / (known[_MOST - 1] / _SPACE)


def _digest(_: Signature, rows: Any) -> bytes | None:
    made: dict[int, int] = {}
    for row in rows:
        if row[0] is not None:
            code = hashed(row[0])
            made[code] = made.get(code, 0) + 1
    return _set_bytes(made) if made else None


def _joined(parts: Iterable[bytes | None]) -> bytes | None:
    made: dict[int, int] = {}
    found = False
    for data in parts:
        if data is not None:
            found = True
            for code, count in _counts(data).items():
                made[code] = made.get(code, 0) + count
    return _set_bytes(made) if found else None


def _both(a: bytes, b: bytes) -> tuple[set[int], set[int]]:
    """The shares of both that the smaller threshold leaves comparable."""
    first, second = set(_counts(a)), set(_counts(b))
    limits = [max(s) for s in (first, second) if len(s) >= _MOST]
    limit = min(limits, default=_SPACE)
    return {h for h in first if h <= limit}, {h for h in second if h <= limit}


def _jaccard(a: bytes, b: bytes) -> float:
    first, second = _both(a, b)
    return len(first & second) / len(first | second) if first | second else 0.0


def _intersection(a: bytes, b: bytes) -> int:
    first, second = set(_counts(a)), set(_counts(b))
    if len(first) < _MOST and len(second) < _MOST:
        return len(first & second)
    union = _estimate(sorted(first | second)[:_MOST])
    return round(_jaccard(a, b) * union)


def _hash_counts(data: bytes) -> dict[int, int]:
    return {code - (1 << 64) if code >> 63 else code: count for code, count in _counts(data).items()}


# Two levels: {hash of the key: hashes of its values}.


def _khll(data: bytes) -> dict[int, set[int]]:
    return {int(k): set(v) for k, v in _unpack(data)["keys"].items()}


def _khll_bytes(made: dict[int, set[int]]) -> bytes:
    return _pack({"keys": {str(k): sorted(v)[:256] for k, v in sorted(made.items())[:_MOST]}})


def _khll_agg(_: Signature, rows: Any) -> bytes | None:
    made: dict[int, set[int]] = {}
    for row in rows:
        if None not in row:
            made.setdefault(hashed(row[0]), set()).add(hashed(row[1]))
    return _khll_bytes(made) if made else None


def _khll_joined(parts: Iterable[bytes | None]) -> bytes | None:
    made: dict[int, set[int]] = {}
    known = [p for p in parts if p is not None]
    for data in known:
        for code, values in _khll(data).items():
            made.setdefault(code, set()).update(values)
    return _khll_bytes(made) if known else None


def _as_set(data: bytes) -> bytes:
    return _set_bytes(dict.fromkeys(_khll(data), 1))


def _uniqueness(data: bytes, size: int = 256) -> dict[int, float]:
    check(size > 0, "histogram size must be positive")
    keys = _khll(data)
    made = dict.fromkeys(range(1, size + 1), 0.0)
    for values in keys.values():
        made[min(len(values), size)] += 1 / len(keys)
    return made


def _reidentification(data: bytes, threshold: int) -> float:
    keys = _khll(data)
    return sum(len(v) <= threshold for v in keys.values()) / len(keys) if keys else 0.0


# Quantiles: [[value, weight], …] in order.


def _compressed(pairs: Pairs) -> Pairs:
    made: Pairs = []
    for value, weight in sorted(pairs, key=lambda p: p[0]):
        if made and made[-1][0] == value:
            made[-1][1] += weight
        else:
            made.append([value, weight])
    while len(made) > _MOST:
        # Of two neighbours in turn the lower and the upper one stands for both; the ends stay.
        inner = made[1:-1]
        paired = [[inner[i + (i // 2) % 2 if i + 1 < len(inner) else i][0], sum(p[1] for p in inner[i : i + 2])]
                  for i in range(0, len(inner), 2)]  # fmt: skip
        made = [made[0], *paired, made[-1]]
    return made


def _quantiles(rows: Any, *, weighted: bool) -> bytes | None:
    pairs: Pairs = []
    for row in rows:
        if row[0] is None:
            continue
        weight = row[1] if weighted and len(row) > 1 else 1
        check(weight > 0, "weight must be > 0")
        check(row[0] == row[0], "Cannot add NaN to a sketch")
        pairs.append([row[0], weight])
    return _pack({"pairs": _compressed(pairs)}) if pairs else None


def _pairs(data: bytes) -> Pairs:
    found: Pairs = _unpack(data)["pairs"]
    return found


def _kll_quantile(data: bytes, rank: float, inclusive: bool = True) -> object:
    check(0 <= rank <= 1, "rank must be between 0 and 1")
    pairs = _pairs(data)
    target, below = rank * sum(w for _, w in pairs), 0
    for value, weight in pairs:
        below += weight
        if below >= math.ceil(target) and below > 0 if inclusive else below > target:
            return value
    return pairs[-1][0]


def _kll_rank(data: bytes, value: object, inclusive: bool = True) -> float:
    pairs = _pairs(data)
    values = [p[0] for p in pairs]
    end = (bisect_right if inclusive else bisect_left)(values, value)
    return float(sum(w for _, w in pairs[:end]) / sum(w for _, w in pairs))


def _theta_summary(data: bytes) -> tuple[float, float, float, float, int]:
    known = sorted(_counts(data))
    theta = 1.0 if len(known) < _MOST else known[-1] / _SPACE
    estimate = _estimate(known)
    spread = 0.0 if theta == 1.0 else math.sqrt((1 - theta) * len(known)) / theta
    return estimate, theta, estimate + spread, max(estimate - spread, float(len(known))), len(known)


def _cardinality(signature: Signature, value: Any) -> int:
    match signature.arguments[0].base:
        case "khyperloglog":
            return round(_estimate(_khll(value)))
        case "setdigest":
            return round(_estimate(_counts(value)))
        case "hyperloglog" | "p4hyperloglog":
            return from_bytes(value).cardinality()
        case _:
            return len(value)


def _of_kind(for_khll: Callable[..., object], otherwise: Callable[..., object]) -> Callable[..., Any]:
    def call(signature: Signature, a: bytes, b: bytes) -> Any:
        if signature.arguments[0].base == "khyperloglog":
            return for_khll(_as_set(a), _as_set(b))
        return otherwise(a, b)

    return call


def merge_own(signature: Signature, rows: Any) -> bytes | None:
    parts = [row[0] for row in rows]
    match signature.result.base:
        case "khyperloglog":
            return _khll_joined(parts)
        case _:
            return _joined(parts)


OWN_AGGREGATES: dict[str, Callable[..., Any]] = {
    "make_set_digest": _digest, "sketch_theta": _digest, "khyperloglog_agg": _khll_agg,
    "merge_set_digest": merge_own,
    "sketch_kll": lambda _, rows: _quantiles(rows, weighted=False),
    "sketch_kll_with_k": lambda _, rows: _quantiles(rows, weighted=False),
}  # fmt: skip
OWN: Table = {
    **plain(
        hash_counts=_hash_counts,
        merge_khll=_khll_joined, uniqueness_distribution=_uniqueness, reidentification_potential=_reidentification,
        sketch_kll_quantile=_kll_quantile,
        sketch_kll_rank=_kll_rank, sketch_theta_estimate=lambda data: _theta_summary(data)[0],
        sketch_theta_summary=_theta_summary,
    ),
    **typed(
        cardinality=_cardinality, intersection_cardinality=_of_kind(_intersection, _intersection),
        jaccard_index=_of_kind(_jaccard, _jaccard),
    ),
}  # fmt: skip

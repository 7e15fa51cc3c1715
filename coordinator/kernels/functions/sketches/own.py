"""Theta and KLL sketches. Their bytes are this project's own, and not those of Presto's library.

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

from ..bounds import VALUE_BYTES
from ..failures import check, invalid
from ..hashes import murmur3_x64_128
from ..table import Signature, Table, plain

_MOST = 4096
_SPACE = 1 << 64
Pairs = list[list[Any]]


def _pack(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(data: bytes) -> Any:
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(data, VALUE_BYTES)
        check(reader.eof, f"Sketch is incomplete or larger than {VALUE_BYTES} bytes")
        return json.loads(text)
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


def _quantiles(rows: Any) -> bytes | None:
    pairs: Pairs = []
    for row in rows:
        if row[0] is not None:
            check(row[0] == row[0], "Cannot add NaN to a sketch")
            pairs.append([row[0], 1])
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


OWN_AGGREGATES: dict[str, Callable[..., object]] = {
    "sketch_theta": _digest,
    "sketch_kll": lambda _, rows: _quantiles(rows),
    "sketch_kll_with_k": lambda _, rows: _quantiles(rows),
}
OWN: Table = plain(
    sketch_kll_quantile=_kll_quantile,
    sketch_kll_rank=_kll_rank,
    sketch_theta_estimate=lambda data: _theta_summary(data)[0],
    sketch_theta_summary=_theta_summary,
)

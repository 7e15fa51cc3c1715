"""t-digests with the bytes and the answers of Presto's (T. Dunning's merging digest): centroids of a weight each.

Presto adds the centroids of a second digest in a random order; here they keep theirs.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import KernelError
from ..failures import check
from ..shown import shown

DEFAULT_COMPRESSION = 100.0
_LEAST_COMPRESSION, _MOST_COMPRESSION = 10.0, 1000.0
_FUDGE = 30
_HEAD = struct.Struct("<BBdd")


@dataclass(slots=True)
class TDigest:
    """``means`` and ``weights`` are the centroids in order; ``pending`` values wait to be merged into them."""

    compression: float = DEFAULT_COMPRESSION
    minimum: float = math.inf
    maximum: float = -math.inf
    sum: float = 0.0
    total: float = 0.0
    means: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)
    pending_weights: list[float] = field(default_factory=list)
    merges: int = 0

    def __post_init__(self) -> None:
        if self.compression > _MOST_COMPRESSION:
            raise _internal(f"Compression factor cannot exceed {_MOST_COMPRESSION}")
        self.compression = max(self.compression, _LEAST_COMPRESSION)

    def add(self, values: Sequence[float], weights: Sequence[float]) -> None:
        """More values, in order."""
        if any(map(math.isnan, values)):
            raise _internal("Cannot add NaN to t-digest")
        buffer = 5 * math.ceil(2 * self.compression + _FUDGE)
        start = 0
        while start < len(values):
            room = buffer - len(self.means) - 1 - len(self.pending)
            if room <= 0:
                self._merge(2 * self.compression)
                continue
            self.pending += values[start : start + room]
            self.pending_weights += weights[start : start + room]
            start += room
        if len(values):
            self.minimum, self.maximum = min(self.minimum, *values), max(self.maximum, *values)
            # One after the other, as the rounding of a sum depends on the order.
            self.sum = float(np.add.accumulate([self.sum, *np.multiply(values, weights)])[-1])

    def merge(self, other: TDigest) -> None:
        """Make this the digest of both; raises INVALID_FUNCTION_ARGUMENT."""
        same = self.compression == other.compression
        found = f"({shown(self.compression)}, {shown(other.compression)})"
        check(same, f"TDigests must have the same compression, found {found}")
        other.compress()
        self.add(other.means, other.weights)

    def compress(self) -> None:
        """Merge what waits."""
        self._merge(self.compression)

    def _merge(self, compression: float) -> None:
        if not self.pending:
            return
        means, weights = [*self.pending, *self.means], [*self.pending_weights, *self.weights]
        order = np.argsort(means, kind="stable")
        backwards = self.merges % 2 == 1  # in turn, so that neither side is favoured
        if backwards:
            order = order[::-1]
        self.total += sum(self.pending_weights)
        places = order.tolist()
        made = _clustered([means[i] for i in places], [weights[i] for i in places], self.total, compression)
        self.means, self.weights = (part[::-1] for part in made) if backwards else made
        self.pending, self.pending_weights = [], []
        self.merges += 1
        self.minimum, self.maximum = min(self.minimum, self.means[0]), max(self.maximum, self.means[-1])

    def to_bytes(self) -> bytes:
        """As Presto stores it."""
        self.compress()
        count = len(self.means)
        head = (1, 0, self.minimum, self.maximum, self.sum, self.compression, self.total, count)
        return struct.pack(f"<BBdddddi{2 * count}d", *head, *self.weights, *self.means)

    def scale(self, factor: float) -> None:
        """Multiply all weights."""
        self.compress()
        self.weights = [weight * factor for weight in self.weights]
        self.total *= factor
        self.sum *= factor


def from_bytes(data: bytes) -> TDigest:
    """Read what Presto stored; raises GENERIC_INTERNAL_ERROR."""
    try:
        version, kind, minimum, maximum = _HEAD.unpack_from(data)
        if version not in (0, 1):
            raise _internal("Invalid serialization format for TDigest; expected '0' or '1'")
        if kind != 0:
            raise _internal("Invalid type for TDigest; expected '0' (type double)")
        place = _HEAD.size
        (total_sum,) = struct.unpack_from("<d", data, place) if version else (0.0,)
        place += 8 * version
        compression, total, count = struct.unpack_from("<ddi", data, place)
        numbers = struct.unpack_from(f"<{2 * count}d", data, place + 20)
    except struct.error as error:
        raise _internal("Incorrect slice serialization format") from error
    weights, means = list(numbers[:count]), list(numbers[count:])
    if any(map(math.isnan, means)):
        raise _internal("Deserialized t-digest contains NaN mean value")
    if any(not weight > 0 for weight in weights):
        raise _internal("weight must be > 0")
    return TDigest(compression, minimum, maximum, total_sum, total, means, weights)


def _clustered(
    means: list[float], weights: list[float], total: float, compression: float
) -> tuple[list[float], list[float]]:
    """Neighbours joined for as long as a centroid is not too large for where it stands."""
    out_means, out_weights = [], []
    mean, weight = means[0], weights[0]
    closed, low_size = 0.0, 0.0
    norm = compression / (4 * math.log(total / compression) + 24)
    for x, w in zip(means[1:], weights[1:], strict=True):
        proposed = weight + w
        high = (closed + proposed) / total
        if proposed <= total * min(low_size, high * (1 - high) / norm):
            weight = proposed
            mean += (x - mean) * w / weight
        else:
            closed += weight
            low = closed / total
            low_size = low * (1 - low) / norm
            out_means.append(mean)
            out_weights.append(weight)
            mean, weight = x, w
    return [*out_means, mean], [*out_weights, weight]


def quantile(digest: TDigest, share: float) -> float:
    """The value below which this share of the weight lies; raises GENERIC_INTERNAL_ERROR."""
    if not 0 <= share <= 1:
        raise _internal(f"q should be in [0,1], got {shown(share)}")
    digest.compress()
    means, weights, total = digest.means, digest.weights, digest.total
    if len(means) < 2:
        return means[0] if means else math.nan
    index = share * total
    if index < 1:
        return digest.minimum
    if weights[0] > 1 and index < weights[0] / 2:
        return digest.minimum + (index - 1) / (weights[0] / 2 - 1) * (means[0] - digest.minimum)
    if index > total - 1:
        return digest.maximum
    last = weights[-1]
    if last > 1 and total - index <= last / 2:
        return digest.maximum - (total - index - 1) / (last / 2 - 1) * (digest.maximum - means[-1])
    return _between(digest, index)


def _between(digest: TDigest, index: float) -> float:
    means, weights = digest.means, digest.weights
    below = weights[0] / 2
    for i in range(len(means) - 1):
        step = (weights[i] + weights[i + 1]) / 2
        if below + step > index:
            # A single value fills half a unit on either side of it.
            left = right = 0.0
            if weights[i] == 1:
                if index - below < 0.5:
                    return means[i]
                left = 0.5
            if weights[i + 1] == 1:
                if below + step - index <= 0.5:
                    return means[i + 1]
                right = 0.5
            return _average(means[i], below + step - index - right, means[i + 1], index - below - left)
        below += step
    beyond = index - digest.total - weights[-1] / 2
    return _average(means[-1], beyond, digest.maximum, weights[-1] / 2 - beyond)


def _average(a: float, weight_a: float, b: float, weight_b: float) -> float:
    if a > b:
        a, weight_a, b, weight_b = b, weight_b, a, weight_a
    return max(a, min((a * weight_a + b * weight_b) / (weight_a + weight_b), b))


def share_below(digest: TDigest, value: float) -> float:
    """The share of the weight below a value."""
    digest.compress()
    means, weights, total = digest.means, digest.weights, digest.total
    if not means:
        return math.nan
    if value < digest.minimum:
        return 0.0
    if value > digest.maximum:
        return 1.0
    if len(means) == 1:
        return 0.5
    if value < means[0]:
        return _left_tail(digest, value)
    if value > means[-1]:
        return _right_tail(digest, value)
    below = 0.0
    for i in range(len(means) - 1):
        if means[i] == value:
            same = sum(w for m, w in zip(means[i:], weights[i:], strict=True) if m == value)
            return (below + same / 2) / total
        if means[i] <= value < means[i + 1]:
            return _within(means[i : i + 2], weights[i : i + 2], below, value) / total
        below += weights[i]
    return 1 - 0.5 / total


def _left_tail(digest: TDigest, value: float) -> float:
    width = digest.means[0] - digest.minimum
    if value == digest.minimum:
        return 0.5 / digest.total
    return (1 + (value - digest.minimum) / width * (digest.weights[0] / 2 - 1)) / digest.total


def _right_tail(digest: TDigest, value: float) -> float:
    width = digest.maximum - digest.means[-1]
    if value == digest.maximum:
        return 1 - 0.5 / digest.total
    return 1 - (1 + (digest.maximum - value) / width * (digest.weights[-1] / 2 - 1)) / digest.total


def _within(means: list[float], weights: list[float], below: float, value: float) -> float:
    (left, right), (a, b) = means, weights
    if a == 1 and b == 1:
        return below + 1
    excluded_left = 0.5 if a == 1 else 0.0
    excluded_right = 0.5 if b == 1 and a != 1 else 0.0
    width = (a + b) / 2 - excluded_left - excluded_right
    return below + a / 2 + excluded_left + width * (value - left) / (right - left)


def trimmed_mean(digest: TDigest, low: float, high: float) -> float:
    """The mean of what lies between two quantiles; raises GENERIC_INTERNAL_ERROR."""
    for name, share in (("lower", low), ("upper", high)):
        if not 0 <= share <= 1:
            raise _internal(f"{name}QuantileBound should be in [0,1], got {shown(share)}")
    digest.compress()
    if not digest.means or low >= high:
        return math.nan
    if low == 0 and high == 1:
        return digest.sum / digest.total
    start, end = low * digest.total, high * digest.total
    below = added = weight_added = 0.0
    for mean, weight in zip(digest.means, digest.weights, strict=True):
        above = below + weight
        part = weight if start <= below <= end else 0.0
        if below < start <= above:
            if end <= above:
                return mean
            part = above - start
        elif below < end < above:
            return (added + mean * (end - below)) / (weight_added + (end - below))
        added += mean * part
        weight_added += part
        below = above
    return added / weight_added


def _internal(message: str) -> KernelError:
    return KernelError("GENERIC_INTERNAL_ERROR", message)

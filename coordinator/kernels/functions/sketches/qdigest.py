"""Quantile digests with the bytes and the answers of airlift's, which Presto stores.

A binary trie over 64-bit keys, paths without branches left out; where few values lie, children are counted in their
parent. Source: N. Shrivastava et al., "Medians and Beyond", and facts replayed against a real Presto 0.296.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import KernelError

DEFAULT_ACCURACY = 0.01
_SIGN, _ALL = 1 << 63, (1 << 64) - 1
_NOTHING = 1e-5
_HEAD, _NODE = struct.Struct("<bddqqqi"), struct.Struct("<BdQ")


@dataclass(slots=True)
class Node:
    """``value`` is a key of its subtree, unsigned; a leaf has level 0."""

    value: int
    level: int
    count: float
    left: Node | None = None
    right: Node | None = None

    @property
    def upper(self) -> int:
        """The largest key that may be counted here."""
        return (self.value | ((1 << self.level) - 1)) - _SIGN

    @property
    def lower(self) -> int:
        """The smallest."""
        return (self.value >> self.level << self.level) - _SIGN


@dataclass(slots=True)
class QuantileDigest:
    """``accuracy`` is the largest error of a rank."""

    accuracy: float = DEFAULT_ACCURACY
    minimum: int = _SIGN - 1
    maximum: int = -_SIGN
    count: float = 0.0
    root: Node | None = None

    def add(self, keys: Sequence[int], weights: Iterable[float]) -> None:
        """More keys, in order."""
        for key, weight in zip(keys, weights, strict=True):
            before = int(self.count)
            self.count += weight
            self._insert(key + _SIGN, weight)
            factor = self._factor()
            if before // factor != int(self.count) // factor:
                self.compress()
        if keys:
            self.minimum, self.maximum = min(self.minimum, *keys), max(self.maximum, *keys)

    def _factor(self) -> int:
        return 1 if self.root is None else max(int((self.root.level + 1) / self.accuracy), 1)

    def _insert(self, value: int, weight: float) -> None:
        parent, right, node = None, False, self.root
        while node is not None:
            level = node.level
            if (value ^ node.value) >> level:
                break
            if not level:
                node.count += weight
                return
            parent, right = node, bool(value >> (level - 1) & 1)
            node = node.right if right else node.left
        made = Node(value, 0, float(weight))
        if node is not None:
            made = _joined(node, made)
        if parent is None:
            self.root = made
        elif right:
            parent.right = made
        else:
            parent.left = made

    def compress(self) -> None:
        """Count in their parents what is too little to be told apart."""
        if self.root is None:
            return
        _compress(self.root, math.floor(self.count / self._factor()))
        if self.root.count < _NOTHING:
            self.root = _without(self.root)

    def merge(self, other: QuantileDigest) -> None:
        """Make this the digest of both; ``other`` is used up."""
        self.root = _merged(self.root, other.root)
        self.count += other.count
        self.minimum, self.maximum = min(self.minimum, other.minimum), max(self.maximum, other.maximum)
        self.compress()

    def scale(self, factor: float) -> None:
        """Multiply all counts."""
        for node in nodes(self.root):
            node.count *= factor
        self.count *= factor
        self.compress()

    def to_bytes(self) -> bytes:
        """As Presto stores it; this is compressed."""
        self.compress()
        parts = [
            _NODE.pack(
                max(n.level - 1, 0) << 2 | (n.right is not None) << 1 | (n.left is not None), n.count, n.value
            )
            for n in nodes(self.root)
        ]  # fmt: skip
        head = _HEAD.pack(0, self.accuracy, 0.0, 0, self.minimum, self.maximum, len(parts))
        return head + b"".join(parts)

    def quantiles(self, shares: Iterable[float]) -> list[int]:
        """The key below which each share of the weight lies."""
        known = list(nodes(self.root))
        return [self._quantile(known, share) for share in shares]

    def _quantile(self, known: list[Node], share: float) -> int:
        below, wanted = 0.0, share * self.count
        for node in known:
            below += node.count
            if below > wanted:
                return min(node.upper, self.maximum)
        return self.maximum

    def share_below(self, key: int) -> float | None:
        """The share of the weight below a key; None outside of what was counted."""
        if not self.count:
            return None
        known = list(nodes(self.root))
        least = next((n.lower for n in known if n.count >= _NOTHING), self.minimum)
        most = next((n.upper for n in nodes(self.root, backwards=True) if n.count >= _NOTHING), self.maximum)
        if not max(self.minimum, least) <= key <= min(self.maximum, most):
            return None
        below = 0.0
        for node in known:
            if key <= node.upper:
                break
            below += node.count
        return below / self.count


def from_bytes(data: bytes) -> QuantileDigest:
    """Read what Presto stored; raises GENERIC_INTERNAL_ERROR.

    A node without children that stood above the leaves loses a level, as it does in Presto.
    """
    try:
        version, accuracy, _, _, minimum, maximum, size = _HEAD.unpack_from(data)
        if version != 0:
            raise KernelError("GENERIC_INTERNAL_ERROR", "Invalid format")
        made = QuantileDigest(accuracy, minimum, maximum)
        stack: list[Node] = []
        for flags, count, value in _NODE.iter_unpack(data[_HEAD.size : _HEAD.size + _NODE.size * size]):
            made.count += count
            right = stack.pop() if flags & 2 else None
            left = stack.pop() if flags & 1 else None
            stack.append(Node(value, (flags >> 2) + (1 if flags & 3 else 0), count, left, right))
    except (struct.error, IndexError) as error:
        raise KernelError("GENERIC_INTERNAL_ERROR", "Quantile digest cannot be read") from error
    made.root = stack[-1] if stack else None
    return made


def nodes(node: Node | None, *, backwards: bool = False) -> Iterator[Node]:
    """Children before their parent, from small keys to large ones or the other way."""
    if node is not None:
        yield from nodes(node.right if backwards else node.left, backwards=backwards)
        yield from nodes(node.left if backwards else node.right, backwards=backwards)
        yield node


def _joined(known: Node, other: Node) -> Node:
    """A parent of both, with the value of the one that was there."""
    level = (known.value ^ other.value).bit_length()
    left, right = (other, known) if known.value >> (level - 1) & 1 else (known, other)
    return Node(known.value, level, 0.0, left, right)


def _without(node: Node) -> Node | None:
    """What remains when a node counts nothing."""
    if node.left is not None and node.right is not None:
        node.count = 0.0
        return node
    return node.left if node.left is not None else node.right


def _compress(node: Node, bound: int) -> None:
    left, right = node.left, node.right
    if left is not None and left.level:
        _compress(left, bound)
    if right is not None and right.level:
        _compress(right, bound)
    of_left = 0.0 if left is None else left.count
    of_right = 0.0 if right is None else right.count
    few = node.count + of_left + of_right < bound
    if left is not None and (few or of_left < _NOTHING):
        node.left = _without(left)
        node.count += of_left
    if right is not None and (few or of_right < _NOTHING):
        node.right = _without(right)
        node.count += of_right


def _merged(known: Node | None, other: Node | None) -> Node | None:
    if known is None or other is None:
        return other if known is None else known
    level = max(known.level, other.level)
    if (known.value ^ other.value) >> level:
        return _joined(known, other)
    if known.level > other.level:
        if other.value >> (level - 1) & 1:
            known.right = _merged(known.right, other)
        else:
            known.left = _merged(known.left, other)
        return known
    if known.level < other.level:
        if known.value >> (level - 1) & 1:
            other.right = _merged(known, other.right)
        else:
            other.left = _merged(known, other.left)
        return other
    known.count += other.count
    known.left, known.right = _merged(known.left, other.left), _merged(known.right, other.right)
    return known

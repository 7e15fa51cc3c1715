"""Keys of verdicts, quickly: most fragments differ from one that came before in literals, places and ids alone.

What is left of a fragment's JSON without those is its outline. Its canonical form is made once for each outline, for
the form takes ten times as long as the outline.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from coordinator.checks.canonical_form import CanonicalForm, canonical_form, marker
from coordinator.checks.worker_form import why_not_checked, worker_form
from shared.plan.blocks import decode_physical
from shared.plan.fragment import SimplePlanFragment, decode_fragment, encode_fragment

_VARYING = re.compile(
    rb',"(?:sourceLocation":\{"line":\d+,"column":\d+\}'
    rb'|transaction(?:Handle)?":\{(?:"[^"\\]*"|[^"{}])*\}'
    rb'|snapshotId":-?\d+'
    rb'|valueBlock":"([A-Za-z0-9+/=]*)")'
)
"""What the canonical form leaves out and statements often differ in, and literals, whose group is their base64.

It begins at a key: behind a comma no quotation mark is part of a text, where it would be escaped.
"""
_LITERAL = b',"valueBlock":"#"'
_MARKED = b'"valueBlock":"#'
_MOST_WEIGHT = 400_000
"""Of the outlines that are remembered: some 40 MB."""
_WEIGHT = 16
"""Of an outline beside its literals."""


@dataclass(frozen=True, slots=True)
class FragmentKey:
    """What is known of a fragment by its JSON. ``key``: 16 bytes, equal for fragments that a converter must answer
    alike; ``not_checked``: why no worker will run it, else None."""

    fragment_id: str
    not_checked: str | None
    key: bytes


@dataclass(frozen=True, slots=True)
class _Outline:
    fragment_id: str
    not_checked: str | None
    form: CanonicalForm


class FragmentKeys:
    """Remembers outlines, bounded in number and in their literals. For one thread; ``fresh_key`` is for any."""

    def __init__(self, most_weight: int = _MOST_WEIGHT) -> None:
        self._outlines: dict[bytes, _Outline] = {}
        self._most_weight, self._weight = most_weight, 0

    def known_key(self, encoded: bytes) -> FragmentKey | None:
        """Of a fragment's JSON; None for an outline that is new."""
        parts, blocks = _split(encoded)
        outline = self._outlines.get(_digest(parts))
        return None if outline is None else _with_literals(outline, blocks)

    def key(self, encoded: bytes) -> FragmentKey:
        """Of a fragment's JSON."""
        parts, blocks = _split(encoded)
        digest = _digest(parts)
        outline = self._outlines.get(digest)
        if outline is None:
            outline = _outline(parts, blocks)
            self._remember(digest, outline)
        return _with_literals(outline, blocks)

    def _remember(self, digest: bytes, outline: _Outline) -> None:
        weight = _WEIGHT + len(outline.form.places)
        if self._weight + weight > self._most_weight:
            self._outlines.clear()
            self._weight = 0
        self._outlines[digest] = outline
        self._weight += weight


def fresh_key(fragment: SimplePlanFragment) -> FragmentKey:
    """The same key without a memory."""
    parts, blocks = _split(encode_fragment(fragment))
    return _with_literals(_outline(parts, blocks), blocks)


def _digest(parts: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _split(encoded: bytes) -> tuple[list[bytes], list[str]]:
    """The parts of the outline, and the literals; nothing is taken for a literal where markers would be mistaken."""
    parts: list[bytes | None] = [encoded] if _MARKED in encoded else _VARYING.split(encoded)
    found = parts[1::2]
    parts[1::2] = [b"" if block is None else _LITERAL for block in found]
    return parts, [block.decode() for block in found if block is not None]  # type: ignore[return-value]  # none is None


def _outline(parts: Sequence[bytes], blocks: Sequence[str]) -> _Outline:
    fragment = decode_fragment(_marked(parts))
    form = canonical_form(worker_form(fragment), len(blocks))
    return _Outline(fragment.id, why_not_checked(fragment), form)


def _marked(parts: Sequence[bytes]) -> bytes:
    """The fragment's JSON with a marker for each literal."""
    marked, position = bytearray(), 0
    for number, part in enumerate(parts):
        if number % 2 and part:
            marked += f',"valueBlock":"{marker(position)}"'.encode()
            position += 1
        else:
            marked += part
    return bytes(marked)


def _with_literals(outline: _Outline, blocks: Sequence[str]) -> FragmentKey:
    numbers: dict[tuple[str, str], int] = {}
    counted: list[str | int] = []
    for place in outline.form.places:
        block = blocks[place.position]
        if place.counts == "as it is" or (place.counts != "by equality" and _is_null(block, place.type)):
            counted.append(block)
        else:
            counted.append(numbers.setdefault((place.type, block), len(numbers)))
    key = hashlib.blake2b(outline.form.digest + msgspec.json.encode(counted), digest_size=16).digest()
    return FragmentKey(outline.fragment_id, outline.not_checked, key)


def _is_null(block: str, type_text: str) -> bool:
    try:
        return decode_physical(block, type_text) is None
    except ValueError:
        return True  # a damaged block stays in the key as it is

"""Plans for the sidecar: fragments of a real Presto with something changed in them. None may end a converter."""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

from benchmarks.fuzz.choices import Choices

FRAGMENTS = Path(__file__).parents[2] / "tests" / "data" / "presto_fragments" / "fragments.jsonl.gz"
SLOW_SECONDS = 20.0
STRANGE: tuple[Any, ...] = (
    None,
    0,
    -1,
    2**63,
    1e308,
    "",
    "x",
    "\x00",
    "bigint",
    "array(",
    "decimal(99,9)",
    "row(" * 50,
    [],
    {},
    [[]],
    {"@type": "variable"},
    {"@type": "constant", "valueBlock": "AAAA", "type": "bigint"},
    {"@type": ".ValuesNode"},
    True,
    "CgAAAExPTkdfQVJSQVkBAAAA",
)


_NO_FRAGMENT = re.compile(rb'"(Malformed plan fragment|Plan fragment is not JSON)')
Words = Mapping[str, Sequence[bytes]]
_SHORT = 2000
_DECODE, _ENCODE = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


def fragments() -> list[Any]:
    """As captured."""
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        bodies = [json.loads(line)["body"] for line in lines]
    return [json.loads(body) if isinstance(body, str) else body for body in bodies]


def changed(choices: Choices, fragment: Any, words: Words | None = None) -> bytes:
    """With one to three places changed; now and then no JSON at all.

    With ``words`` mostly as another fragment has it there, so that much of it is a fragment still and only means
    something else.
    """
    copy = _DECODE(_ENCODE(fragment))
    alike = words is not None and choices.chance(75)
    for _ in range(1 + choices.below(3)):
        if alike and words is not None:
            _reword(choices, copy, words)
        else:
            _change(choices, copy)
    if alike:
        return _ENCODE(copy)
    text = _ENCODE(copy)
    if choices.chance(5):
        at = choices.below(len(text))
        return text[:at] + bytes([choices.below(256)]) + text[at + 1 :]
    return text[: choices.below(len(text))] if choices.chance(3) else text


def words_of(known: Sequence[Any]) -> Words:
    """What fragments have under each key, where it is short."""
    found: dict[str, dict[bytes, None]] = {}
    for fragment in known:
        for holder, key in _places(fragment):
            text = _ENCODE(holder[key])
            if isinstance(key, str) and len(text) < _SHORT:
                found.setdefault(key, {})[text] = None
    return {key: tuple(texts) for key, texts in found.items() if len(texts) > 1}


def _reword(choices: Choices, root: Any, words: Words) -> None:
    """Another short value under a key that has many."""
    places = [(holder, key) for holder, key in _places(root) if isinstance(key, str) and key in words]
    holder, key = choices.pick(places)
    holder[key] = _DECODE(choices.pick(words[key]))


def _change(choices: Choices, root: Any) -> None:
    places = list(_places(root))
    holder, key = choices.pick(places)
    match choices.below(5):
        case 0:
            holder[key] = deepcopy(choices.pick(STRANGE))  # changed in its turn
        case 1:
            other, from_key = choices.pick(places)
            holder[key] = _DECODE(_ENCODE(other[from_key]))
        case 2 if isinstance(holder, dict):
            del holder[key]
        case 3 if isinstance(holder[key], list) and holder[key]:
            holder[key] = [*holder[key], holder[key][0]] if choices.chance(50) else holder[key][1:]
        case 4 if isinstance(holder[key], str):
            holder[key] = holder[key][: choices.below(len(holder[key]) + 1)] + choices.pick(("", "<", "a", "("))
        case _:
            holder[key] = deepcopy(choices.pick(STRANGE))  # changed in its turn


def _places(root: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key, however deep."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in list(children):
            yield value, key
            waiting.append(child)


def run(url: str, seed: int, numbers: Sequence[int], counts: Counter[str]) -> Iterator[dict[str, object]]:
    """What is answered with 5xx, slowly or by a converter that ended."""
    known = fragments()
    with httpx.Client(base_url=url, timeout=60) as client:
        for number in numbers:
            choices = Choices(seed * 1_000_003 + number)
            body = changed(choices, choices.pick(known))
            response = client.post("/v1/velox/plan", content=body, headers={"content-type": "application/json"})
            counts[f"http_{response.status_code}"] += 1
            seconds = response.elapsed.total_seconds()
            if response.status_code >= 500 or seconds > 20:
                told = response.text[:400]
                yield {"seed": seed, "number": number, "what": "plan", "error": told, "body": body.decode("latin-1")}


def converter() -> Callable[[bytes], tuple[bool, bytes]]:
    """What a converter process of the sidecar does with a body, in this process: whether it is accepted, and what is
    answered. A process that has it must end by ``os._exit``."""
    from sidecar.messages import Format, Options, PlanRequest
    from sidecar.velox import runtime, service
    from sidecar.velox.worker import RECURSION_LIMIT

    sys.setrecursionlimit(RECURSION_LIMIT)
    runtime.boot()
    service.warm_up()

    def convert(body: bytes) -> tuple[bool, bytes]:
        reply = service.answer(PlanRequest(body=body, format=Format.NONE, compile_check=True), Options())
        return reply.ok, reply.body

    return convert


@dataclass(frozen=True)
class Cases:
    """Plans by number, converted in this process."""

    convert: Callable[[bytes], tuple[bool, bytes]]
    known: Sequence[Any]
    words: Words

    def case(self, seed: int, number: int, counts: Counter[str]) -> Iterator[dict[str, object]]:
        """A plan that takes long, or that our own checks have a hole for."""
        choices = Choices(seed * 1_000_003 + number)
        body = changed(choices, choices.pick(self.known), self.words)
        begun = time.monotonic()
        ok, answer = self.convert(body)
        seconds = time.monotonic() - begun
        counts["accepted" if ok else "refused"] += 1
        if not ok:
            counts[f"refused: {'no fragment' if _NO_FRAGMENT.search(answer) else 'by conversion'}"] += 1
        if b'"Conversion failed: ' in answer or seconds > SLOW_SECONDS:
            told = answer[:400].decode()
            yield {"number": number, "what": "plan", "error": told, "seconds": seconds, "body": body.decode("latin-1")}

"""Every captured fragment decodes into the plan vocabulary and encodes to the same JSON."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from shared.plan.fragment import decode_fragment, encode_fragment

FRAGMENTS = Path(__file__).parents[1] / "data" / "presto_fragments" / "fragments.jsonl.gz"
MODES = {"native": 386, "native_functions": 310, "defaults": 140, "no_colocation": 152}


@pytest.fixture(scope="module")
def captured() -> list[tuple[str, str, str]]:
    with gzip.open(FRAGMENTS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(r["mode"], r["query"], r["body"] if isinstance(r["body"], str) else json.dumps(r["body"])) for r in rows]


@pytest.mark.parametrize("mode", MODES)
def test_round_trip(captured: list[tuple[str, str, str]], mode: str) -> None:
    bodies = [(query, body) for m, query, body in captured if m == mode]
    assert len(bodies) == MODES[mode]
    differing = [q for q, b in bodies if json.loads(encode_fragment(decode_fragment(b.encode()))) != json.loads(b)]
    assert not differing

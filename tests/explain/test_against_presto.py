"""Fragments that a real Presto server sent, printed by us, against what that server printed of them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from coordinator.explain.text import fragment_text
from shared.plan.fragment import decode_fragment

DATA = Path(__file__).parents[1] / "data"
NOT_ON_THE_WIRE = {
    # The target of a write, hash-based sort expressions of joins and the tables behind system handles.
    "TableCommit",
    "SortExpression",
    "$info_schema@tpch",
    "MetadataDelete",
}
OURS_IS_BETTER = {"[Block: position count"}  # arrays and maps: we print what is in them


def comparable(text: str) -> list[str]:
    """Lines without what differs between EXPLAIN and execution: positions, snapshot, the order of a Java map."""
    lines = []
    for line in text.split("\n"):
        if not line.strip() or "Output ordering" in line:
            continue
        plain = re.sub(r" \(\d+:\d+\)$", "", line)
        plain = re.sub(r"PlanNodeId [\d,]+", "PlanNodeId N", plain)
        plain = re.sub(r"@\d+", "@S", plain)
        lines.append(re.sub(r"(RemoteMerge\[[\d,]+\]) .* => ", r"\1 => ", plain))
    return sorted(lines)


def test_nearly_every_fragment_reads_as_presto_prints_it() -> None:
    expected: dict[str, list[str]] = json.loads(
        gzip.decompress((DATA / "presto_explain/fragments.json.gz").read_bytes())
    )
    printed = {key: [comparable(text) for text in texts] for key, texts in expected.items()}
    compared = same = 0
    unexplained = []
    with gzip.open(DATA / "presto_fragments/fragments.jsonl.gz", "rt") as lines:
        for line in lines:
            recorded = json.loads(line)
            key = f"{recorded['query']}/{recorded['fragment']}"
            if "dump" not in recorded["via"] or key not in printed:
                continue
            compared += 1
            body = recorded["body"]
            ours = comparable(fragment_text(decode_fragment(json.dumps(body).encode())))
            if ours in printed[key]:
                same += 1
            elif not any(word in text for text in expected[key] for word in NOT_ON_THE_WIRE | OURS_IS_BETTER):
                unexplained.append((recorded["mode"], key))
    assert compared > 900
    assert same / compared > 0.9
    assert len(unexplained) / compared < 0.06, unexplained
